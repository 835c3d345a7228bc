package lsm

import (
	"context"
	"fmt"
	"time"

	"github.com/tarnlake/tarn/internal/manifest"
)

// state is what a compaction is picked from.
func (l *levels) state() State {
	s := State{Runs: l.runs(), Levels: l.count()}
	if clock := l.t.c.ClockMillis; clock != nil {
		s.Now = clock()
		s.Hour = time.UnixMilli(s.Now).Hour()
	}
	// The files themselves tell when the highest level was last written: writers come and go (BUGS B079).
	for _, x := range l.high[len(l.high)-1] {
		s.LastFull = max(s.LastFull, x.file.CreationMillis)
	}
	return s
}

// pick chooses what to compact: what is due, or all.
func (t *Table) pick(s State, all bool) (Unit, bool) {
	if !all {
		return NewUniversal(t.c.Levels).Pick(s)
	}
	unit, ok := PickFull(s)
	if !ok && t.c.RewriteAll {
		return full(s, "compaction.force-rewrite-all-files")
	}
	return unit, ok
}

// choose gives the files to compact, none if there is nothing to do. Where all is in the highest level they are those that hold
// rows that have expired, to be rewritten apart from each other.
func (t *Table) choose(ctx context.Context, s State, all bool) (unit Unit, files []*manifest.DataFile, apart bool, err error) {
	unit, ok := t.pick(s, all)
	if ok {
		for _, r := range s.Runs[:unit.Count] {
			files = append(files, r.Files...)
		}
		return unit, files, false, nil
	}
	if all && len(s.Runs) == 1 && s.Runs[0].Level == s.Levels-1 {
		files, err = t.expiring(ctx, s.Runs[0].Files)
		return Unit{Count: 1, Level: s.Levels - 1, Reason: "rows have expired"}, files, true, err
	}
	return unit, nil, false, nil
}

// Due tells of a bucket with these files how many sorted runs a reader merges, and which of the files a compaction would
// take now, of all of them if full: none if there is nothing to do. It reads no data files.
func (t *Table) Due(ctx context.Context, files []*manifest.DataFile, all bool) (runs int, due []*manifest.DataFile, err error) {
	l, err := t.newLevels(t.c.Levels.NumLevels, files)
	if err != nil {
		return 0, nil, fmt.Errorf("lsm: %w", err)
	}
	s := l.state()
	_, due, _, err = t.choose(ctx, s, all)
	return len(s.Runs), due, err
}
