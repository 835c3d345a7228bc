package parquet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
	"github.com/tarnlake/tarn/types"
)

// rowsOf makes n rows of a number, a text of few values and a list of texts.
func rowsOf(n, textLength int) ([]types.Field, arrow.RecordBatch) {
	fields := []types.Field{
		{ID: 0, Name: "n", Type: types.MustParse("INT")}, {ID: 1, Name: "s", Type: types.MustParse("STRING")}, {ID: 2, Name: "l", Type: types.MustParse("ARRAY<STRING>")},
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(fields))
	list := b.Field(2).(*array.ListBuilder)
	for i := range n {
		b.Field(0).(*array.Int32Builder).Append(int32(i % 7))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint(i % 5))
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).Append(strings.Repeat(string(rune('a'+i%26)), textLength))
	}
	return fields, b.NewRecordBatch()
}

// The options of the reference's writer decide about pages, row groups, dictionaries and compression.
func TestOptionsOfTheFormat(t *testing.T) {
	type found struct {
		groups, rows, bytes, pages int // row groups, and most of the pages of a column
		codec                      string
		plain                      []string // columns without a dictionary
	}
	fields, rec := rowsOf(3000, 10)
	for _, x := range []struct {
		options format.WriteOptions
		want    func(f found) bool
	}{
		{format.WriteOptions{}, func(f found) bool { return f.groups == 1 && f.pages == 1 && f.codec == "ZSTD" && f.plain == nil }},
		{format.WriteOptions{Options: map[string]string{"parquet.page.row.count.limit": " 100 "}}, func(f found) bool { return f.rows <= 100 && f.pages == 30 }},
		{format.WriteOptions{Options: map[string]string{"parquet.page.size": "500"}}, func(f found) bool { return f.bytes < 2000 && f.pages > 3 }},
		{format.WriteOptions{Options: map[string]string{"parquet.page.size": "500", "parquet.enable.dictionary": "FALSE"}}, func(f found) bool {
			return f.bytes < 2000 && f.pages > 20 && slices.Equal(f.plain, []string{"n", "s", "l.list.element"})
		}},
		{format.WriteOptions{Options: map[string]string{"parquet.enable.dictionary": "false", "parquet.enable.dictionary#s": "true"}}, func(f found) bool {
			return slices.Equal(f.plain, []string{"n", "l.list.element"})
		}},
		{format.WriteOptions{Options: map[string]string{"parquet.enable.dictionary#l.list.element": "false"}}, func(f found) bool {
			return slices.Equal(f.plain, []string{"l.list.element"})
		}},
		{format.WriteOptions{Options: map[string]string{"parquet.block.size": "1000"}}, func(f found) bool { return f.groups == 3 }},
		{format.WriteOptions{Options: map[string]string{"parquet.block.size": "1000"}, BlockSize: 1 << 20}, func(f found) bool { return f.groups == 1 }},
		{format.WriteOptions{Options: map[string]string{"parquet.compression": "GZIP"}, Compression: "lz4"}, func(f found) bool { return f.codec == "GZIP" }},
	} {
		data, _, err := formattest.Write(Format{}, fields, x.options, rec.NewSlice(0, 1000), rec.NewSlice(1000, 2000), rec.NewSlice(2000, 3000))
		if err != nil {
			t.Fatalf("%+v: %v", x.options, err)
		}
		file := formattest.Open(t, data)
		d := must[*Description](t)(Describe(t.Context(), file))
		f := found{groups: len(d.RowGroups)}
		for _, g := range d.RowGroups {
			for _, c := range g.Chunks {
				f.codec = c.Codec
				if !slices.Contains(c.Encodings, "PLAIN_DICTIONARY") && !slices.Contains(f.plain, c.Column) {
					f.plain = append(f.plain, c.Column)
				}
				data := 0
				for _, p := range c.Pages {
					if !strings.Contains(strings.ToLower(p.Kind), "dict") {
						data++
						f.rows, f.bytes = max(f.rows, int(p.Values)), max(f.bytes, int(p.Bytes))
					}
				}
				f.pages = max(f.pages, data)
			}
		}
		if !x.want(f) {
			t.Errorf("%+v gives %+v", x.options, f)
		}
		pieces := must[[]formattest.Piece](t)(formattest.Read(Format{}, file, format.ReadOptions{Fields: fields}))
		n := int64(0)
		for _, p := range pieces {
			n += p.Rec.NumRows()
		}
		if n != 3000 {
			t.Errorf("%+v: %d rows are read", x.options, n)
		}
	}
	for key, text := range map[string]string{
		"parquet.page.size": "1 kb", "parquet.block.size": "0", "parquet.page.row.count.limit": "-1", "parquet.enable.dictionary#s": "maybe", "parquet.compression": "7z",
	} {
		_, _, err := formattest.Write(Format{}, fields, format.WriteOptions{Options: map[string]string{key: text}}, rec)
		if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s=%s: %v", key, text, err)
		}
	}
}

// Pages of large nested values stay near the size of a page: they are never too large to be read.
func TestPagesOfLargeNestedValues(t *testing.T) {
	fields, rec := rowsOf(300, 50_000)
	data, _, err := formattest.Write(Format{}, fields, format.WriteOptions{Compression: "none", Options: map[string]string{"parquet.enable.dictionary": "false"}}, rec)
	if err != nil {
		t.Fatal(err)
	}
	d := must[*Description](t)(Describe(t.Context(), formattest.Open(t, data)))
	for _, c := range d.RowGroups[0].Chunks {
		for _, p := range c.Pages {
			if p.Bytes > 3*defaultPageBytes {
				t.Errorf("column %s: a page of %d bytes", c.Column, p.Bytes)
			}
		}
	}
}
