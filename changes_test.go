package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// told gives the rows of a plan with their kinds, in their order.
func told(t testing.TB, p *tarn.Plan, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	e := jsonrow.NewEncoder(p.Fields())
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			kind := types.Insert
			if b.Kinds != nil {
				kind = b.Kinds[i]
			}
			out = append(out, kind.String()+string(e.Append(nil, b.RecordBatch, i)))
		}
	}
	return out
}

// followed gives the changes of all snapshots, each with the number of the snapshot.
func followed(t testing.TB, tab *tarn.Table, o tarn.ScanOptions, after int64) []string {
	t.Helper()
	var out []string
	for p, err := range tab.Scan(o).Follow(t.Context(), after, 0) {
		for _, l := range told(t, p, err) {
			out = append(out, fmt.Sprintf("%d%s", p.SnapshotID, l))
		}
	}
	return out
}

// The changes of a table without a changelog are what was written to it.
func TestChangesAsWritten(t *testing.T) {
	ctx := t.Context()
	tab := declare(t, open(t), "d.t", "k INT, v STRING", "k", opts{"bucket": "1"})
	write(t, tab, []string{`{"k":2,"v":"b"}`, `{"k":1,"v":"a"}`, `{"k":2,"v":"B"}`},
		[]string{`{"_kind":"-U","k":1,"v":"a"}`, `{"_kind":"+U","k":1,"v":"A"}`, `{"_kind":"-D","k":2,"v":"B"}`, `{"k":3,"v":"c"}`})
	if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	all := []string{`1+I{"k":1,"v":"a"}`, `1+I{"k":2,"v":"B"}`, `2+U{"k":1,"v":"A"}`, `2-D{"k":2,"v":"B"}`, `2+I{"k":3,"v":"c"}`}
	if got := followed(t, tab, tarn.ScanOptions{}, 0); !slices.Equal(got, all) {
		t.Errorf("all: %q", got)
	}
	if got := followed(t, tab, tarn.ScanOptions{}, 1); !slices.Equal(got, all[2:]) {
		t.Errorf("after the first: %q", got)
	}
	p, err := tab.Scan(tarn.ScanOptions{}).Changes(ctx, 3)
	if got := told(t, p, err); len(got) > 0 || p.SnapshotID != 3 {
		t.Errorf("the compaction changed %q", got)
	}
	o := tarn.ScanOptions{Columns: []string{"v"}, Filter: &predicate.Leaf{Op: predicate.NotEq, Column: "k", Values: []types.Datum{int32(1)}}}
	if got, want := followed(t, tab, o, 0), []string{`1+I{"v":"B"}`, `2-D{"v":"B"}`, `2+I{"v":"c"}`}; !slices.Equal(got, want) {
		t.Errorf("with a filter: %q", got)
	}
	alter(t, tab, add("n", "INT"))
	if tab, err = tab.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	p, err = tab.Scan(tarn.ScanOptions{}).Changes(ctx, 1)
	if got, want := told(t, p, err), []string{`+I{"k":1,"v":"a","n":null}`, `+I{"k":2,"v":"B","n":null}`}; !slices.Equal(got, want) {
		t.Errorf("with a column that came later: %q", got)
	}
	p, err = tab.Scan(tarn.ScanOptions{}).Start(ctx, 2)
	if got, want := told(t, p, err), []string{`+I{"k":1,"v":"A","n":null}`, `+I{"k":3,"v":"c","n":null}`}; !slices.Equal(got, want) {
		t.Errorf("start: %q", got)
	}
}

// Overwrites are passed over, unless an option asks for them: then they are deletes, if there is a key, and inserts.
func TestChangesOfOverwrites(t *testing.T) {
	for key, want := range map[string][]string{
		"k": {`2-D{"k":1,"p":1}`, `2-D{"k":2,"p":1}`, `2+I{"k":2,"p":1}`, `2+I{"k":4,"p":1}`},
		"":  {`2+I{"k":4,"p":1}`, `2+I{"k":2,"p":1}`},
	} {
		pk, o := "", opts{}
		if key != "" {
			pk, o = "k,p", opts{"bucket": "1"}
		}
		tab := declare(t, open(t), "d.t", "k INT, p INT", pk, o, "p")
		write(t, tab, []string{`{"k":1,"p":1}`, `{"k":2,"p":1}`, `{"k":3,"p":2}`})
		if _, err := tab.Overwrite(t.Context(), tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) {
			yield(rows(t, tab, `{"k":4,"p":1}`, `{"k":2,"p":1}`), nil)
		}); err != nil {
			t.Fatal(err)
		}
		first := []string{`1+I{"k":1,"p":1}`, `1+I{"k":2,"p":1}`, `1+I{"k":3,"p":2}`}
		if got := followed(t, tab, tarn.ScanOptions{}, 0); !slices.Equal(got, first) {
			t.Errorf("key %q: %q", key, got)
		}
		asked, err := tab.With(t.Context(), map[string]string{"streaming-read-overwrite": fmt.Sprint(key != ""), "streaming-read-append-overwrite": fmt.Sprint(key == "")})
		if err != nil {
			t.Fatal(err)
		}
		if got := followed(t, asked, tarn.ScanOptions{}, 0); !slices.Equal(got, append(first, want...)) {
			t.Errorf("key %q, overwrites told of: %q", key, got)
		}
	}
}

// Whoever asks for changes that have expired learns which there are; options that would change what is told are refused.
func TestChangesThatAreNotThere(t *testing.T) {
	ctx := t.Context()
	tab := declare(t, open(t), "d.t", "k INT", "k", opts{"bucket": "1", "changelog.num-retained.min": "1", "changelog.num-retained.max": "4", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"})
	for i := range 6 {
		put(t, tab, []string{fmt.Sprintf("[%d]", i)})
	}
	if _, err := tab.ExpireSnapshots(ctx, tarn.ExpireOptions{RetainMin: 1, RetainMax: 2}); err != nil {
		t.Fatal(err)
	}
	if got, want := followed(t, tab, tarn.ScanOptions{}, 2), []string{`3+I{"k":2}`, `4+I{"k":3}`, `5+I{"k":4}`, `6+I{"k":5}`}; !slices.Equal(got, want) {
		t.Errorf("changes 3 to 6, of which snapshots 3 and 4 have expired: %q", got)
	}
	for id, want := range map[int64]string{2: "has expired: the changes of snapshots 3 to 6 are there", 7: "3 to 6 are there"} {
		if _, err := tab.Scan(tarn.ScanOptions{}).Changes(ctx, id); !errors.Is(err, tarn.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("changes of %d: %v", id, err)
		}
	}
	if _, err := tab.Scan(tarn.ScanOptions{}).Start(ctx, 4); !errors.Is(err, tarn.ErrNotExist) {
		t.Errorf("start at 4: %v", err)
	}
	for k, want := range map[string]error{"consumer-id=c": tarn.ErrUnsupported, "incremental-between=5,6": tarn.ErrInvalid} {
		name, v, _ := strings.Cut(k, "=")
		x, err := tab.With(ctx, map[string]string{name: v})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []func(*tarn.Scan, context.Context, int64) (*tarn.Plan, error){(*tarn.Scan).Changes, (*tarn.Scan).Start} {
			if _, err := f(x.Scan(tarn.ScanOptions{}), ctx, 6); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", k, err)
			}
		}
	}
}

// A stream ends before the first snapshot behind scan.bounded.watermark; scan.mode=compacted-full is the state of the newest
// compaction, or full compaction where these come at fixed commits.
func TestBoundedStreams(t *testing.T) {
	ctx := t.Context()
	tab := declare(t, open(t), "d.t", "k INT", "k", opts{"bucket": "1", "write-only": "true"})
	for i, mark := range []int64{5, 7, 7, 9} {
		w, err := tab.NewWriter(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, rows(t, tab, fmt.Sprintf(`{"k":%d}`, i))); err != nil {
			t.Fatal(err)
		}
		p, err := w.Prepare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tab.Commit(ctx, tarn.CommitID{User: "u", Number: int64(i), Watermark: &mark}, p); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if i == 1 {
			if _, err := tab.Compact(ctx, tarn.CompactOptions{Full: true}); err != nil { // snapshot 3
				t.Fatal(err)
			}
		}
	}
	for bound, want := range map[string][]string{
		"4": nil, "6": {`1+I{"k":0}`}, "7": {`1+I{"k":0}`, `2+I{"k":1}`, `4+I{"k":2}`}, "9": {`1+I{"k":0}`, `2+I{"k":1}`, `4+I{"k":2}`, `5+I{"k":3}`},
	} {
		x, err := tab.With(ctx, map[string]string{"scan.bounded.watermark": bound})
		if err != nil {
			t.Fatal(err)
		}
		if got := followed(t, x, tarn.ScanOptions{}, 0); !slices.Equal(got, want) {
			t.Errorf("to watermark %s: %q, want %q", bound, got, want)
		}
		if got := followed(t, x, tarn.ScanOptions{}, 5); bound == "9" && len(got) > 0 {
			t.Errorf("after the end: %q", got)
		}
	}
	for _, c := range []struct {
		o    map[string]string
		want int64
	}{
		{map[string]string{"scan.mode": "compacted-full"}, 3},
		{map[string]string{"scan.mode": "compacted-full", "full-compaction.delta-commits": "1"}, 3},
		{map[string]string{"scan.mode": "compacted-full", "full-compaction.delta-commits": "1000"}, 3}, // as every compaction of everything
	} {
		x, err := tab.With(ctx, c.o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := x.Scan(tarn.ScanOptions{}).Plan(ctx)
		if err != nil || p.SnapshotID != c.want {
			t.Errorf("%v: snapshot %v, %v, want %d", c.o, p, err, c.want)
		}
	}
	x, err := tab.With(ctx, map[string]string{"scan.mode": "compacted-full", "scan.snapshot-id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Scan(tarn.ScanOptions{}).Plan(ctx); !errors.Is(err, tarn.ErrInvalid) {
		t.Errorf("two states: %v", err)
	}
	none := declare(t, open(t), "d.n", "k INT", "k", opts{"bucket": "1", "scan.mode": "compacted-full"})
	if got := read(t, none, tarn.ScanOptions{}); len(got) != 0 {
		t.Errorf("of no snapshot: %q", got)
	}
}
