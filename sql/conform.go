package sql

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// toEngine gives a batch the types of DuckDB's schema; columns are taken by position.
func toEngine(rec arrow.RecordBatch, want *arrow.Schema) (arrow.RecordBatch, error) {
	return conform(rec, want)
}

// conform converts the columns of a batch, by position, to the types of a schema that hold the same
// values in another form: units of time, names of list elements, offsets of 64 bits. Columns of the
// right type are passed on. The error names column and value if one does not fit.
func conform(rec arrow.RecordBatch, want *arrow.Schema) (arrow.RecordBatch, error) {
	if int(rec.NumCols()) != want.NumFields() {
		return nil, fmt.Errorf("a batch has %d columns, expected %d", rec.NumCols(), want.NumFields())
	}
	cols := make([]arrow.Array, rec.NumCols())
	for i := range cols {
		d, err := conformData(rec.Column(i).Data(), want.Field(i).Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", want.Field(i).Name, err)
		}
		cols[i] = array.MakeFromData(d)
	}
	return array.NewRecordBatch(want, cols, rec.NumRows()), nil
}

// conformData converts one array. Child arrays are converted whole, so offsets stay right.
func conformData(d arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	have := d.DataType()
	if have.ID() == want.ID() && !isNestedType(want) && sameLayout(have, want) {
		return retype(d, want, d.Children()), nil
	}
	switch w := want.(type) {
	case *arrow.TimestampType:
		if h, ok := have.(*arrow.TimestampType); ok {
			return rescale(d, h.Unit, w.Unit, want)
		}
		if have.ID() == arrow.DECIMAL128 {
			return narrow(d, w)
		}
	case *arrow.Time32Type:
		if h, ok := have.(*arrow.Time64Type); ok {
			return timeToMillis(d, h.Unit, want)
		}
	case *arrow.StringType, *arrow.BinaryType:
		return conformBinary(d, want)
	case *arrow.ListType, *arrow.MapType, *arrow.StructType:
		return conformNested(d, want)
	case *arrow.Decimal128Type:
		switch h := have.(type) {
		case *arrow.Decimal128Type:
			if h.Scale == w.Scale {
				return retype(d, want, nil), nil
			}
		case *arrow.TimestampType:
			return widen(d, h), nil
		}
	}
	if have.ID() == arrow.NULL {
		return array.MakeArrayOfNull(memory.DefaultAllocator, want, d.Len()).Data(), nil
	}
	return nil, fmt.Errorf("type %s cannot become %s", have, want)
}

func isNestedType(t arrow.DataType) bool { _, ok := t.(arrow.NestedType); return ok }

// sameLayout says whether arrays of the one type are arrays of the other.
func sameLayout(have, want arrow.DataType) bool {
	switch w := want.(type) {
	case *arrow.TimestampType:
		return have.(*arrow.TimestampType).Unit == w.Unit
	case *arrow.Time32Type:
		return have.(*arrow.Time32Type).Unit == w.Unit
	case *arrow.Time64Type:
		return have.(*arrow.Time64Type).Unit == w.Unit
	case *arrow.Decimal128Type:
		return have.(*arrow.Decimal128Type).Scale == w.Scale
	}
	return true
}

func retype(d arrow.ArrayData, t arrow.DataType, children []arrow.ArrayData) arrow.ArrayData {
	return array.NewData(t, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}

func conformNested(d arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	have := d.DataType()
	fields := want.(arrow.NestedType).Fields()
	ok := have.ID() == want.ID()
	if s, isStruct := have.(*arrow.StructType); isStruct {
		ok = ok && s.NumFields() == len(fields)
	}
	if !ok || len(d.Children()) != len(fields) {
		return nil, fmt.Errorf("type %s cannot become %s", have, want)
	}
	children := make([]arrow.ArrayData, len(fields))
	for i, f := range fields {
		c, err := conformData(d.Children()[i], f.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		children[i] = c
	}
	return retype(d, want, children), nil
}

// conformBinary changes between text and bytes, and from 64-bit offsets or views.
func conformBinary(d arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	switch d.DataType().ID() {
	case arrow.STRING, arrow.BINARY:
		return retype(d, want, nil), nil
	case arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.STRING_VIEW, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
	default:
		return nil, fmt.Errorf("type %s cannot become %s", d.DataType(), want)
	}
	src := array.MakeFromData(d)
	b := array.NewBinaryBuilder(memory.DefaultAllocator, want.(arrow.BinaryDataType))
	for i := range src.Len() {
		if src.IsNull(i) {
			b.AppendNull()
			continue
		}
		switch s := src.(type) {
		case *array.LargeString:
			b.AppendString(s.Value(i))
		case *array.LargeBinary:
			b.Append(s.Value(i))
		case *array.StringView:
			b.AppendString(s.Value(i))
		case *array.BinaryView:
			b.Append(s.Value(i))
		case *array.FixedSizeBinary:
			b.Append(s.Value(i))
		}
	}
	return b.NewBinaryArray().Data(), nil
}

var unitNanos = map[arrow.TimeUnit]int64{arrow.Second: 1e9, arrow.Millisecond: 1e6, arrow.Microsecond: 1e3, arrow.Nanosecond: 1}

// rescale changes the unit of timestamps, rounding down.
func rescale(d arrow.ArrayData, from, to arrow.TimeUnit, want arrow.DataType) (arrow.ArrayData, error) {
	src := values64(d)
	out := make([]int64, len(src))
	mul, div := unitNanos[from]/unitNanos[to], unitNanos[to]/unitNanos[from]
	for i, v := range src {
		if mul > 1 {
			if v > math.MaxInt64/mul || v < math.MinInt64/mul {
				if isNull(d, i) || isInfinite(v) {
					continue
				}
				return nil, fmt.Errorf("a timestamp is out of the range of %s", want)
			}
			out[i] = v * mul
			continue
		}
		q := v / div
		if v%div < 0 {
			q--
		}
		out[i] = q
	}
	return fromValues64(d, out, want), nil
}

// widen gives timestamps as types.WideTimestamp.
func widen(d arrow.ArrayData, from *arrow.TimestampType) arrow.ArrayData {
	src := values64(d)
	out := make([]decimal128.Num, len(src))
	for i, v := range src {
		out[i] = types.InstantOf(v, from.Unit).Nanoseconds()
	}
	return array.NewData(types.WideTimestamp, len(out), []*memory.Buffer{validity(d), memory.NewBufferBytes(arrow.Decimal128Traits.CastToBytes(out))}, nil, d.NullN(), 0)
}

// narrow gives types.WideTimestamp in the engine's 64 bits, rounding down.
func narrow(d arrow.ArrayData, want *arrow.TimestampType) (arrow.ArrayData, error) {
	src := array.NewDecimal128Data(d)
	out := make([]int64, src.Len())
	for i, v := range src.Values() {
		if src.IsNull(i) {
			continue
		}
		at, ok := types.InstantOfNanos(v)
		n, fits := at.In(want.Unit)
		if !ok || !fits {
			return nil, fmt.Errorf("%s is beyond what the engine's %s holds (with nanoseconds 1677-09-21 to 2262-04-11): leave such rows or the column out, "+
				"change the column to TIMESTAMP(6), or use `tarn read`", types.AppendTimestamp(nil, at, 0), want)
		}
		out[i] = n
	}
	return fromValues64(d, out, want), nil
}

// allDigits refuses times of which the engine's types do not hold all digits.
func allDigits(rec arrow.RecordBatch, want *arrow.Schema) error {
	for i, c := range rec.Columns() {
		if err := allDigitsOf(c.Data(), want.Field(i).Type); err != nil {
			return &Error{
				Msg:  fmt.Sprintf("column %s: %v", want.Field(i).Name, err),
				Hint: "tarn read … --json | tarn write … keeps all digits; into a column of 6 digits they may be cut", Err: tarn.ErrUnsupported,
			}
		}
	}
	return nil
}

func allDigitsOf(d arrow.ArrayData, want arrow.DataType) error {
	if w, ok := want.(*arrow.TimestampType); ok && d.DataType().ID() == arrow.DECIMAL128 {
		src := array.NewDecimal128Data(d)
		for i, v := range src.Values() {
			at, ok := types.InstantOfNanos(v)
			if n := unitNanos[w.Unit]; !src.IsNull(i) && ok && int64(at.Nanos)%n != 0 {
				return fmt.Errorf("%s has more digits than queries have of TIMESTAMP_LTZ, microseconds", types.AppendTimestamp(nil, at, 9))
			}
		}
	}
	nested, ok := want.(arrow.NestedType)
	if !ok {
		return nil
	}
	for i, f := range nested.Fields() {
		if err := allDigitsOf(d.Children()[i], f.Type); err != nil {
			return err
		}
	}
	return nil
}

// isInfinite says whether DuckDB means 'infinity' or '-infinity'.
func isInfinite(v int64) bool { return v == math.MaxInt64 || v == -math.MaxInt64 }

func values64(d arrow.ArrayData) []int64 {
	if d.Len() == 0 {
		return nil
	}
	return arrow.Int64Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
}

func isNull(d arrow.ArrayData, i int) bool {
	v := d.Buffers()[0]
	return v != nil && v.Len() > 0 && !bitutil.BitIsSet(v.Bytes(), d.Offset()+i)
}

// validity gives the null bits of an array as if it began at 0.
func validity(d arrow.ArrayData) *memory.Buffer {
	v := d.Buffers()[0]
	if v == nil || v.Len() == 0 {
		return nil
	}
	out := make([]byte, bitutil.BytesForBits(int64(d.Len())))
	bitutil.CopyBitmap(v.Bytes(), d.Offset(), d.Len(), out, 0)
	return memory.NewBufferBytes(out)
}

func fromValues64(d arrow.ArrayData, out []int64, want arrow.DataType) arrow.ArrayData {
	return array.NewData(want, len(out), []*memory.Buffer{validity(d), memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(out))}, nil, d.NullN(), 0)
}

func timeToMillis(d arrow.ArrayData, from arrow.TimeUnit, want arrow.DataType) (arrow.ArrayData, error) {
	div := int64(1e6) / unitNanos[from]
	src := values64(d)
	out := make([]int32, len(src))
	for i, v := range src {
		out[i] = int32(v / div)
	}
	return array.NewData(want, len(out), []*memory.Buffer{validity(d), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(out))}, nil, d.NullN(), 0), nil
}

// cloneRecord copies a batch into Go memory.
func cloneRecord(rec arrow.RecordBatch) arrow.RecordBatch {
	cols := make([]arrow.Array, rec.NumCols())
	for i := range cols {
		cols[i] = array.MakeFromData(cloneData(rec.Column(i).Data()))
	}
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}

func cloneData(d arrow.ArrayData) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = memory.NewBufferBytes(append(make([]byte, 0, b.Len()), b.Bytes()...))
		}
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = cloneData(c)
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), d.Offset())
}

// wholeStructs gives a batch whose structs begin at the start of their children: the export of Arrow's library tells
// the offset of a struct twice, once of itself and once of each child.
func wholeStructs(rec arrow.RecordBatch) arrow.RecordBatch {
	cols := rec.Columns()
	var own []arrow.Array
	for i, c := range cols {
		d := wholeStruct(c.Data())
		if d == c.Data() {
			continue
		}
		if own == nil {
			own = append(own, cols...)
		}
		own[i] = array.MakeFromData(d)
	}
	if own == nil {
		return rec
	}
	return array.NewRecordBatch(rec.Schema(), own, rec.NumRows())
}

func wholeStruct(d arrow.ArrayData) arrow.ArrayData {
	if !isNestedType(d.DataType()) {
		return d
	}
	isStruct := d.DataType().ID() == arrow.STRUCT
	children := make([]arrow.ArrayData, len(d.Children()))
	same := !isStruct || d.Offset() == 0
	for i, c := range d.Children() {
		children[i] = c
		if isStruct && (d.Offset() != 0 || c.Len() != d.Len()) {
			children[i] = array.NewSliceData(c, int64(d.Offset()), int64(d.Offset()+d.Len()))
		}
		children[i] = wholeStruct(children[i])
		same = same && children[i] == c
	}
	if same {
		return d
	}
	if !isStruct {
		return array.NewData(d.DataType(), d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
	}
	return array.NewData(d.DataType(), d.Len(), []*memory.Buffer{validity(d)}, children, d.NullN(), 0)
}
