package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/zstd"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// frames are the same bytes as encoders of different habits pack them.
func frames(t *testing.T, data []byte) map[string][]byte {
	stream := func(step int, o ...zstd.EOption) []byte {
		var b bytes.Buffer
		w := must[*zstd.Encoder](t)(zstd.NewWriter(&b, append(o, zstd.WithEncoderConcurrency(1))...))
		for rest := data; len(rest) > 0; {
			n := min(step, len(rest))
			must[int](t)(w.Write(rest[:n]))
			rest = rest[n:]
			if err := w.Flush(); err != nil { // ends a block
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	all := must[*zstd.Encoder](t)(zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderLevel(zstd.SpeedDefault)))
	half := len(data) / 2
	return map[string][]byte{
		"at once":           must[[]byte](t)(packZstd(nil, data, 1)),
		"with checksum":     all.EncodeAll(data, nil),
		"stream":            stream(128<<10, zstd.WithEncoderCRC(false)),
		"short blocks":      stream(10_000),
		"blocks by chance":  stream(77_777, zstd.WithWindowSize(1<<20)),
		"one block":         stream(1 << 30),
		"two frames":        all.EncodeAll(data[half:], all.EncodeAll(data[:half], nil)),
		"skippable at last": append(all.EncodeAll(data, nil), 0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 7),
	}
}

// The beginning of a packed page is the beginning of the page, or there is none; broken bytes end no process.
func TestUnpackZstdPart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 700_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := []byte(strings.Repeat("the quick brown fox ", 30_000) + string(noise[:1000]))
	for i := 0; i < len(text); i += 37 {
		text[i] = byte(r.Uint32())
	}
	gained := map[string]bool{}
	for kind, data := range map[string][]byte{"noise": noise, "text": text, "zeros": make([]byte, 400_000), "short": text[:130_000]} {
		for name, src := range frames(t, data) {
			buf := getBuffer(len(data) + slack)
			for _, need := range []int{1, 100, 9_999, zstdBlock, zstdBlock + 1, len(data) / 2, len(data) - 1, len(data), len(data) + 1} {
				out := unpackZstdPart(buf, src, len(data), need)
				if out == nil {
					continue
				}
				gained[name] = gained[name] || len(out) < len(data)
				if len(out) < need || len(out) > len(data) || !bytes.Equal(out, data[:len(out)]) {
					t.Fatalf("%s, %s: %d bytes for %d of %d", kind, name, len(out), need, len(data))
				}
			}
			for range 200 {
				bad := slices.Clone(src[:1+r.IntN(len(src))])
				bad[r.IntN(min(len(bad), 64))] ^= byte(1 + r.IntN(255))
				if out := unpackZstdPart(buf, bad, len(data), 1+r.IntN(len(data))); len(out) > len(data) {
					t.Fatalf("%s, %s: %d bytes of %d", kind, name, len(out), len(data))
				}
			}
		}
	}
	for _, name := range []string{"at once", "with checksum", "stream", "short blocks"} {
		if !gained[name] {
			t.Errorf("%s: always unpacked whole", name)
		}
	}
}

var partFields = fieldsOf("id", "BIGINT NOT NULL", "even", "BIGINT NOT NULL", "early", "BIGINT", "d", "DOUBLE", "long", "STRING", "text", "STRING NOT NULL",
	"dec", "DECIMAL(30,2)", "raw", "BYTES", "flag", "BOOLEAN", "kind", "STRING", "in", "ROW<a BIGINT, b STRING>", "list", "ARRAY<BIGINT>")

// partRows has columns whose values are as long at the beginning of a page as at its end, much longer, and much
// shorter, and columns that are NULL at one end of it only.
func partRows(n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(partFields))
	for i := range n {
		x := rnd(int64(i), 1)
		some := fmt.Sprintf("%016x", x)
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int64Builder).Append(int64(x))
		if i%20000 < 9000 {
			b.Field(2).(*array.Int64Builder).Append(int64(x))
			b.Field(4).(*array.StringBuilder).Append(strings.Repeat(some, 1+i%4))
			b.Field(7).(*array.BinaryBuilder).AppendNull()
		} else {
			b.Field(2).AppendNull()
			b.Field(4).(*array.StringBuilder).Append("")
			b.Field(7).(*array.BinaryBuilder).Append([]byte(some + some))
		}
		b.Field(3).(*array.Float64Builder).Append(float64(x))
		b.Field(5).(*array.StringBuilder).Append(some[:i%17])
		b.Field(6).(*array.Decimal128Builder).Append(decimal128.New(int64(i%1000), x))
		b.Field(8).(*array.BooleanBuilder).Append(x&1 == 0)
		b.Field(9).(*array.StringBuilder).Append(some[:1])
		in := b.Field(10).(*array.StructBuilder)
		in.Append(i%5 != 0)
		if i%5 != 0 {
			in.FieldBuilder(0).(*array.Int64Builder).Append(int64(x))
			in.FieldBuilder(1).(*array.StringBuilder).Append(some)
		} else {
			in.FieldBuilder(0).AppendNull()
			in.FieldBuilder(1).AppendNull()
		}
		l := b.Field(11).(*array.ListBuilder)
		l.Append(i%3 != 0)
		for k := range i % 3 {
			l.ValueBuilder().(*array.Int64Builder).Append(int64(x) + int64(k))
		}
	}
	return b.NewRecordBatch()
}

// partFile is a file with rows of partRows, or with some of the columns.
type partFile struct {
	fields []types.Field
	data   []byte
}

// partFiles are the same rows in pages of many forms.
func partFiles(t *testing.T, rec arrow.RecordBatch) map[string]partFile {
	out := map[string]partFile{}
	for _, codec := range []string{"zstd", "none", "snappy", "gzip", "lz4"} {
		for _, block := range []int64{0, 3 << 20} {
			data, _, err := formattest.Write(Format{}, partFields, format.WriteOptions{Compression: codec, BlockSize: block}, rec)
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprintf("ours %s %d", codec, block)] = partFile{partFields, data}
		}
	}
	plain := parquet.WithDictionaryDefault(false)
	out["v1"] = othersFile(t, rec, plain)
	out["v2"] = othersFile(t, rec, plain, parquet.WithDataPageVersion(parquet.DataPageV2))
	out["dictionaries"] = othersFile(t, rec)
	out["delta"] = othersFile(t, rec, plain, parquet.WithEncodingFor("even", parquet.Encodings.DeltaBinaryPacked),
		parquet.WithEncodingFor("early", parquet.Encodings.DeltaBinaryPacked), parquet.WithEncodingFor("long", parquet.Encodings.DeltaByteArray),
		parquet.WithEncodingFor("text", parquet.Encodings.DeltaLengthByteArray), parquet.WithEncodingFor("d", parquet.Encodings.ByteStreamSplit))
	return out
}

// othersFile is what the Arrow project's library writes of the first six columns.
func othersFile(t *testing.T, rec arrow.RecordBatch, o ...parquet.WriterProperty) partFile {
	t.Helper()
	var nodes schema.FieldList
	for i, f := range partFields[:6] {
		rep, phys, logical := parquet.Repetitions.Optional, parquet.Types.Int64, schema.LogicalType(schema.NoLogicalType{})
		if f.Type.NotNull {
			rep = parquet.Repetitions.Required
		}
		switch f.Type.Kind {
		case types.Double:
			phys = parquet.Types.Double
		case types.Varchar:
			phys, logical = parquet.Types.ByteArray, schema.StringLogicalType{}
		}
		nodes = append(nodes, must[*schema.PrimitiveNode](t)(schema.NewPrimitiveNodeLogical(f.Name, rep, logical, phys, -1, int32(i))))
	}
	root := must[*schema.GroupNode](t)(schema.NewGroupNode("schema", parquet.Repetitions.Required, nodes, -1))
	var b bytes.Buffer
	o = append(o, parquet.WithCompression(compress.Codecs.Zstd), parquet.WithPageIndexEnabled(true), parquet.WithDataPageSize(600<<10))
	w := file.NewParquetWriter(&b, root, file.WithWriterProps(parquet.NewWriterProperties(o...)))
	rg := must[file.SerialRowGroupWriter](t)(w.AppendRowGroupChecked())
	for i := range nodes {
		col := rec.Column(i)
		def := make([]int16, col.Len())
		var ints []int64
		var doubles []float64
		var texts []parquet.ByteArray
		for row := range col.Len() {
			if col.IsNull(row) {
				continue
			}
			def[row] = 1
			switch c := col.(type) {
			case *array.Int64:
				ints = append(ints, c.Value(row))
			case *array.Float64:
				doubles = append(doubles, c.Value(row))
			case *array.String:
				texts = append(texts, parquet.ByteArray(c.Value(row)))
			}
		}
		if partFields[i].Type.NotNull {
			def = nil
		}
		cw := must[file.ColumnChunkWriter](t)(rg.NextColumn())
		var err error
		switch x := cw.(type) {
		case *file.Int64ColumnChunkWriter:
			_, err = x.WriteBatch(ints, def, nil)
		case *file.Float64ColumnChunkWriter:
			_, err = x.WriteBatch(doubles, def, nil)
		case *file.ByteArrayColumnChunkWriter:
			_, err = x.WriteBatch(texts, def, nil)
		}
		if err == nil {
			err = cw.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return partFile{partFields[:6], b.Bytes()}
}

// columnsOf are the first columns of a batch.
func columnsOf(rec arrow.RecordBatch, fields []types.Field) arrow.RecordBatch {
	return array.NewRecordBatch(types.ArrowSchema(fields), rec.Columns()[:len(fields)], rec.NumRows())
}

// Whoever looks for single rows gets what a reader of all rows gets, though pages are unpacked only in part.
func TestSingleRows(t *testing.T) {
	rec := partRows(45_000)
	r := rand.New(rand.NewPCG(3, 4))
	eq := func(id int) predicate.Predicate {
		return &predicate.Leaf{Op: predicate.Eq, Column: "id", Type: partFields[0].Type, Values: []types.Datum{int64(id)}}
	}
	for name, x := range partFiles(t, rec) {
		want := formattest.Text(x.fields, columnsOf(rec, x.fields))
		sets := [][]int{{0}, {8999, 9000}, {19999}, {20000}, {44999}, {10, 8500, 17000, 19000}, {100, 39000}}
		for range 10 {
			sets = append(sets, []int{r.IntN(45_000)})
		}
		for _, ids := range sets {
			f := eq(ids[0])
			if len(ids) > 1 {
				or := &predicate.Or{}
				for _, id := range ids {
					or.Args = append(or.Args, eq(id))
				}
				f = or
			}
			for _, o := range []format.ReadOptions{{}, {LowMemory: true}, {BatchRows: 100_000}, {BatchRows: 1000}, {Sparse: true}} {
				o.Fields, o.Filter = x.fields, f
				got := map[string]bool{}
				pieces, err := formattest.Read(Format{}, formattest.Open(t, x.data), o)
				if err != nil {
					t.Fatalf("%s, %v: %v", name, ids, err)
				}
				for _, p := range pieces {
					for i, text := range formattest.Text(x.fields, p.Rec) {
						got[text] = true
						if row := p.Position + int64(i); !o.Sparse && text != want[row] {
							t.Fatalf("%s, %v: row %d\n got %s\nwant %s", name, ids, row, text, want[row])
						}
					}
				}
				for _, id := range ids {
					if !got[want[id]] {
						t.Fatalf("%s, %v: row %d is missing", name, ids, id)
					}
				}
			}
		}
	}
}

// Rows stay what they are when their reader is closed and its memory serves others.
func TestRowsOutliveTheirReader(t *testing.T) {
	rec := partRows(45_000)
	for name, x := range partFiles(t, rec) {
		want := formattest.Text(x.fields, columnsOf(rec, x.fields))
		for _, o := range []format.ReadOptions{
			{},
			{LowMemory: true},
			{Filter: &predicate.Leaf{Op: predicate.GtEq, Column: "id", Type: partFields[0].Type, Values: []types.Datum{int64(30_000)}}},
		} {
			o.Fields = x.fields
			r := must[format.Reader](t)(Format{}.NewReader(t.Context(), formattest.Open(t, x.data), o))
			b, err := r.Next(t.Context())
			at := r.Position()
			if err == nil {
				err = r.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			if pieces, err := formattest.Read(Format{}, formattest.Open(t, x.data), format.ReadOptions{Fields: x.fields}); err != nil || len(pieces) == 0 {
				t.Fatalf("%s: %d pieces, %v", name, len(pieces), err)
			}
			for i, got := range formattest.Text(x.fields, b.RecordBatch) {
				if got != want[at+int64(i)] {
					t.Fatalf("%s: row %d became %s", name, at+int64(i), got)
				}
			}
		}
	}
}

// A page that was changed anywhere is an error that says so, also if the row wanted stands before the change, as far as
// the page has a checksum; without one, no change may end in a panic.
func TestDamageBehindTheRow(t *testing.T) {
	rec := partRows(20_000)
	first := &predicate.Leaf{Op: predicate.Eq, Column: "id", Type: partFields[0].Type, Values: []types.Datum{int64(5)}}
	for name, x := range partFiles(t, rec) {
		read := func(data []byte) error {
			_, err := formattest.Read(Format{}, formattest.Open(t, data), format.ReadOptions{Fields: x.fields, Filter: first})
			return err
		}
		if err := read(x.data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := must[*fileMeta](t)(readFooter(t.Context(), formattest.Open(t, x.data)))
		r := rand.New(rand.NewPCG(5, 6))
		for _, c := range m.rowGroups[0].columns[:6] {
			h, n, err := parsePageHeader(x.data[c.dataOff:])
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for range 20 {
				bad := slices.Clone(x.data)
				bad[c.dataOff+int64(n)+r.Int64N(int64(h.compressed))] ^= byte(1 + r.IntN(255))
				err := read(bad)
				if err != nil && strings.Contains(err.Error(), "not foreseen") {
					t.Fatalf("%s: %v", name, err)
				}
				if h.hasCRC && (err == nil || !strings.Contains(err.Error(), "checksum")) {
					t.Fatalf("%s, column %s: changed page: %v", name, c.path, err)
				}
			}
		}
	}
}
