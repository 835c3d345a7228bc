package tarn_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
	"github.com/tarnlake/tarn/types"
)

// goldenPlan is what the changes of a snapshot were, or the rows that a stream begins with.
type goldenPlan struct {
	goldenRows
	next int64 // the snapshot after it
	full bool  // rows to begin with
}

// followGolden reads as a streaming read of Paimon does, until there is nothing more.
func followGolden(t *testing.T, cat *tarn.Catalog, r *golden.Read) (out []goldenPlan, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	tab, o, err := goldenScan(t, cat, r)
	if err != nil {
		return nil, err
	}
	scan := tab.Scan(o)
	add := func(p *tarn.Plan, full bool) error {
		rows, err := readPlan(t, p)
		if err == nil && len(rows.rows) > 0 {
			out = append(out, goldenPlan{goldenRows: rows, next: p.SnapshotID + 1, full: full})
		}
		return err
	}
	at, full := r.Restore-1, false
	if r.Restore == 0 {
		switch mode := r.Options["scan.mode"]; mode {
		case "from-snapshot", "from-snapshot-full":
			id, err := strconv.ParseInt(r.Options["scan.snapshot-id"], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if at, full = id-1, mode == "from-snapshot-full"; full {
				at = id
			}
		default:
			p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
			if err != nil {
				return nil, err
			}
			at, full = p.SnapshotID, true
		}
	}
	if full {
		p, err := scan.Start(t.Context(), at)
		if err != nil {
			return nil, err
		}
		if err := add(p, true); err != nil {
			return nil, err
		}
	}
	for p, err := range scan.Follow(t.Context(), at, 0) {
		if err != nil {
			return nil, err
		}
		if err := add(p, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// compareStream says how streams differ, "" if they do not.
func compareStream(r *golden.Read, got []goldenPlan, err error) string {
	switch {
	case r.Fails() && err == nil:
		return fmt.Sprintf("read %d plans; Paimon fails: %s", len(got), r.JavaError)
	case r.Fails():
		return ""
	case err != nil:
		return err.Error()
	case len(got) != len(r.Plans):
		return fmt.Sprintf("%d plans have rows, want %d: %v", len(got), len(r.Plans), r.Plans)
	}
	for i, want := range r.Plans {
		p := got[i]
		if p.next != want.Next {
			return fmt.Sprintf("plan %d: the next snapshot is %d, want %d", i, p.next, want.Next)
		}
		one := &golden.Read{}
		for _, l := range r.Want {
			if l.Plan == want.Plan {
				one.Want = append(one.Want, l)
			}
		}
		compare := compareChanges
		if p.full {
			compare = compareGolden
		}
		if problem := compare(one, p.goldenRows, nil); problem != "" {
			return fmt.Sprintf("plan %d (before snapshot %d): %s", i, want.Next, problem)
		}
		if r.SortedInPlan {
			continue
		}
		for k, w := range one.Want {
			if err := jsonrow.Equal(p.fields, p.rows[k], w.Row); err != nil || p.kinds[k].String() != w.Kind && !p.full {
				return fmt.Sprintf("plan %d: row %d is %s %s, want %s %s", i, k, p.kinds[k], p.rows[k], w.Kind, w.Row)
			}
		}
	}
	return ""
}

// compareChanges is compareGolden for changes, where +U is not +I.
func compareChanges(r *golden.Read, got goldenRows, err error) string {
	count := map[types.RowKind]int{}
	for _, k := range got.kinds {
		count[k]++
	}
	for _, w := range r.Want {
		for k := range count {
			if k.String() == w.Kind {
				count[k]--
			}
		}
	}
	for k, n := range count {
		if n != 0 {
			return fmt.Sprintf("%+d rows of kind %s", n, k)
		}
	}
	return compareGolden(r, got, err)
}
