package tarn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/schema"
)

// SchemaChange is one change of a table's schema: AddColumn, DropColumn, ….
//
// A Path leads to a column or to a part of one: {"address", "city"} is the field city of the ROW address;
// "element" and "value" step into ARRAYs and MAPs, as in {"tags", "element", "name"}.
type SchemaChange = schema.Change

// The changes of a schema, with their fields.
type (
	// AddColumn adds a column or a field: Path []string, Type types.Type (not NOT NULL), Comment string,
	// Default *string, Place ColumnPlace.
	AddColumn = schema.AddColumn
	// DropColumn removes a column or a field: Path []string. Key columns stay.
	DropColumn = schema.DropColumn
	// RenameColumn gives a column or a field another name: Path []string, To string. Options that name the
	// column follow.
	RenameColumn = schema.RenameColumn
	// MoveColumn puts a column elsewhere: Column string, Place ColumnPlace.
	MoveColumn = schema.MoveColumn
	// UpdateType changes a type to one that the old values can be cast to: Path []string, Type types.Type,
	// SetNullability bool (false: it stays as it is).
	UpdateType = schema.UpdateType
	// UpdateNullability changes whether NULL may be there: Path []string, NotNull bool.
	UpdateNullability = schema.UpdateNullability
	// UpdateColumnComment changes a comment: Path []string, Comment string ("" removes it).
	UpdateColumnComment = schema.UpdateColumnComment
	// UpdateDefault changes the default of a column: Path []string, Default *string (nil removes it).
	UpdateDefault = schema.UpdateDefault
	// SetOption sets a table option: Key, Value string.
	SetOption = schema.SetOption
	// ResetOption removes a table option: Key string.
	ResetOption = schema.ResetOption
	// UpdateComment changes the comment of the table: Comment string.
	UpdateComment = schema.UpdateComment
	// DropPrimaryKey makes an append table of a table that has no snapshots yet.
	DropPrimaryKey = schema.DropPrimaryKey
	// ColumnPlace is where a column goes: First, Last bool, After, Before string (a sibling); one of them, or
	// none for the end.
	ColumnPlace = schema.Place
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
	if err == nil {
		err = t.checkFolding(ctx, changes)
	}
	if err != nil {
		return err
	}
	if err := t.checkSwitch(ctx, snap, changes); err != nil {
		return err
	}
	_, err = t.schemas.Apply(ctx, changes, schema.ApplyOptions{HasSnapshots: snap != nil, Idempotent: idempotent, TimeMillis: t.env.now().UnixMilli(), Check: checkEngine})
	switch {
	case err == nil:
		for _, c := range changes {
			if o, ok := c.(SetOption); ok {
				t.env.warnMisspelled(t.id.String(), slices.Values([]string{o.Key}))
			}
		}
		return nil
	case errors.Is(err, schema.ErrRefused):
		return fmt.Errorf("alter table %s: %w: %w", t.id, ErrInvalid, err)
	}
	return fmt.Errorf("alter table %s: %w", t.id, err)
}

// checkFolding refuses a change of the changelog's producer after which rows of several levels would be merged by another
// rule: looked up, a row above level 0 stands for all older ones, else it is one of them (lsm.LookupFold).
func (t *Table) checkFolding(ctx context.Context, changes []SchemaChange) error {
	o, key := t.opts, options.ChangelogProducer.Key()
	for _, c := range changes {
		switch x := c.(type) {
		case SetOption:
			if x.Key == key {
				o = o.With(map[string]string{key: x.Value})
			}
		case ResetOption:
			if x.Key == key {
				o = o.With(map[string]string{key: "none"})
			}
		}
	}
	if _, err := options.ChangelogProducer.Parse(o); err != nil {
		return nil // is refused for that
	}
	is := lookupOf(o, t.HasPrimaryKey()) == lsm.LookupFold
	if is == (t.lookup() == lsm.LookupFold) {
		return nil
	}
	_, entries, err := t.newestEntries(ctx, plan.Request{})
	if err != nil {
		return err
	}
	levels := map[string]int{}
	for i := range entries {
		e := &entries[i]
		if e.File.Level == 0 {
			continue
		}
		bucket := fmt.Sprint(e.Bucket, string(e.Partition))
		if l, ok := levels[bucket]; ok && l != e.File.Level {
			return invalid("alter table %s: bucket %d has rows in several levels, which would be merged by another rule after this change of changelog-producer, and give other values: compact the table fully before (tarn compact --full, CALL sys.compact)", t.id, e.Bucket)
		}
		levels[bucket] = e.File.Level
	}
	return nil
}
