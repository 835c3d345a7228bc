package tarn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
)

// Rows are sorted across files, in each partition by itself and in little memory; what others append meanwhile stays, and
// streams see nothing of it.
func TestCompactSorts(t *testing.T) {
	for _, how := range []string{"", "order", "zorder", "hilbert"} {
		tab, err := open(t).CreateTable(t.Context(), "d.t", tarn.TableDef{
			Fields: fields("p", "INT", "a", "INT", "s", "STRING", "pad", "STRING"), PartitionKeys: []string{"p"},
			Options: map[string]string{"write-only": "true", "write-buffer-size": "2mb", "target-file-size": "300kb", "file.compression": "none"},
		})
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		const rows = 120_000
		var want []string
		for range 3 {
			var lines []string
			for range rows / 3 {
				a, s := fmt.Sprint(rnd.IntN(1000)-500), fmt.Sprintf(`"%03d"`, rnd.IntN(1000))
				if rnd.IntN(20) == 0 {
					a = "null"
				}
				if rnd.IntN(20) == 0 {
					s = "null"
				}
				lines = append(lines, fmt.Sprintf(`{"p":%d,"a":%s,"s":%s,"pad":"%s"}`, rnd.IntN(2), a, s, fmt.Sprintf("%016x%016x%016x", rnd.Uint64(), rnd.Uint64(), rnd.Uint64())))
			}
			want = append(want, lines...)
			write(t, tab, lines)
		}
		added := `{"p":1,"a":7,"s":"late","pad":""}`
		var first sync.Once // partitions are compacted side by side
		mine := opened(t, tab.Path(), &tarn.OpenOptions{Events: &tarn.Events{Compacted: func(tarn.CompactEvent) {
			first.Do(func() { write(t, tab, []string{added}) })
		}}})
		o := tarn.CompactOptions{OrderBy: []string{"a"}, Order: how}
		if how == "zorder" || how == "hilbert" {
			o.OrderBy = []string{"a", "s"}
		}
		r, err := mine.Compact(t.Context(), o)
		if err != nil || r.SnapshotID != 5 {
			t.Fatal(r, err)
		}
		want = append(want, added)
		got := read(t, tab, tarn.ScanOptions{})
		slices.Sort(want)
		sorted := slices.Sorted(slices.Values(got))
		if !slices.Equal(sorted, want) {
			t.Errorf("%s: %d rows, want %d", how, len(got), len(want))
		}
		files, err := tab.FileNames(t.Context())
		if err != nil || len(files) < 12 {
			t.Fatalf("%s: %d files of %d rows, %v", how, len(files), len(got), err)
		}
		// Filters leave out most files: those on the first column if it alone orders the rows, on any column else.
		for filter, ordered := range map[string]bool{"a = 17": true, "s = '250'": how == "zorder" || how == "hilbert"} {
			all, err := tab.Fields()
			if err != nil {
				t.Fatal(err)
			}
			where, err := predicate.Parse(filter, all)
			if err != nil {
				t.Fatal(err)
			}
			p, err := tab.Scan(tarn.ScanOptions{Filter: where}).Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if few := p.Rows() < rows*2/3; few != ordered {
				t.Errorf("%q by %s: %d of %d rows are looked at", how, filter, p.Rows(), rows)
			}
		}
		if c, err := tab.Check(t.Context()); err != nil || len(c.Problems) > 0 {
			t.Errorf("%+v, %v", c, err)
		}
		for _, bad := range []tarn.CompactOptions{{Order: "order"}, {OrderBy: []string{"p"}}, {OrderBy: []string{"nope"}}, {OrderBy: []string{"a", "a"}}, {OrderBy: []string{"a"}, Order: "x"}} {
			if _, err := tab.Compact(t.Context(), bad); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	}
}

// All types that have an order can be sorted by, alone and on a curve, with NULL first.
func TestCompactSortsByAllTypes(t *testing.T) {
	cols := map[string][]string{ // values in their order
		"BOOLEAN": {`false`, `true`}, "TINYINT": {`-128`, `-1`, `0`, `127`}, "SMALLINT": {`-32768`, `-1`, `0`, `300`}, "INT": {`-2147483648`, `-1`, `0`, `5`, `70000`},
		"BIGINT": {`-9223372036854775808`, `-1`, `0`, `5`, `9223372036854775807`}, "FLOAT": {`-1e30`, `-1.5`, `0`, `1e-3`, `1e30`}, "DOUBLE": {`-1e300`, `-1.5`, `0`, `1e-3`, `1e300`},
		"DECIMAL(10, 2)": {`"-5.00"`, `"-0.01"`, `"0.00"`, `"7.25"`}, "DECIMAL(38, 2)": {`"-123456789012345678901234567890.00"`, `"-0.01"`, `"0.00"`, `"0.02"`, `"123456789012345678901234567890.00"`},
		"DATE": {`"1900-01-01"`, `"1969-12-31"`, `"2026-01-01"`}, "TIME(3)": {`"00:00:00.000"`, `"12:00:00.001"`}, "TIMESTAMP(3)": {`"1900-01-01 00:00:00.000"`, `"2026-01-01 00:00:00.001"`},
		"TIMESTAMP(9)": {`"1900-01-01 00:00:00.000000000"`, `"2026-01-01 00:00:00.001000000"`, `"2026-01-01 00:00:00.002000001"`}, "STRING": {`""`, `"a"`, `"ab"`, `"b"`, `"é"`},
		"CHAR(3)": {`"a"`, `"ab"`, `"b"`}, "BYTES": {`"00"`, `"0001"`, `"ff"`},
	}
	cat := open(t)
	for typ, values := range cols {
		for _, how := range []string{"order", "zorder"} {
			name := "d.t" + fmt.Sprintf("%x", typ+how)
			tab, err := cat.CreateTable(t.Context(), name, tarn.TableDef{Fields: fields("id", "INT", "v", typ, "same", "INT"), Options: map[string]string{"write-only": "true"}})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{`{"id":-1,"v":null,"same":3}`}
			for i, v := range values {
				want = append(want, fmt.Sprintf(`{"id":%d,"v":%s,"same":3}`, i, v))
			}
			lines := slices.Clone(want)
			rand.New(rand.NewPCG(3, 4)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			write(t, tab, lines[:2], lines[2:])
			if _, err := tab.Compact(t.Context(), tarn.CompactOptions{OrderBy: []string{"v", "same"}, Order: how}); err != nil {
				t.Fatal(err)
			}
			var ids []int32
			for b, err := range tab.Scan(tarn.ScanOptions{Columns: []string{"id"}}).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, b.Column(0).(*array.Int32).Int32Values()...)
			}
			if len(ids) != len(want) || !slices.IsSorted(ids) {
				t.Errorf("%s by %s: %v", typ, how, ids)
			}
		}
	}
}
