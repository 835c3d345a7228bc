package lsm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
)

// span is a file with the range of its keys.
type span struct {
	file     *manifest.DataFile
	min, max kv.Key
}

func (t *Table) span(f *manifest.DataFile) (span, error) {
	s := span{file: f}
	var err error
	if s.min, err = t.key(f.MinKey); err != nil {
		return s, fmt.Errorf("lsm: smallest key of %s: %w", f.Name, err)
	}
	if s.max, err = t.key(f.MaxKey); err != nil {
		return s, fmt.Errorf("lsm: largest key of %s: %w", f.Name, err)
	}
	switch {
	case s.min.Compare(s.max) <= 0:
	case t.floatKeys():
		s.min, s.max = s.max, s.min
	default:
		return s, fmt.Errorf("lsm: %w: smallest key of %s is larger than its largest", ErrCorrupt, f.Name)
	}
	return s, nil
}

func (t *Table) key(b []byte) (kv.Key, error) {
	vals, err := binrow.DecodeWithArity(b, t.keyTypes)
	if err != nil {
		return kv.Key{}, err
	}
	return t.encoder.EncodeDatums(vals)
}

func (t *Table) spans(files []*manifest.DataFile) ([]span, error) {
	out := make([]span, len(files))
	for i, f := range files {
		var err error
		if out[i], err = t.span(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// older orders files by age, the oldest first: a level below another is older; within level 0 the
// highest sequence number decides. Files with equal numbers, as two jobs writing at once make them
// (BUGS B033, B035), are ordered by what compaction does not change.
func older(a, b *manifest.DataFile) int {
	if a.Level != b.Level {
		return cmp.Compare(b.Level, a.Level)
	}
	return cmp.Or(
		cmp.Compare(a.MaxSequence, b.MaxSequence),
		cmp.Compare(a.MinSequence, b.MinSequence),
		cmp.Compare(a.CreationMillis, b.CreationMillis),
		strings.Compare(a.Name, b.Name),
	)
}

// section is files whose keys overlap, directly or through others, the oldest first.
type section []span

// sections cuts files into sections, in key order.
func sections(spans []span) []section {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(a.min.Compare(b.min), a.max.Compare(b.max), strings.Compare(a.file.Name, b.file.Name))
	})
	var out []section
	var bound kv.Key
	for i, s := range spans {
		if i == 0 || s.min.Compare(bound) > 0 {
			out = append(out, nil)
			bound = s.max
		} else if s.max.Compare(bound) > 0 {
			bound = s.max
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	for _, s := range out {
		slices.SortStableFunc(s, func(a, b span) int { return older(a.file, b.file) })
	}
	return out
}

// units are the files of a section by sorted run, the oldest first: a level above 0, or a file of
// level 0.
func (s section) units() [][]span {
	var out [][]span
	for i, x := range s {
		if i > 0 && x.file.Level > 0 && x.file.Level == s[i-1].file.Level {
			out[len(out)-1] = append(out[len(out)-1], x)
		} else {
			out = append(out, []span{x})
		}
	}
	return out
}

// ordered reports whether the age of units says the order of versions, so that sequence numbers need
// not be read.
func ordered(units [][]span) bool {
	newest := int64(0)
	for i, u := range units {
		lo, hi := u[0].file.MinSequence, u[0].file.MaxSequence
		for _, x := range u {
			if x.file.MinSequence > x.file.MaxSequence {
				return false // damaged: the rows know better
			}
			lo, hi = min(lo, x.file.MinSequence), max(hi, x.file.MaxSequence)
		}
		if i > 0 && lo < newest {
			return false
		}
		newest = hi
	}
	return true
}
