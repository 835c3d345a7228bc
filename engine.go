package tarn

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/mergefn"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// engine is the merge engine of rows that are merged by some columns.
func (t *Table) engine(keys []string) (mergefn.Engine, error) {
	e, err := engineOf(t.schema.Fields, t.opts, keys)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
	}
	return e, nil
}

func engineOf(fields []types.Field, o options.Options, keys []string) (mergefn.Engine, error) {
	return mergefn.New(options.MergeEngine.Get(o), mergefn.Config{
		Fields: fields, Keys: keys, Sequence: options.SequenceField.Get(o), IgnoreDelete: options.IgnoreDelete.Get(o),
		IgnoreUpdateBefore: options.IgnoreUpdateBefore.Get(o), Options: o.Values(),
	})
}

// checkEngine says what is wrong with the columns and options of a merge engine.
func checkEngine(s *schema.Schema) error {
	if len(s.PrimaryKeys) == 0 {
		return nil
	}
	_, err := engineOf(s.Fields, options.Of(s.Options, s.Version), s.PrimaryKeys)
	return err
}

// insertOnly says why the table takes no -U and -D, "" if it does. What cannot be merged must not be written: it could not be
// read any more.
func (t *Table) insertOnly() string {
	o := t.opts
	switch {
	case options.IgnoreDelete.Get(o):
	case !t.HasPrimaryKey():
		return "a table without a primary key takes +I and +U only (the option ignore-delete leaves others out)"
	case options.MergeEngine.Get(o) == "partial-update" && !options.PartialRemove.Get(o) && len(options.SequenceGroups(o)) == 0:
		return mergefn.PartialDeletes
	}
	return ""
}
