package gen

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// Fields are the columns of the benchmark's table.
func Fields() []types.Field {
	spec := [][2]string{
		{"order_id", "BIGINT NOT NULL"},
		{"user_id", "BIGINT"},
		{"status", "STRING"},
		{"amount", "DECIMAL(12,2)"},
		{"city", "STRING"},
		{"note", "STRING"},
		{"created", "TIMESTAMP(3)"},
		{"updated", "TIMESTAMP(3)"},
		{"qty", "INT"},
		{"price", "DOUBLE"},
	}
	fields := make([]types.Field, len(spec))
	for i, s := range spec {
		fields[i] = types.Field{ID: i, Name: s[0], Type: types.MustParse(s[1])}
	}
	return fields
}

// PartialFields are the columns of the table of partial updates: those of Fields, and one for each of the two
// groups that is the number of the operation.
func PartialFields() []types.Field {
	return append(Fields(), types.Field{ID: 10, Name: "g_1", Type: types.MustParse("BIGINT")}, types.Field{ID: 11, Name: "g_2", Type: types.MustParse("BIGINT")})
}

// text is a column of strings under construction.
type text struct {
	offsets []int32
	data    []byte
}

func newText(n, bytes int) text {
	return text{append(make([]int32, 0, n+1), 0), make([]byte, 0, bytes)}
}

func (s *text) add(v string) {
	s.data = append(s.data, v...)
	s.offsets = append(s.offsets, int32(len(s.data)))
}

func (s *text) array() arrow.Array {
	n := len(s.offsets) - 1
	d := array.NewData(arrow.BinaryTypes.String, n, []*memory.Buffer{nil, bufferOf(s.offsets), memory.NewBufferBytes(s.data)}, nil, 0, 0)
	return array.NewStringData(d)
}

func bufferOf[T any](v []T) *memory.Buffer {
	if len(v) == 0 {
		return memory.NewBufferBytes(nil)
	}
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0]))))
}

func column[T any](t arrow.DataType, v []T) arrow.Array {
	return array.MakeFromData(array.NewData(t, len(v), []*memory.Buffer{nil, bufferOf(v)}, nil, 0, 0))
}

// Batch makes the rows of operations from..to-1 in Arrow's layout; unique takes the number of the
// operation as its key, as the append load does.
func (g *Gen) Batch(from, to int64, unique bool) arrow.RecordBatch {
	n := int(to - from)
	var (
		key, user, made, seen = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		amount                = make([]decimal128.Num, n)
		quantity              = make([]int32, n)
		prices                = make([]float64, n)
		states, towns         = newText(n, n*8), newText(n, n*8)
		notes                 = newText(n, n*42)
	)
	for j := range n {
		i := from + int64(j)
		k := i
		if !unique {
			k = g.Key(i)
		}
		key[j], user[j], made[j], seen[j] = k, userID(k), created(k), updated(i)
		amount[j] = decimal128.FromI64(cents(i))
		quantity[j], prices[j] = qty(i), price(i)
		states.add(status(i))
		towns.add(city(k))
		notes.data = appendNote(notes.data, i)
		notes.offsets = append(notes.offsets, int32(len(notes.data)))
	}
	schema := types.ArrowSchema(Fields())
	typ := func(i int) arrow.DataType { return schema.Field(i).Type }
	return array.NewRecordBatch(schema, []arrow.Array{
		column(typ(0), key), column(typ(1), user), states.array(), column(typ(3), amount), towns.array(), notes.array(),
		column(typ(6), made), column(typ(7), seen), column(typ(8), quantity), column(typ(9), prices),
	}, int64(n))
}

// PartialBatch makes the rows of operations from..to-1 as partial updates: of even ones the columns of the first
// group are given, of odd ones those of the second.
func (g *Gen) PartialBatch(from, to int64) arrow.RecordBatch {
	full := g.Batch(from, to, false)
	n := int(to - from)
	numbers := make([]int64, n)
	// halves has a bit for each row whose number is even, or odd.
	var halves [2][]byte
	for i := range halves {
		halves[i] = make([]byte, (n+7)/8)
	}
	for j := range n {
		i := from + int64(j)
		numbers[j] = i
		halves[i&1][j/8] |= 1 << (j % 8)
	}
	given := func(c arrow.Array, half int) arrow.Array {
		d := c.Data()
		buffers := append([]*memory.Buffer{memory.NewBufferBytes(halves[half])}, d.Buffers()[1:]...)
		return array.MakeFromData(array.NewData(d.DataType(), n, buffers, nil, array.UnknownNullCount, 0))
	}
	cols := []arrow.Array{full.Column(0)}
	for i := 1; i < 5; i++ {
		cols = append(cols, given(full.Column(i), 0))
	}
	for i := 5; i < 10; i++ {
		cols = append(cols, given(full.Column(i), 1))
	}
	number := column(arrow.PrimitiveTypes.Int64, numbers)
	cols = append(cols, given(number, 0), given(number, 1))
	return array.NewRecordBatch(types.ArrowSchema(PartialFields()), cols, int64(n))
}

// Checksum is the sum over the rows of batches; the Java kit prints the same.
func Checksum(b arrow.RecordBatch) (sum uint64) {
	str := func(c int) *array.String { return b.Column(c).(*array.String) }
	i64 := func(c int) []int64 { return b.Column(c).(*array.Int64).Int64Values() }
	ms := func(c int) []arrow.Timestamp { return b.Column(c).(*array.Timestamp).TimestampValues() }
	keys, users, amount := i64(0), i64(1), b.Column(3).(*array.Decimal128)
	states, towns, notes := str(2), str(4), str(5)
	made, seen := ms(6), ms(7)
	quantity, prices := b.Column(8).(*array.Int32), b.Column(9).(*array.Float64)
	for i := range int(b.NumRows()) {
		r := row{
			key: keys[i], user: users[i], cents: int64(amount.Value(i).LowBits()), created: int64(made[i]), updated: int64(seen[i]),
			status: []byte(states.Value(i)), city: []byte(towns.Value(i)), note: []byte(notes.Value(i)), qty: quantity.Value(i), price: prices.Value(i),
		}
		sum += r.checksum()
	}
	return sum
}
