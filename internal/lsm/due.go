package lsm

import (
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

// Due tells of a bucket with these files how many sorted runs a reader merges, and which of the files a compaction would
// take now, of all of them if full: none if there is nothing to do. It reads no files.
func (t *Table) Due(files []*manifest.DataFile, all bool) (runs int, due []*manifest.DataFile, err error) {
	l, err := t.newLevels(t.c.Levels.NumLevels, files)
	if err != nil {
		return 0, nil, fmt.Errorf("lsm: %w", err)
	}
	s := l.state()
	unit, ok := t.pick(s, all)
	if !ok {
		return len(s.Runs), nil, nil
	}
	for _, r := range s.Runs[:unit.Count] {
		due = append(due, r.Files...)
	}
	return len(s.Runs), due, nil
}
