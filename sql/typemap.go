package sql

import (
	"fmt"
	"slices"
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

// finerLTZ says whether the engine holds fewer digits of a type.
func finerLTZ(t types.Type) bool { return t.Kind == types.TimestampLTZ && t.Precision > 6 }

// hasFinerLTZ says so of a type or a part of it.
func hasFinerLTZ(t types.Type) bool {
	return finerLTZ(t) || t.Key != nil && hasFinerLTZ(*t.Key) || t.Elem != nil && hasFinerLTZ(*t.Elem) ||
		slices.ContainsFunc(t.Fields, func(f types.Field) bool { return hasFinerLTZ(f.Type) })
}

// assigned is an expression as a column takes it: cast to its type. TIMESTAMP_LTZ(7) to (9) come as types.WideTimestamp, with the digits
// of text and TIMESTAMP_NS that a cast to TIMESTAMPTZ loses; infinity is a time that there is not.
func assigned(expr string, t types.Type) string {
	if !finerLTZ(t) {
		return "CAST(" + expr + " AS " + duckType(t) + ")"
	}
	text := "CAST(" + expr + " AS VARCHAR)"
	digits := "regexp_extract(" + text + ", '[.][0-9]{6}([0-9]{1,3})', 1)"
	micros := "CASE WHEN " + digits + " = '' THEN CAST(" + expr + " AS TIMESTAMPTZ) ELSE CAST(" + text + " AS TIMESTAMPTZ) END"
	return "CASE WHEN isinf(" + micros + ") THEN CAST(" + strings.Repeat("9", 29) + " AS DECIMAL(38, 9)) ELSE CAST(CAST(epoch_us(" + micros + ") AS DECIMAL(20, 0)) * 0.000001 + " +
		"CAST('0.000000' || rpad(" + digits + ", 3, '0') AS DECIMAL(10, 9)) AS DECIMAL(38, 9)) END"
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
