package datafile

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// Names and field ids of the columns that a key-value file has besides the table's own
// (specification: concepts/spec/datafile).
const (
	KeyPrefix    = schema.KeyPrefix
	SequenceName = schema.SequenceName
	KindName     = schema.KindName
	rowIDName    = "_ROW_ID"

	keyIDStart = 1<<30 - 1
	sequenceID = 1<<31 - 2
	kindID     = 1<<31 - 3
)

// SequenceField is the column of sequence numbers of a key-value file.
func SequenceField() types.Field {
	return types.Field{ID: sequenceID, Name: SequenceName, Type: types.Type{Kind: types.BigInt, NotNull: true}}
}

// KindField is the column of row kinds of a key-value file.
func KindField() types.Field {
	return types.Field{ID: kindID, Name: KindName, Type: types.Type{Kind: types.TinyInt, NotNull: true}}
}

// KeyFields are the `_KEY_…` columns for the given columns of the trimmed primary key.
func KeyFields(keys []types.Field) []types.Field {
	out := make([]types.Field, len(keys))
	for i, k := range keys {
		out[i] = types.Field{ID: k.ID + keyIDStart, Name: KeyPrefix + k.Name, Type: k.Type}
		out[i].Type.NotNull = true
	}
	return out
}

// KeyValueFields are all columns of a key-value file: keys (none if thin), sequence number, kind,
// values.
func KeyValueFields(keys, values []types.Field, thin bool) []types.Field {
	var out []types.Field
	if !thin {
		out = KeyFields(keys)
	}
	out = append(out, SequenceField(), KindField())
	return append(out, values...)
}

// StatsFields are the columns that the statistics of a file's values are of, in their order; all are those of
// the file's schema. False if one of them is not known.
func StatsFields(all []types.Field, f *manifest.DataFile) ([]types.Field, bool) {
	names := f.WriteCols
	switch {
	case f.HasValueStatsCols:
		names = f.ValueStatsCols
	case names == nil:
		return all, true
	}
	out := make([]types.Field, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(all, func(x types.Field) bool { return x.Name == name })
		switch {
		case i >= 0:
			out = append(out, all[i])
		case name == rowIDName || name == SequenceName: // of tables whose rows have ids
			out = append(out, types.Field{ID: -1, Name: name, Type: types.Type{Kind: types.BigInt}})
		default:
			return nil, false
		}
	}
	return out, true
}

// Least is the least value that the statistics of a file tell of a column of the table; nil if they do not, or if all are NULL. It
// is of the type that the column had when the file was written.
func (s *Store) Least(ctx context.Context, f *manifest.DataFile, column string) (types.Datum, error) {
	sc, err := s.schemaOf(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("datafile: statistics of %s: %w", f.Name, err)
	}
	is, ok := s.c.Schema.Field(column)
	fields, known := StatsFields(sc.Fields, f)
	i := slices.IndexFunc(fields, func(x types.Field) bool { return x.ID == is.ID })
	if !ok || !known || i < 0 {
		return nil, nil
	}
	least, err := binrow.DecodeWithArity(f.ValueStats.Min, types.TypesOf(fields))
	if err != nil || i >= len(least) {
		return nil, nil // statistics are a help only
	}
	return least[i], nil
}

// numbered gives all rows of a batch one sequence number, if they have that column.
func numbered(rec arrow.RecordBatch, number int64) arrow.RecordBatch {
	at := rec.Schema().FieldIndices(SequenceName)
	if len(at) == 0 {
		return rec
	}
	n := int(rec.NumRows())
	data := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(slices.Repeat([]int64{number}, n)))
	cols := slices.Clone(rec.Columns())
	cols[at[0]] = array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, n, []*memory.Buffer{nil, data}, nil, 0, 0))
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}
