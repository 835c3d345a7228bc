package cli

import (
	"context"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// rowDecoder makes values of the rows in records of metadata files.
type rowDecoder struct {
	ctx     context.Context
	schemas *schema.Manager // of the table that the file lies in, if it lies in one
	plain   bool            // for people
	known   map[int64]*schema.Schema
}

// schema gives a schema of the table, the newest for -1; nil if there is none.
func (d *rowDecoder) schema(id int64) *schema.Schema {
	s, ok := d.known[id]
	if ok {
		return s
	}
	if d.known == nil {
		d.known = map[int64]*schema.Schema{}
	}
	var err error
	if id < 0 {
		s, err = d.schemas.Latest(d.ctx)
	} else {
		s, err = d.schemas.Get(d.ctx, id)
	}
	if err != nil {
		s = nil
	}
	d.known[id] = s
	return s
}

// record makes the printable form of a record.
func (d *rowDecoder) record(r manifest.Record) any { return d.members(r, nil, true) }

// members goes through the fields; stats are the columns that statistics among them are of.
func (d *rowDecoder) members(r manifest.Record, stats []types.Field, hasStats bool) any {
	id, ok := r.Get("_SCHEMA_ID").(int64)
	if !ok {
		id = -1
	}
	out := make(object, 0, len(r))
	for _, m := range r {
		var v any
		switch m.Name {
		case "_PARTITION":
			f, ok := d.partition()
			v = d.row(m.Value, f, ok)
		case "_MIN_KEY", "_MAX_KEY":
			f, ok := d.key(id)
			v = d.row(m.Value, f, ok)
		case "_MIN_VALUES", "_MAX_VALUES":
			v = d.row(m.Value, stats, hasStats)
		case "_NULL_COUNTS":
			v = d.counts(m.Value, stats, hasStats)
		case "_PARTITION_STATS":
			f, ok := d.partition()
			v = d.nested(m.Value, f, ok)
		case "_KEY_STATS":
			f, ok := d.key(id)
			v = d.nested(m.Value, f, ok)
		case "_VALUE_STATS":
			f, ok := d.columns(id, r)
			v = d.nested(m.Value, f, ok)
		default:
			v = d.other(m.Value)
			if d.plain {
				v = readableMember(m.Name, v)
			}
		}
		out = append(out, member{m.Name, v})
	}
	return out
}

func (d *rowDecoder) nested(v any, stats []types.Field, ok bool) any {
	if r, is := v.(manifest.Record); is {
		return d.members(r, stats, ok)
	}
	return v
}

// other makes the printable form of a field without rows.
func (d *rowDecoder) other(v any) any {
	switch v := v.(type) {
	case manifest.Record:
		return d.members(v, nil, false)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = d.other(v[i])
		}
		return out
	}
	return v
}

func (d *rowDecoder) partition() ([]types.Field, bool) {
	s := d.schema(-1)
	if s == nil {
		return nil, false
	}
	return s.FieldsNamed(s.PartitionKeys), true
}

func (d *rowDecoder) key(id int64) ([]types.Field, bool) {
	s := d.schema(id)
	if s == nil {
		return nil, false
	}
	return s.TrimmedPrimaryKey(), true
}

// columns are those that the file of a record has statistics of.
func (d *rowDecoder) columns(id int64, r manifest.Record) ([]types.Field, bool) {
	s := d.schema(id)
	if s == nil {
		return nil, false
	}
	f := &manifest.DataFile{}
	f.ValueStatsCols, f.HasValueStatsCols = names(r.Get("_VALUE_STATS_COLS"))
	f.WriteCols, f.HasWriteCols = names(r.Get("_WRITE_COLS"))
	return datafile.StatsFields(s.Fields, f)
}

// names gives a list of names; false if it is none.
func names(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, n := range list {
		out[i], _ = n.(string)
	}
	return out, true
}

// row makes the printable form of a BinaryRow: for people its values, or its bytes if they cannot be told.
func (d *rowDecoder) row(v any, fields []types.Field, ok bool) any {
	b, is := v.([]byte)
	if !is {
		return v
	}
	var values any
	if n, err := binrow.Arity(b); err == nil && n == 0 {
		fields, ok = nil, true // without a key or without statistics
	}
	if ok {
		ts := types.TypesOf(fields)
		if vals, err := binrow.DecodeWithArity(b, ts); err == nil {
			o := make(object, len(vals))
			for i, x := range vals {
				o[i] = member{fields[i].Name, rawJSON(jsonrow.AppendDatum(nil, ts[i], x))}
			}
			values = o
		}
	}
	switch {
	case !d.plain:
		return object{{"hex", b}, {"row", values}}
	case values != nil:
		return values
	}
	return b
}

// counts puts the names of columns before counts of NULLs, for people.
func (d *rowDecoder) counts(v any, fields []types.Field, ok bool) any {
	list, is := v.([]any)
	if !is || !d.plain || !ok || len(list) != len(fields) {
		return d.other(v)
	}
	o := make(object, len(list))
	for i := range list {
		o[i] = member{fields[i].Name, list[i]}
	}
	return o
}

// readable makes sizes and times of a document readable.
func readable(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for i, m := range v {
			out[i] = member{m.name, readableMember(m.name, readable(m.value))}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = readable(v[i])
		}
		return out
	}
	return v
}

// readableMember does so for one number, by its name.
func readableMember(name string, v any) any {
	n, ok := v.(int64)
	switch {
	case !ok:
		return v
	case strings.HasSuffix(name, "_SIZE") || strings.HasSuffix(strings.ToLower(name), "bytes"):
		return humanBytes(n)
	case name == "_CREATION_TIME":
		return time.UnixMilli(n).UTC().Format("2006-01-02T15:04:05.000")
	}
	return v
}
