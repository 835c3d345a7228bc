//go:build duckdb_arrow && cgo

package sql

import (
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
)

// foreign looks for columns whose type the format does not have. It gives nil if there are none.
func foreign(stmt mapping.PreparedStatement) error {
	n := mapping.PreparedStatementColumnCount(stmt)
	e := &foreignColumns{}
	at := -1
	for i := range n {
		t := mapping.PreparedStatementColumnLogicalType(stmt, i)
		own, other := ownType(t)
		mapping.DestroyLogicalType(&t)
		e.names = append(e.names, mapping.PreparedStatementColumnName(stmt, i))
		if other && at < 0 {
			at = int(i)
		}
		if !other {
			own = ""
		}
		e.types = append(e.types, own)
	}
	switch {
	case at < 0:
		return nil
	case mapping.PreparedStatementType(stmt) != mapping.StatementTypeSelect:
		return &Error{
			Msg:  fmt.Sprintf("column %s of the result: %v: a type that the table format does not have", e.names[at], tarn.ErrUnsupported),
			Hint: "cast it in the query, to " + e.types[at], Err: tarn.ErrUnsupported,
		}
	}
	return e
}

// ownType is the name of the type in which a column of the engine is given: its own, or, with other, one that the format
// has and that holds the same values: as numbers where there are such, else as the engine's text.
func ownType(t mapping.LogicalType) (name string, other bool) {
	child := func(c mapping.LogicalType) string {
		defer mapping.DestroyLogicalType(&c)
		name, o := ownType(c)
		other = other || o
		return name
	}
	switch id := mapping.GetTypeId(t); id {
	case mapping.TypeUTinyInt:
		return "SMALLINT", true
	case mapping.TypeUSmallInt:
		return "INTEGER", true
	case mapping.TypeUInteger:
		return "BIGINT", true
	case mapping.TypeUBigInt:
		return "DECIMAL(20, 0)", true
	case mapping.TypeTimeNS:
		return "TIME", true
	case mapping.TypeList:
		name = child(mapping.ListTypeChildType(t)) + "[]"
		return name, other
	case mapping.TypeArray:
		return child(mapping.ArrayTypeChildType(t)) + "[]", true
	case mapping.TypeMap:
		name = "MAP(" + child(mapping.MapTypeKeyType(t)) + ", " + child(mapping.MapTypeValueType(t)) + ")"
		return name, other
	case mapping.TypeStruct:
		members := make([]string, mapping.StructTypeChildCount(t))
		for i := range members {
			members[i] = parse.Quote(mapping.StructTypeChildName(t, mapping.IdxT(i))) + " " + child(mapping.StructTypeChildType(t, mapping.IdxT(i)))
		}
		name = "STRUCT(" + strings.Join(members, ", ") + ")"
		return name, other
	case mapping.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", mapping.DecimalWidth(t), mapping.DecimalScale(t)), false
	default:
		if name, ok := plainTypes[id]; ok {
			return name, false
		}
	}
	return "VARCHAR", true
}

// plainTypes are those whose values the format has.
var plainTypes = map[mapping.Type]string{
	mapping.TypeBoolean: "BOOLEAN", mapping.TypeTinyInt: "TINYINT", mapping.TypeSmallInt: "SMALLINT", mapping.TypeInteger: "INTEGER",
	mapping.TypeBigInt: "BIGINT", mapping.TypeHugeInt: "HUGEINT", mapping.TypeFloat: "FLOAT", mapping.TypeDouble: "DOUBLE",
	mapping.TypeVarchar: "VARCHAR", mapping.TypeUUID: "UUID", mapping.TypeBlob: "BLOB", mapping.TypeDate: "DATE", mapping.TypeTime: "TIME",
	mapping.TypeTimestamp: "TIMESTAMP", mapping.TypeTimestampS: "TIMESTAMP_S", mapping.TypeTimestampMS: "TIMESTAMP_MS",
	mapping.TypeTimestampNS: "TIMESTAMP_NS", mapping.TypeTimestampTZ: "TIMESTAMPTZ", mapping.TypeSQLNull: `"NULL"`,
	mapping.TypeInvalid: "", // not known before it runs: parameters
}
