package tarn

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/tarnlake/tarn/internal/schema"
)

// SchemaChange is one change of a table's schema: AddColumn, DropColumn, ….
type SchemaChange = schema.Change

// The changes of a schema; see their fields.
type (
	AddColumn           = schema.AddColumn
	DropColumn          = schema.DropColumn
	RenameColumn        = schema.RenameColumn
	MoveColumn          = schema.MoveColumn
	UpdateType          = schema.UpdateType
	UpdateNullability   = schema.UpdateNullability
	UpdateColumnComment = schema.UpdateColumnComment
	UpdateDefault       = schema.UpdateDefault
	SetOption           = schema.SetOption
	ResetOption         = schema.ResetOption
	UpdateComment       = schema.UpdateComment
	ColumnPlace         = schema.Place
)

// Alter changes the schema of the table: all changes or none. Changes that race with others are
// applied to what these left. The table itself keeps its schema; Refresh gives the new one. The error
// wraps ErrInvalid if a change is refused.
func (t *Table) Alter(ctx context.Context, changes ...SchemaChange) error {
	return t.alter(ctx, changes, false)
}

// Evolve is Alter for those who follow a source: a change that is there already is done.
func (t *Table) Evolve(ctx context.Context, changes ...SchemaChange) error {
	return t.alter(ctx, changes, true)
}

func (t *Table) alter(ctx context.Context, changes []SchemaChange, idempotent bool) error {
	if t.id.System != "" {
		return invalid("%s is a system table", t.id)
	}
	snap, err := t.latest(ctx)
	if err != nil {
		return err
	}
	_, err = t.schemas.Apply(ctx, changes, schema.ApplyOptions{HasSnapshots: snap != nil, Idempotent: idempotent, TimeMillis: t.env.now().UnixMilli()})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, iofs.ErrExist) || errors.Is(err, iofs.ErrNotExist) || errors.Is(err, iofs.ErrPermission):
		return fmt.Errorf("alter table %s: %w", t.id, err)
	}
	return fmt.Errorf("alter table %s: %w: %w", t.id, ErrInvalid, err)
}
