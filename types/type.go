// Package types holds the data types of the table format: their SQL strings, their JSON in schema
// files, their Arrow equivalents, and the values of atomic types.
package types

// Kind names a data type without its parameters.
type Kind uint8

// The data types of the format's specification (concepts/spec, "Schema").
const (
	Invalid Kind = iota
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	Varchar
	Binary
	Varbinary
	Date
	Time
	Timestamp
	TimestampLTZ
	Array
	Map
	Multiset
	Row
	Variant
	Blob
	Vector
)

// MaxLength is the length of STRING and BYTES: VARCHAR and VARBINARY without a limit.
const MaxLength = 1<<31 - 1

// Type is a data type with its parameters and nullability. It is a value: do not change the types
// it points to. The zero value is no type.
type Type struct {
	Kind      Kind
	NotNull   bool    // the zero value is nullable, as in SQL
	Length    int     // CHAR, VARCHAR, BINARY, VARBINARY, VECTOR
	Precision int     // DECIMAL: 1..38; TIME, TIMESTAMP, TIMESTAMP_LTZ: 0..9
	Scale     int     // DECIMAL: 0..Precision
	Key       *Type   // MAP
	Elem      *Type   // ARRAY, MULTISET, VECTOR: element; MAP: value
	Fields    []Field // ROW
}

// Field is a column of a table or a member of a ROW. Its ID never changes and is never used again
// in the same table, whatever the field is called: files are matched to schemas by it.
type Field struct {
	ID          int
	Name        string
	Type        Type
	Description string  // comment, "" for none
	Default     *string // default value as text (SQL literal without quotes), nil for none
}

// TypesOf gives the types of fields, in their order.
func TypesOf(fields []Field) []Type {
	out := make([]Type, len(fields))
	for i, f := range fields {
		out[i] = f.Type
	}
	return out
}

// RowKind says what a row means in a stream of changes. The values are those of the `_VALUE_KIND`
// column of key-value files.
type RowKind uint8

const (
	Insert       RowKind = 0 // +I
	UpdateBefore RowKind = 1 // -U
	UpdateAfter  RowKind = 2 // +U
	Delete       RowKind = 3 // -D
)

// String gives "+I", "-U", "+U" or "-D".
func (k RowKind) String() string {
	switch k {
	case Insert:
		return "+I"
	case UpdateBefore:
		return "-U"
	case UpdateAfter:
		return "+U"
	case Delete:
		return "-D"
	}
	return "?"
}

// IsRetract reports whether the row takes something back (-U, -D).
func (k RowKind) IsRetract() bool { return k == UpdateBefore || k == Delete }
