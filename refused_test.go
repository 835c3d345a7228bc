package tarn_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// Options that name different states of the past exclude each other as in Paimon 1.4.2, whose answers these are: the
// number of rows, or ErrInvalid.
func TestScanOptionsExclude(t *testing.T) {
	tab := keyed(t, "INT")
	for i := range 2 {
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), rows(t, tab, fmt.Sprintf(`{"id":%d}`, i))); err != nil {
			t.Fatal(err)
		}
		p, err := w.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mark := int64(10 * (i + 1))
		if _, err := tab.Commit(t.Context(), tarn.CommitID{User: "u", Number: int64(i), Watermark: &mark}, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tab.CreateTag(t.Context(), "x", 1); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"snapshot-id": "1", "tag-name": "x", "version": "1", "timestamp-millis": "4102444800000", "timestamp": "2100-01-01 00:00:00", "watermark": "10"}
	keys := []string{"snapshot-id", "tag-name", "version", "timestamp-millis", "timestamp", "watermark"}
	// A letter for each pair of keys (and each key alone): n is the newest state, o the old one, x refused.
	java := map[string]string{
		"default":            "oxoxxx oxxxx oxxx nxn nn o",
		"latest-full":        "xxxxxx xxxxx xxxx xxx xx n",
		"latest":             "xxxxxx xxxxx xxxx xxx xx n",
		"full":               "xxxxxx xxxxx xxxx xxx xx n",
		"from-snapshot":      "oxoxxx oxxxx oxxx xxx xx o",
		"from-snapshot-full": "oxoxxx xxxxx oxxx xxx xx x",
		"from-timestamp":     "xxxxxx xxxxx xxxx nxn nn x",
	}
	for mode, want := range java {
		for i, row := range strings.Fields(want) {
			for k, c := range row {
				o := map[string]string{"scan.mode": mode, "scan." + keys[i]: values[keys[i]], "scan." + keys[i+k]: values[keys[i+k]]}
				var got []string
				x, err := tab.With(t.Context(), o)
				if err == nil {
					for b, berr := range x.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
						if err = berr; err != nil {
							break
						}
						got = slices.Grow(got, int(b.NumRows()))[:len(got)+int(b.NumRows())]
					}
				}
				switch {
				case c == 'x' && !errors.Is(err, tarn.ErrInvalid):
					t.Errorf("%v: %d rows, %v; want it refused", o, len(got), err)
				case c == 'o' && (err != nil || len(got) != 1), c == 'n' && (err != nil || len(got) != 2):
					t.Errorf("%v: %d rows, %v", o, len(got), err)
				}
			}
		}
	}
	for _, mode := range []string{"from-snapshot", "from-snapshot-full", "from-timestamp"} {
		x, err := tab.With(t.Context(), map[string]string{"scan.mode": mode})
		if err == nil {
			_, err = x.Scan(tarn.ScanOptions{}).Plan(t.Context())
		}
		if !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("%s alone: %v", mode, err)
		}
	}
	if _, err := tab.Scan(tarn.ScanOptions{Limit: -1}).Plan(t.Context()); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("negative limit: %v", err)
	}
}

// Rows that a table cannot take are refused by Write, as ErrInvalid, wherever in a batch they are.
func TestWriteRefuses(t *testing.T) {
	dec := types.MustParse("DECIMAL(5,2)")
	f := []types.Field{
		{Name: "id", Type: types.MustParse("INT")}, {Name: "d", Type: dec}, {Name: "l", Type: types.ArrayType(dec)}, {Name: "w", Type: types.MustParse("DECIMAL(38,0)")},
	}
	tab, err := open(t).CreateTable(t.Context(), "d.t", tarn.TableDef{Fields: f})
	if err != nil {
		t.Fatal(err)
	}
	write := func(tab *tarn.Table, b tarn.Batch) error {
		w, err := tab.NewWriter(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		return w.Write(t.Context(), b)
	}
	batch := func(col int, v int64) arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(f))
		for i := range 3 {
			b.Field(0).(*array.Int32Builder).Append(int32(i))
			d, list, wide := decimal128.FromI64(-99999), decimal128.FromI64(99999), decimal128.FromI64(1)
			if i == 1 && col == 1 {
				d = decimal128.FromI64(v)
			}
			if i == 1 && col == 2 {
				list = decimal128.FromI64(v)
			}
			if i == 1 && col == 3 {
				wide = decimal128.New(math.MaxInt64, math.MaxUint64)
			}
			b.Field(1).(*array.Decimal128Builder).Append(d)
			l := b.Field(2).(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.Decimal128Builder).Append(list)
			b.Field(3).(*array.Decimal128Builder).Append(wide)
		}
		return b.NewRecordBatch()
	}
	if err := write(tab, tarn.Batch{RecordBatch: batch(0, 0)}); err != nil {
		t.Fatal(err)
	}
	for col, v := range map[int]int64{1: 100000, 2: -100000, 3: 0} {
		if err := write(tab, tarn.Batch{RecordBatch: batch(col, v)}); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "row 1: ") || !strings.Contains(err.Error(), "digits") {
			t.Errorf("column %d: %v", col, err)
		}
	}
	for _, k := range []types.RowKind{types.UpdateBefore, types.Delete} {
		kinds := []types.RowKind{types.Insert, types.UpdateAfter, k}
		if err := write(tab, tarn.Batch{RecordBatch: batch(0, 0), Kinds: kinds}); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "row 2: it is of kind "+k.String()) {
			t.Errorf("%s: %v", k, err)
		}
		lax, err := tab.With(t.Context(), map[string]string{"ignore-delete": "true"})
		if err != nil {
			t.Fatal(err)
		}
		if err := write(lax, tarn.Batch{RecordBatch: batch(0, 0), Kinds: kinds}); err != nil {
			t.Errorf("%s ignored: %v", k, err)
		}
	}
}

// The primary key of a table without snapshots can be dropped.
func TestDropPrimaryKey(t *testing.T) {
	tab := keyed(t, "INT")
	if err := tab.Alter(t.Context(), tarn.DropPrimaryKey{}, tarn.SetOption{Key: "bucket-key", Value: "id"}); err != nil {
		t.Fatal(err)
	}
	now, err := tab.Refresh(t.Context())
	if err != nil || now.HasPrimaryKey() {
		t.Fatal(now, err)
	}
	other := keyed(t, "INT")
	write(t, other, []string{`{"id":1}`})
	if err := other.Alter(t.Context(), tarn.DropPrimaryKey{}); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("with snapshots: %v", err)
	}
}

// A dry run of an expiry tells what it would do, and does nothing.
func TestExpireDryRun(t *testing.T) {
	tab := keyed(t, "INT")
	for i := range 4 {
		write(t, tab, []string{fmt.Sprintf(`{"id":%d}`, i)})
	}
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	o := tarn.ExpireOptions{RetainMin: 1, RetainMax: 1, DryRun: true}
	dry, err := tab.ExpireSnapshots(t.Context(), o)
	if err != nil || dry.Snapshots != 4 {
		t.Fatalf("%+v, %v", dry, err)
	}
	if ids, err := tab.Snapshots(t.Context()); err != nil || len(ids) != 5 {
		t.Fatal(ids, err)
	}
	o.DryRun = false
	if e, err := tab.ExpireSnapshots(t.Context(), o); err != nil || e != dry {
		t.Errorf("%+v, %v; the dry run said %+v", e, err, dry)
	}
}
