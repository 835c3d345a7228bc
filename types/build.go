package types

// The types without parameters, nullable. Use AsNotNull for the others.
var (
	BooleanType  = Type{Kind: Boolean}
	TinyIntType  = Type{Kind: TinyInt}
	SmallIntType = Type{Kind: SmallInt}
	IntType      = Type{Kind: Int}
	BigIntType   = Type{Kind: BigInt}
	FloatType    = Type{Kind: Float}
	DoubleType   = Type{Kind: Double}
	DateType     = Type{Kind: Date}
	StringType   = Type{Kind: Varchar, Length: MaxLength}
	BytesType    = Type{Kind: Varbinary, Length: MaxLength}
	VariantType  = Type{Kind: Variant}
)

// CharType is CHAR(n).
func CharType(n int) Type { return Type{Kind: Char, Length: n} }

// VarcharType is VARCHAR(n).
func VarcharType(n int) Type { return Type{Kind: Varchar, Length: n} }

// BinaryType is BINARY(n).
func BinaryType(n int) Type { return Type{Kind: Binary, Length: n} }

// VarbinaryType is VARBINARY(n).
func VarbinaryType(n int) Type { return Type{Kind: Varbinary, Length: n} }

// DecimalType is DECIMAL(p, s).
func DecimalType(p, s int) Type { return Type{Kind: Decimal, Precision: p, Scale: s} }

// TimeType is TIME(p).
func TimeType(p int) Type { return Type{Kind: Time, Precision: p} }

// TimestampType is TIMESTAMP(p).
func TimestampType(p int) Type { return Type{Kind: Timestamp, Precision: p} }

// TimestampLTZType is TIMESTAMP(p) WITH LOCAL TIME ZONE.
func TimestampLTZType(p int) Type { return Type{Kind: TimestampLTZ, Precision: p} }

// ArrayType is ARRAY<elem>.
func ArrayType(elem Type) Type { return Type{Kind: Array, Elem: &elem} }

// MultisetType is MULTISET<elem>.
func MultisetType(elem Type) Type { return Type{Kind: Multiset, Elem: &elem} }

// MapType is MAP<key, value>.
func MapType(key, value Type) Type { return Type{Kind: Map, Key: &key, Elem: &value} }

// RowType is ROW<fields>.
func RowType(fields ...Field) Type { return Type{Kind: Row, Fields: fields} }

// AsNotNull is the type without NULL.
func (t Type) AsNotNull() Type { t.NotNull = true; return t }

// AsNullable is the type with NULL.
func (t Type) AsNullable() Type { t.NotNull = false; return t }

// IsNested reports whether values of the type have parts of their own types (ARRAY, MAP, MULTISET,
// ROW, VECTOR). VARIANT is not nested: its parts are bytes.
func (t Type) IsNested() bool {
	switch t.Kind {
	case Array, Map, Multiset, Row, Vector:
		return true
	}
	return false
}

// Equal reports whether two types are the same in everything: parameters, nullability, and the ids,
// names, comments and defaults of row fields.
func (t Type) Equal(o Type) bool { return equal(t, o, true) }

// EqualShape is Equal without the ids, comments and defaults of row fields: two types of the same
// shape hold the same values.
func (t Type) EqualShape(o Type) bool { return equal(t, o, false) }

func equal(a, b Type, all bool) bool {
	if a.Kind != b.Kind || a.NotNull != b.NotNull || a.Length != b.Length ||
		a.Precision != b.Precision || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) {
		return false
	}
	if !equalPart(a.Key, b.Key, all) || !equalPart(a.Elem, b.Elem, all) {
		return false
	}
	for i := range a.Fields {
		x, y := &a.Fields[i], &b.Fields[i]
		if x.Name != y.Name || !equal(x.Type, y.Type, all) {
			return false
		}
		if all && (x.ID != y.ID || x.Description != y.Description || !equalText(x.Default, y.Default)) {
			return false
		}
	}
	return true
}

func equalPart(a, b *Type, all bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equal(*a, *b, all)
}

func equalText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Equal reports whether two fields are the same in everything.
func (f Field) Equal(o Field) bool {
	return f.ID == o.ID && f.Name == o.Name && f.Description == o.Description &&
		equalText(f.Default, o.Default) && f.Type.Equal(o.Type)
}
