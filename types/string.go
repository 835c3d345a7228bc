package types

import (
	"strconv"
	"strings"
)

var kindNames = [...]string{
	Invalid: "INVALID", Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT",
	BigInt: "BIGINT", Float: "FLOAT", Double: "DOUBLE", Decimal: "DECIMAL", Char: "CHAR",
	Varchar: "VARCHAR", Binary: "BINARY", Varbinary: "VARBINARY", Date: "DATE", Time: "TIME",
	Timestamp: "TIMESTAMP", TimestampLTZ: "TIMESTAMP_LTZ", Array: "ARRAY", Map: "MAP",
	Multiset: "MULTISET", Row: "ROW", Variant: "VARIANT", Blob: "BLOB", Vector: "VECTOR",
}

// String is the type's SQL name without parameters.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// String gives the SQL text of the type as the reference implementation writes it; for atomic types
// this is the text in schema files. Parse reads it back.
func (t Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t Type) write(b *strings.Builder) {
	switch t.Kind {
	case Char, Binary:
		writeParams(b, t.Kind.String(), t.Length)
	case Varchar:
		if t.Length == MaxLength {
			b.WriteString("STRING")
		} else {
			writeParams(b, "VARCHAR", t.Length)
		}
	case Varbinary:
		if t.Length == MaxLength {
			b.WriteString("BYTES")
		} else {
			writeParams(b, "VARBINARY", t.Length)
		}
	case Decimal:
		writeParams(b, "DECIMAL", t.Precision, t.Scale)
	case Time, Timestamp:
		writeParams(b, t.Kind.String(), t.Precision)
	case TimestampLTZ:
		writeParams(b, "TIMESTAMP", t.Precision)
		b.WriteString(" WITH LOCAL TIME ZONE")
	case Array, Multiset, Map, Vector:
		t.writeParts(b)
	case Row:
		b.WriteString("ROW<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			f.write(b)
		}
		b.WriteByte('>')
	default:
		b.WriteString(t.Kind.String())
	}
	if t.NotNull {
		b.WriteString(" NOT NULL")
	}
}

func (t Type) writeParts(b *strings.Builder) {
	b.WriteString(t.Kind.String())
	b.WriteByte('<')
	if t.Kind == Map && t.Key != nil {
		t.Key.write(b)
		b.WriteString(", ")
	}
	if t.Elem != nil {
		t.Elem.write(b)
	}
	if t.Kind == Vector {
		b.WriteString(", " + strconv.Itoa(t.Length))
	}
	b.WriteByte('>')
}

func (f Field) write(b *strings.Builder) {
	b.WriteString("`" + strings.ReplaceAll(f.Name, "`", "``") + "` ")
	f.Type.write(b)
	if f.Description != "" {
		b.WriteString(" COMMENT '" + strings.ReplaceAll(f.Description, "'", "''") + "'")
	}
	if f.Default != nil {
		b.WriteString(" DEFAULT '" + strings.ReplaceAll(*f.Default, "'", "''") + "'")
	}
}

// String gives the field as in a column list: `name` TYPE COMMENT '…' DEFAULT '…'.
func (f Field) String() string {
	var b strings.Builder
	f.write(&b)
	return b.String()
}

func writeParams(b *strings.Builder, name string, params ...int) {
	b.WriteString(name)
	for i, p := range params {
		if i == 0 {
			b.WriteByte('(')
		} else {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(p))
	}
	b.WriteByte(')')
}
