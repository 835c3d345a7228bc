package sql

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// variantFields are the members of a VARIANT as it is stored.
var variantFields = []types.Field{
	{ID: 0, Name: "value", Type: types.VarbinaryType(types.MaxLength)},
	{ID: 1, Name: "metadata", Type: types.VarbinaryType(types.MaxLength)},
}

// duckType is the name of DuckDB's type for a column: the same values, except that TIMESTAMP_LTZ
// has microseconds there.
func duckType(t types.Type) string {
	switch t.Kind {
	case types.Boolean:
		return "BOOLEAN"
	case types.TinyInt:
		return "TINYINT"
	case types.SmallInt:
		return "SMALLINT"
	case types.Int:
		return "INTEGER"
	case types.BigInt:
		return "BIGINT"
	case types.Float:
		return "FLOAT"
	case types.Double:
		return "DOUBLE"
	case types.Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case types.Char, types.Varchar:
		return "VARCHAR"
	case types.Date:
		return "DATE"
	case types.Time:
		return "TIME"
	case types.Timestamp:
		if t.Precision > 6 {
			return "TIMESTAMP_NS"
		}
		return "TIMESTAMP"
	case types.TimestampLTZ:
		return "TIMESTAMPTZ"
	case types.Array:
		return duckType(*t.Elem) + "[]"
	case types.Map:
		return "MAP(" + duckType(*t.Key) + ", " + duckType(*t.Elem) + ")"
	case types.Multiset:
		return "MAP(" + duckType(*t.Elem) + ", INTEGER)"
	case types.Row:
		return duckStruct(t.Fields)
	case types.Variant:
		return duckStruct(variantFields)
	}
	return "BLOB"
}

func duckStruct(fields []types.Field) string {
	var b strings.Builder
	b.WriteString("STRUCT(")
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(parse.Quote(f.Name) + " " + duckType(f.Type))
	}
	return b.String() + ")"
}

// engineType is the type of a column on its way into DuckDB: types whose Arrow form DuckDB would
// take for another type are replaced by those that give duckType.
func engineType(t types.Type) types.Type {
	t.NotNull = false
	sub := func(p *types.Type) *types.Type {
		if p == nil {
			return nil
		}
		e := engineType(*p)
		return &e
	}
	switch t.Kind {
	case types.Timestamp, types.TimestampLTZ:
		// DuckDB keeps seconds, milliseconds and nanoseconds as types of their own.
		if t.Precision <= 6 || t.Kind == types.TimestampLTZ {
			t.Precision = 6
		}
	case types.Multiset:
		t = types.Type{Kind: types.Map, Key: t.Elem, Elem: &types.Type{Kind: types.Int}}
	case types.Variant:
		t = types.Type{Kind: types.Row, Fields: variantFields}
	}
	t.Key, t.Elem = sub(t.Key), sub(t.Elem)
	if t.Kind == types.Row {
		fields := make([]types.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = types.Field{ID: -1, Name: f.Name, Type: engineType(f.Type)}
		}
		t.Fields = fields
	}
	return t
}

func engineSchema(fields []types.Field) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = arrow.Field{Name: f.Name, Type: types.ArrowType(engineType(f.Type)), Nullable: true}
	}
	return arrow.NewSchema(out, nil)
}
