package types

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// FieldIDKey is the key of field ids in the metadata of Arrow fields; Parquet libraries know it.
const FieldIDKey = "PARQUET:field_id"

// Parts of ARRAY, MAP and MULTISET have ids that follow from the id of the top-level or row field
// and the depth inside of it (1 for its own element), counted up for elements and values and down
// for keys from partIDBase. 32-bit arithmetic wraps, as in the reference (SpecialFields).
const (
	partIDBase  = 1<<29 - 1
	partIDDepth = 1 << 10
)

// ElementID is the id of an array element or map value at a depth inside of the field id.
func ElementID(id, depth int) int {
	return int(int32(partIDBase) + int32(id)*partIDDepth + int32(depth))
}

// KeyID is the id of a map key or multiset element at a depth inside of the field id.
func KeyID(id, depth int) int {
	return int(int32(partIDBase) - int32(id)*partIDDepth - int32(depth))
}

// ArrowType gives the Arrow type of a type. Row fields carry their ids; parts of ARRAY, MAP and
// MULTISET carry none, since their ids follow from the column: see ArrowField. BLOB and VECTOR have
// an Arrow type here, but no data of them is read or written: see CheckSupported.
//
// TIMESTAMP and TIMESTAMP_LTZ of precision 7 to 9 are timestamp[ns] here, which reaches from 1677 to 2262 only;
// WideArrowType has room for all years.
func ArrowType(t Type) arrow.DataType { return narrow.of(t, -1, 0) }

// ArrowField gives the Arrow field of a column, with ids at every level.
func ArrowField(f Field) arrow.Field { return narrow.field(f) }

// ArrowSchema gives the Arrow schema of columns, with ids at every level.
func ArrowSchema(fields []Field) *arrow.Schema { return narrow.schema(fields) }

// WideArrowType is ArrowType with room for all years: TIMESTAMP and TIMESTAMP_LTZ of precision 7 to 9 are
// WideTimestamp. All other types are the same. Rows have this form inside of the module.
func WideArrowType(t Type) arrow.DataType { return wide.of(t, -1, 0) }

// WideArrowField is ArrowField with the types of WideArrowType.
func WideArrowField(f Field) arrow.Field { return wide.field(f) }

// WideArrowSchema is ArrowSchema with the types of WideArrowType.
func WideArrowSchema(fields []Field) *arrow.Schema { return wide.schema(fields) }

// WideTimestamp is the Arrow type of TIMESTAMP and TIMESTAMP_LTZ of precision 7 to 9 that holds all years: seconds
// since 1970-01-01T00:00:00 (of LTZ in UTC) with nine digits behind the point.
var WideTimestamp = &arrow.Decimal128Type{Precision: 38, Scale: 9}

// mapping is a mapping of types to Arrow's.
type mapping bool

const (
	narrow mapping = false
	wide   mapping = true
)

func (m mapping) field(f Field) arrow.Field {
	return arrow.Field{
		Name: f.Name, Type: m.of(f.Type, f.ID, 0), Nullable: !f.Type.NotNull, Metadata: idMetadata(f.ID),
	}
}

func (m mapping) schema(fields []Field) *arrow.Schema {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = m.field(f)
	}
	return arrow.NewSchema(out, nil)
}

func idMetadata(id int) arrow.Metadata {
	if id < 0 {
		return arrow.Metadata{}
	}
	return arrow.NewMetadata([]string{FieldIDKey}, []string{strconv.Itoa(id)})
}

// TimeUnit is the Arrow unit of TIMESTAMP and TIMESTAMP_LTZ of a precision, in the form of ArrowType.
func TimeUnit(precision int) arrow.TimeUnit {
	switch {
	case precision <= 3:
		return arrow.Millisecond
	case precision <= 6:
		return arrow.Microsecond
	}
	return arrow.Nanosecond
}

func (m mapping) of(t Type, id, depth int) arrow.DataType {
	if m == wide && IsNanos(t) {
		return WideTimestamp
	}
	switch t.Kind {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case TinyInt:
		return arrow.PrimitiveTypes.Int8
	case SmallInt:
		return arrow.PrimitiveTypes.Int16
	case Int:
		return arrow.PrimitiveTypes.Int32
	case BigInt:
		return arrow.PrimitiveTypes.Int64
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Char, Varchar:
		return arrow.BinaryTypes.String
	case Binary, Varbinary, Blob:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		return arrow.FixedWidthTypes.Time32ms
	case Timestamp:
		return &arrow.TimestampType{Unit: TimeUnit(t.Precision)}
	case TimestampLTZ:
		return &arrow.TimestampType{Unit: TimeUnit(t.Precision), TimeZone: "UTC"}
	case Array:
		return arrow.ListOfField(m.part("element", partType(t.Elem), id, ElementID(id, depth+1), depth+1))
	case Vector:
		if t.Length < 1 {
			return arrow.Null
		}
		return arrow.FixedSizeListOfField(int32(t.Length), m.part("element", partType(t.Elem), id, ElementID(id, depth+1), depth+1))
	case Map:
		return m.mapOf(partType(t.Key), partType(t.Elem), id, depth+1)
	case Multiset:
		return m.mapOf(partType(t.Elem), IntType.AsNotNull(), id, depth+1)
	case Row:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = m.field(f)
		}
		return arrow.StructOf(fields...)
	case Variant:
		return arrow.StructOf(
			arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary, Metadata: idMetadata(0)},
			arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary, Metadata: idMetadata(1)},
		)
	}
	return arrow.Null
}

// partType is the type of a part, the zero Type if it is missing.
func partType(p *Type) Type {
	if p == nil {
		return Type{}
	}
	return *p
}

func (m mapping) mapOf(key, value Type, id, depth int) arrow.DataType {
	return arrow.MapOfFields(
		m.part("key", key.AsNotNull(), id, KeyID(id, depth), depth), // Arrow and Parquet have no NULL keys
		m.part("value", value, id, ElementID(id, depth), depth))
}

func (m mapping) part(name string, t Type, id, own, depth int) arrow.Field {
	f := arrow.Field{Name: name, Type: m.of(t, id, depth), Nullable: !t.NotNull}
	if id >= 0 {
		f.Metadata = arrow.NewMetadata([]string{FieldIDKey}, []string{strconv.Itoa(own)})
	}
	return f
}

// CheckSupported returns an error that names the first column, nested ones included, whose type can
// be in a schema but whose data cannot be read or written: BLOB and VECTOR.
func CheckSupported(fields []Field) error {
	for _, f := range fields {
		if bad, ok := unsupported(f.Type); ok {
			return fmt.Errorf("types: column %q: data of type %s cannot be read or written yet; leave the column out", f.Name, bad)
		}
	}
	return nil
}

func unsupported(t Type) (Type, bool) {
	switch t.Kind {
	case Blob, Vector, Invalid:
		return t, true
	}
	for _, p := range []*Type{t.Key, t.Elem} {
		if p != nil {
			if bad, ok := unsupported(*p); ok {
				return bad, true
			}
		}
	}
	for _, f := range t.Fields {
		if bad, ok := unsupported(f.Type); ok {
			return bad, true
		}
	}
	return Type{}, false
}

// FieldID reads the field id in the metadata of an Arrow field, -1 if there is none.
func FieldID(f arrow.Field) int {
	if v, ok := f.Metadata.GetValue(FieldIDKey); ok {
		if id, err := strconv.ParseInt(v, 10, 32); err == nil {
			return int(id)
		}
	}
	return -1
}

// FromArrow gives the nullable type whose values hold all those of an Arrow type: the way back of
// ArrowType, and the nearest type for others (unsigned integers become wider, lengths are lost,
// dictionaries and runs are their values, extension types how they are stored). A MULTISET comes back as MAP, a WideTimestamp as DECIMAL(38,9). Row fields
// without ids get -1.
func FromArrow(dt arrow.DataType) (Type, error) { return fromArrow(dt, 0) }

// FromArrowField gives the column of an Arrow field; see FromArrow.
func FromArrowField(f arrow.Field) (Field, error) { return fromArrowField(f, 0) }

func fromArrowField(f arrow.Field, depth int) (Field, error) {
	t, err := fromArrow(f.Type, depth)
	if err != nil {
		return Field{}, fmt.Errorf("%w (field %q)", err, f.Name)
	}
	t.NotNull = !f.Nullable
	return Field{ID: FieldID(f), Name: f.Name, Type: t}, nil
}

var arrowAtomic = map[arrow.Type]Type{
	arrow.BOOL: BooleanType, arrow.INT8: TinyIntType, arrow.INT16: SmallIntType, arrow.INT32: IntType,
	arrow.INT64: BigIntType, arrow.UINT8: SmallIntType, arrow.UINT16: IntType, arrow.UINT32: BigIntType,
	arrow.UINT64: DecimalType(20, 0), arrow.FLOAT16: FloatType, arrow.FLOAT32: FloatType, arrow.FLOAT64: DoubleType,
	arrow.STRING: StringType, arrow.LARGE_STRING: StringType, arrow.STRING_VIEW: StringType,
	arrow.BINARY: BytesType, arrow.LARGE_BINARY: BytesType, arrow.BINARY_VIEW: BytesType,
	arrow.DATE32: DateType, arrow.DATE64: DateType,
}

func fromArrow(dt arrow.DataType, depth int) (Type, error) {
	if dt == nil {
		return Type{}, errors.New("types: the Arrow type is nil")
	}
	if depth > maxDepth {
		return Type{}, fmt.Errorf("types: Arrow type nested deeper than %d levels", maxDepth)
	}
	if t, ok := arrowAtomic[dt.ID()]; ok {
		return t, nil
	}
	unitDigits := func(u arrow.TimeUnit) int { return 3 * int(u) } // Second is 0, Nanosecond 3
	switch dt := dt.(type) {
	case arrow.DecimalType:
		p, s := int(dt.GetPrecision()), int(dt.GetScale())
		if p >= 1 && p <= 38 && s >= 0 && s <= p {
			return DecimalType(p, s), nil
		}
	case *arrow.FixedSizeBinaryType:
		if dt.ByteWidth > 0 {
			return BinaryType(dt.ByteWidth), nil
		}
	case *arrow.Time32Type:
		return TimeType(unitDigits(dt.Unit)), nil
	case *arrow.Time64Type:
		return TimeType(unitDigits(dt.Unit)), nil
	case *arrow.TimestampType:
		if dt.TimeZone != "" {
			return TimestampLTZType(unitDigits(dt.Unit)), nil
		}
		return TimestampType(unitDigits(dt.Unit)), nil
	case *arrow.DictionaryType:
		return fromArrow(dt.ValueType, depth+1)
	case *arrow.RunEndEncodedType:
		return fromArrow(dt.Encoded(), depth+1)
	case arrow.ExtensionType:
		return fromArrow(dt.StorageType(), depth+1)
	case *arrow.MapType:
		k, err := fromArrowField(dt.KeyField(), depth+1)
		if err != nil {
			return Type{}, err
		}
		v, err := fromArrowField(dt.ItemField(), depth+1)
		return MapType(k.Type, v.Type), err
	case arrow.ListLikeType:
		e, err := fromArrowField(dt.ElemField(), depth+1)
		return ArrayType(e.Type), err
	case *arrow.StructType:
		return fromStruct(dt, depth)
	}
	return Type{}, fmt.Errorf("types: no type of the format holds values of the Arrow type %s", dt)
}

func fromStruct(dt *arrow.StructType, depth int) (Type, error) {
	if isVariant(dt) {
		return VariantType, nil
	}
	fields := make([]Field, dt.NumFields())
	for i := range fields {
		var err error
		if fields[i], err = fromArrowField(dt.Field(i), depth+1); err != nil {
			return Type{}, err
		}
	}
	return RowType(fields...), nil
}

// isVariant tells the two required binaries of a VARIANT, which have the ids 0 and 1 in files.
func isVariant(dt *arrow.StructType) bool {
	if dt.NumFields() != 2 {
		return false
	}
	v, m := dt.Field(0), dt.Field(1)
	return v.Name == "value" && m.Name == "metadata" && !v.Nullable && !m.Nullable &&
		v.Type.ID() == arrow.BINARY && m.Type.ID() == arrow.BINARY && FieldID(v) <= 0 && FieldID(m) <= 1
}
