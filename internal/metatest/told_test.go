package metatest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// teller reads the changes of a table whose compactions make the changelog, from a snapshot on, as a stream does that keeps
// its place: it outlives whoever writes.
type teller struct {
	keys int   // so many of the first columns tell rows apart
	at   int64 // what is told of is of this snapshot
	rows map[string]string
	cols string // the columns that rows are shown with
}

// begin takes the rows of a snapshot that the changelog has told of.
func (r *teller) begin(ctx context.Context, tab *tarn.Table, at int64) error {
	r.at, r.rows = at, map[string]string{}
	p, err := tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Start(ctx, at)
	if err != nil {
		return err
	}
	r.cols = fmt.Sprint(p.Fields())
	return r.take(ctx, p)
}

// take applies rows, each to what is there.
func (r *teller) take(ctx context.Context, p *tarn.Plan) error {
	for b, err := range p.Batches(ctx) {
		if err != nil {
			return err
		}
		keys := textsOf(b, p.Fields()[:r.keys])
		for i, text := range textsOf(b, p.Fields()) {
			kind := types.Insert
			if b.Kinds != nil {
				kind = b.Kinds[i]
			}
			key := keys[i]
			was, had := r.rows[key]
			switch add := !kind.IsRetract(); {
			case add && had:
				return fmt.Errorf("snapshot %d: %s %s, and there is %s", p.SnapshotID, kind, text, was)
			case !add && was != text:
				return fmt.Errorf("snapshot %d: %s %s, but there is %q", p.SnapshotID, kind, text, was)
			case add:
				r.rows[key] = text
			default:
				delete(r.rows, key)
			}
		}
	}
	return nil
}

// follow reads what changed since, snapshot by snapshot, and compares it with what the table has told of then. Nothing is told
// of an overwrite: the reader begins anew behind it, as one does who reads other columns.
func (r *teller) follow(ctx context.Context, tab *tarn.Table) error {
	last, err := tab.LatestSnapshot(ctx)
	if err != nil || last == nil {
		return err
	}
	if p, err := tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Start(ctx, last.ID); err != nil || fmt.Sprint(p.Fields()) != r.cols || r.at == 0 {
		return r.begin(ctx, tab, last.ID)
	}
	overwrite, err := tab.SnapshotAt(ctx, r.at)
	if err != nil || overwrite.CommitKind != "OVERWRITE" {
		overwrite = nil // or it has expired
	}
	for r.at < last.ID {
		s, err := tab.SnapshotAt(ctx, r.at+1)
		if err != nil {
			return err
		}
		if s.CommitKind == "OVERWRITE" {
			overwrite = s
		}
		// Nor of the compaction that is made with it.
		if overwrite != nil && s.CommitUser == overwrite.CommitUser && s.CommitIdentifier == overwrite.CommitIdentifier {
			if err := r.begin(ctx, tab, r.at+1); err != nil {
				return err
			}
			continue
		}
		r.at++
		p, err := tab.Scan(tarn.ScanOptions{WideTimestamps: true}).Changes(ctx, r.at)
		if err != nil {
			return err
		}
		if err := r.take(ctx, p); err != nil {
			return err
		}
		fresh := teller{keys: r.keys}
		if err := fresh.begin(ctx, tab, r.at); err != nil {
			return err
		}
		if d := cmp.Diff(slices.Sorted(maps.Values(r.rows)), slices.Sorted(maps.Values(fresh.rows))); d != "" {
			return fmt.Errorf("changes of snapshot %d lead to (-), it has told of (+):\n%s", r.at, d)
		}
	}
	return nil
}
