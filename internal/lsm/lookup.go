package lsm

import (
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
)

// Lookup says whether compactions of level 0 look for older rows of its keys above the level that their result goes to.
type Lookup int

const (
	NoLookup Lookup = iota
	// LookupNewest: a row stays as it is, whatever is older.
	LookupNewest
	// LookupFold: a row is merged with the older one. One above level 0 stands for all that are older, which are left out
	// wherever it is merged.
	LookupFold
	// LookupFirst: a row that has an older one is dropped.
	LookupFirst
)

// rewrites reports whether rows of level 0 may change because there are older ones.
func (t *Table) rewrites() bool {
	return t.c.Lookup != NoLookup && (t.c.Lookup != LookupNewest || len(t.c.Sequence) > 0)
}

// withOlder puts files of higher levels to the sections of a compaction: those that may hold older rows of keys of level 0.
// Sections that such a file overlaps become one, so that it is read once. Both are in key order.
func withOlder(secs []section, older []span) []section {
	var files, used []span
	for _, s := range secs {
		files = append(files, s...)
	}
	for _, x := range older {
		if slices.ContainsFunc(files, func(f span) bool { return f.file.Level == 0 && overlap(f, x) }) {
			used = append(used, x)
		}
	}
	if len(used) == 0 {
		return secs
	}
	return sections(append(files, used...))
}

func overlap(a, b span) bool { return a.min.Compare(b.max) <= 0 && b.min.Compare(a.max) <= 0 }

// past tells of the rows of a merge what was there before: in compactions that tell of changes, or look up older rows.
type past struct {
	t      *Table
	level  int        // of the result; files of higher levels are looked up in and stay as they are
	lookup Lookup     // NoLookup: only a row of the result's level, the highest, is old
	w      FileWriter // of the changelog; nil: nobody is told
	in     *source
	found  Found // nil: nobody asks where older rows lie

	sec  section
	high int // files of the section above level 0; they come first
}

// of prepares for a section. There may be no past.
func (p *past) of(s section) *past {
	if p == nil {
		return nil
	}
	p.sec, p.high = s, 0
	for p.high < len(s) && s[p.high].file.Level > 0 {
		p.high++
	}
	return p
}

// levels are the levels of the batches of a window. Only files above level 0 are runs of their own: what was merged in passes
// is of level 0.
func (p *past) levels(g *kv.Groups) []int {
	out := make([]int, len(g.Window))
	for i := range out {
		run := 0
		if g.Runs != nil {
			run = g.Runs[i]
		}
		if run < p.high {
			out[i] = p.sec[run].file.Level
		}
	}
	return out
}

// before is what was there of each key.
type before struct {
	old  []batch.Ref // NullRef: nothing
	news []bool      // there is something new, of which the changelog tells
}

// split leaves out versions that do not count, and keys that are not of the files that are merged.
func (p *past) split(j *job, g *kv.Groups) (*kv.Groups, *before, error) {
	levels := p.levels(g)
	b := &before{old: make([]batch.Ref, 0, len(g.Ends)), news: make([]bool, 0, len(g.Ends))}
	if p.lookup == NoLookup {
		for i := range g.Ends {
			versions := g.Group(i)
			old := batch.NullRef
			for _, r := range versions {
				if levels[r.Src] == p.level {
					old = r
				}
			}
			b.old, b.news = append(b.old, old), append(b.news, old == batch.NullRef || len(versions) > 1)
		}
		return g, b, nil
	}
	out := &kv.Groups{Window: g.Window, Runs: g.Runs, Refs: make([]batch.Ref, 0, len(g.Refs)), Ends: make([]int32, 0, len(g.Ends))}
	for i := range g.Ends {
		versions := g.Group(i)
		high, level, zero := batch.NullRef, 0, false
		for _, r := range versions {
			switch l := levels[r.Src]; {
			case l == 0:
				zero = true
			case level == 0 || l < level:
				high, level = r, l
			}
		}
		if level > p.level && (!zero || p.lookup == LookupFirst) {
			continue // nothing of the key is merged, or nothing of it is new
		}
		if level > p.level && p.found != nil {
			if err := p.tellFound(j, g.Window, high); err != nil {
				return nil, nil, err
			}
		}
		for _, r := range versions {
			if l := levels[r.Src]; l == 0 || r == high || p.lookup == LookupFirst && l <= p.level {
				out.Refs = append(out.Refs, r)
			}
		}
		out.Ends = append(out.Ends, int32(len(out.Refs)))
		b.old, b.news = append(b.old, high), append(b.news, zero && (level == 0 || p.lookup != LookupFirst))
	}
	return out, b, nil
}
