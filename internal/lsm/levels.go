package lsm

import (
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/manifest"
)

// levels is the files of a bucket. It is used by the writer's goroutine only.
type levels struct {
	zero []*manifest.DataFile // level 0, the newest first
	high [][]span             // high[i] is level i+1, in key order
	t    *Table
}

// newLevels arranges the files of a bucket. There are at least n levels.
func (t *Table) newLevels(n int, files []*manifest.DataFile) (*levels, error) {
	for _, f := range files {
		if f.Level < 0 || f.Level > manifest.MaxLevel {
			return nil, fmt.Errorf("file %s is on level %d: levels go from 0 to %d, its manifest is damaged", f.Name, f.Level, manifest.MaxLevel)
		}
		n = max(n, f.Level+1)
	}
	l := &levels{t: t, high: make([][]span, n-1)}
	if err := l.update(nil, files); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *levels) count() int { return len(l.high) + 1 }

// top is the highest level that has files, -1 if there are none.
func (l *levels) top() int {
	for i := len(l.high) - 1; i >= 0; i-- {
		if len(l.high[i]) > 0 {
			return i + 1
		}
	}
	if len(l.zero) > 0 {
		return 0
	}
	return -1
}

// runs are the sorted runs, the newest first.
func (l *levels) runs() []Run {
	var out []Run
	for _, f := range l.zero {
		out = append(out, Run{Level: 0, Size: f.Size, Files: []*manifest.DataFile{f}})
	}
	for i, spans := range l.high {
		if len(spans) == 0 {
			continue
		}
		r := Run{Level: i + 1}
		for _, s := range spans {
			r.Size += s.file.Size
			r.Files = append(r.Files, s.file)
		}
		out = append(out, r)
	}
	return out
}

func (l *levels) runCount() int {
	n := len(l.zero)
	for _, s := range l.high {
		if len(s) > 0 {
			n++
		}
	}
	return n
}

func (l *levels) files() []*manifest.DataFile {
	var out []*manifest.DataFile
	for _, r := range l.runs() {
		out = append(out, r.Files...)
	}
	return out
}

// update takes files out and puts others in. If the result is no tree (files of a level overlap), it
// is an error and nothing changes (BUGS B131).
func (l *levels) update(before, after []*manifest.DataFile) error {
	type id struct {
		name  string
		level int
	}
	gone := make(map[id]bool, len(before))
	for _, f := range before {
		gone[id{f.Name, f.Level}] = true
	}
	zero, high := l.zero, slices.Clone(l.high)
	changed := make([]bool, len(high))
	if len(before) > 0 {
		zero = slices.DeleteFunc(slices.Clone(zero), func(f *manifest.DataFile) bool { return gone[id{f.Name, f.Level}] })
		for i := range high {
			high[i] = slices.DeleteFunc(slices.Clone(high[i]), func(s span) bool { return gone[id{s.file.Name, s.file.Level}] })
		}
	}
	var fresh []*manifest.DataFile
	for _, f := range after {
		if f.Level < 0 || f.Level > len(high) {
			return fmt.Errorf("lsm: %w: %s is of level %d, there are %d levels", ErrCorrupt, f.Name, f.Level, len(high)+1)
		}
		if f.Level == 0 {
			fresh = append(fresh, f)
			continue
		}
		s, err := l.t.span(f)
		if err != nil {
			return err
		}
		i := f.Level - 1
		if !changed[i] {
			high[i], changed[i] = slices.Clone(high[i]), true
		}
		high[i] = append(high[i], s)
	}
	zero = newest(fresh, zero)
	for i, spans := range high {
		if !changed[i] {
			continue
		}
		slices.SortFunc(spans, func(a, b span) int { return a.min.Compare(b.min) })
		for j := 1; j < len(spans); j++ {
			if spans[j].min.Compare(spans[j-1].max) <= 0 && !l.t.floatKeys() {
				return fmt.Errorf("lsm: %w: files %s and %s of level %d overlap", ErrCorrupt, spans[j-1].file.Name, spans[j].file.Name, i+1)
			}
		}
	}
	l.zero, l.high = zero, high
	return nil
}

// newest puts files of level 0 to others that are in order. They are newer than all of these as a rule, so that of
// many files that nobody compacts only few are compared.
func newest(fresh, zero []*manifest.DataFile) []*manifest.DataFile {
	if len(fresh) == 0 {
		return zero
	}
	newestFirst := func(a, b *manifest.DataFile) int { return older(b, a) }
	slices.SortFunc(fresh, newestFirst)
	out := slices.Concat(fresh, zero)
	if len(zero) > 0 && newestFirst(fresh[len(fresh)-1], zero[0]) > 0 {
		slices.SortFunc(out, newestFirst)
	}
	return out
}
