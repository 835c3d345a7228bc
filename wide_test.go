package tarn_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// far are points in time that 64 bits of nanoseconds do not reach, and near ones that they do.
var (
	far  = []string{"0001-01-01T00:00:00.000000001", "1582-10-04T23:59:59.987654321", "1677-09-21T00:12:43.145224191", "2262-04-11T23:47:16.854775808", "9999-12-31T23:59:59.999999999"}
	near = []string{"1677-09-21T00:12:43.145224192", "1969-12-31T23:59:59.999999999", "2024-02-29T12:34:56.123456789", "2262-04-11T23:47:16.854775807"}
)

// Nanoseconds of all years are keys, partitions, sequences, bounds of filters and parts of others.
func TestNanosecondsOfAllYears(t *testing.T) {
	all := slices.Sorted(slices.Values(append(slices.Clone(far), near...)))
	for name, def := range map[string]tarn.TableDef{
		"key":       {PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "2"}},
		"partition": {PrimaryKeys: []string{"k", "p"}, PartitionKeys: []string{"p"}, Options: map[string]string{"bucket": "1"}},
		"sequence":  {PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1", "sequence.field": "k"}},
		"append":    {Options: map[string]string{"bucket": "1", "bucket-key": "k"}},
	} {
		t.Run(name, func(t *testing.T) {
			def.Fields = fields("k", "TIMESTAMP(9)", "p", "TIMESTAMP_LTZ(9)", "id", "INT", "n", "ROW<a ARRAY<TIMESTAMP(9)>, m MAP<TIMESTAMP_LTZ(8), TIMESTAMP(9)>>")
			for i, f := range def.Fields {
				def.Fields[i].Type.NotNull = slices.Contains(def.PrimaryKeys, f.Name)
			}
			tab, err := open(t).CreateTable(t.Context(), "d.t", def)
			if err != nil {
				t.Fatal(err)
			}
			row := func(at string) string {
				id := "1"
				if name != "sequence" {
					id = string(rune('0' + slices.Index(all, at)))
				}
				short := at[:len(at)-1] + "0"
				return `{"k":"` + at + `","p":"` + at + `Z","id":` + id + `,"n":{"a":["` + at + `",null],"m":[["` + short + `Z","` + at + `"]]}}`
			}
			want := func(of []string) []string {
				var out []string
				for _, at := range of {
					out = append(out, row(at))
				}
				return out
			}
			same := func(when string, o tarn.ScanOptions, of []string) {
				t.Helper()
				if name == "sequence" { // all rows are versions of one
					of = slices.DeleteFunc(slices.Clone(of), func(at string) bool { return at != all[len(all)-1] })
				}
				if got := read(t, tab, o); !slices.Equal(got, want(of)) {
					t.Errorf("%s:\n got %s\nwant %s", when, strings.Join(got, "\n     "), strings.Join(want(of), "\n     "))
				}
			}
			write(t, tab, want(near), want(far[3:]), want(far[:3]))
			same("written", tarn.ScanOptions{}, all)
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
				t.Fatal(err)
			}
			if tab, err = tab.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			same("compacted", tarn.ScanOptions{}, all)
			for i, at := range all {
				for _, col := range []string{"k", "p"} {
					same("equal to "+at, tarn.ScanOptions{Filter: predicate.Equal(col, at)}, all[i:i+1])
					same("from "+at, tarn.ScanOptions{Filter: predicate.AtLeast(col, at)}, all[i:])
					same("before "+at, tarn.ScanOptions{Filter: predicate.Less(col, at)}, all[:i])
				}
			}
			if err := tab.Alter(t.Context(), tarn.UpdateType{Path: []string{"n", "a", "element"}, Type: types.StringType}); err != nil {
				t.Fatal(err)
			}
			if tab, err = tab.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, l := range read(t, tab, tarn.ScanOptions{}) {
				if at := l[6:35]; !strings.Contains(l, `"a":["`+strings.Replace(at, "T", " ", 1)+`",null]`) {
					t.Errorf("changed to STRING: %s", l)
				}
			}
		})
	}
}

// Without WideTimestamps rows have Arrow's timestamps, and one that these cannot hold ends the read.
func TestNanosecondsInArrow(t *testing.T) {
	for _, typ := range []string{"TIMESTAMP(9)", "ARRAY<TIMESTAMP(9)>", "ROW<a TIMESTAMP_LTZ(7)>", "MAP<TIMESTAMP(9), INT>", "MAP<INT, ARRAY<TIMESTAMP(8)>>"} {
		form := map[string]string{
			"TIMESTAMP(9)": `"%"`, "ARRAY<TIMESTAMP(9)>": `[null,"%"]`, "ROW<a TIMESTAMP_LTZ(7)>": `{"a":"%Z"}`, "MAP<TIMESTAMP(9), INT>": `[["%",1]]`, "MAP<INT, ARRAY<TIMESTAMP(8)>>": `[[1,["%"]]]`,
		}[typ]
		tab := keyed(t, typ)
		write(t, tab, []string{`{"id":1,"v":` + strings.Replace(form, "%", "2024-02-29T12:34:56.123456700", 1) + `}`, `{"id":2,"v":null}`})
		n := 0
		for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n += int(b.NumRows())
			if want := types.ArrowSchema(fields("id", "INT", "v", typ)).Field(1).Type; !arrow.TypeEqual(b.Schema().Field(1).Type, want) || !arrow.TypeEqual(b.Column(1).DataType(), want) {
				t.Errorf("%s: column is %s, want %s", typ, b.Column(1).DataType(), want)
			}
			if !strings.Contains(b.Column(1).String(), "1709210096123456700") || b.Column(1).NullN() != 1 {
				t.Errorf("%s: %v", typ, b.Column(1))
			}
		}
		if n != 2 {
			t.Errorf("%s: %d rows", typ, n)
		}
		write(t, tab, []string{`{"id":3,"v":` + strings.Replace(form, "%", "1582-10-04T00:00:00.000000000", 1) + `}`})
		p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []func() error{
			func() (failed error) {
				for _, err := range p.Batches(t.Context()) {
					failed = err
				}
				return failed
			},
			func() (failed error) {
				for part := range p.Parts() {
					r := p.OpenPart(t.Context(), part, []string{"v"})
					for err := error(nil); err == nil; {
						if _, err = r.Next(t.Context()); err != nil && !errors.Is(err, io.EOF) {
							failed = err
						}
					}
					r.Close()
				}
				return failed
			},
		} {
			err := r()
			for _, part := range []string{"d.t", "column v", "row ", "1582-10-04 00:00:00", "1677 to 2262", "WideTimestamps"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v, want %q in it", typ, err, part)
				}
			}
		}
		if got := read(t, tab, tarn.ScanOptions{}); len(got) != 3 {
			t.Errorf("%s: %v", typ, got)
		}
	}
}
