package lsm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
)

// With deletion vectors a compaction of level 0 marks the rows that its rows take the place of, in the files that stay: above level
// 0 every row that is not marked is a row of the table.

// marks are the deletion vectors of a bucket, as compactions change them.
type marks struct {
	loaded  bool
	changed bool                     // since the last Prepare
	gone    map[string]*index.Vector // by name of file; not changed but replaced
}

// loadMarks reads the deletion vectors before the first compaction.
func (w *Writer) loadMarks(ctx context.Context) error {
	if w.o.Vectors == nil || w.marks.loaded {
		return nil
	}
	gone, err := w.o.Vectors.All(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		w.stale = err // another process has replaced them
		return nil
	}
	if err != nil {
		return fmt.Errorf("lsm: compact bucket %d: %w", w.o.Location.Bucket, err)
	}
	w.marks.gone, w.marks.loaded = gone, true
	return nil
}

// markWith makes a compaction leave out rows that are gone, and mark those that its rows take the place of.
func (c *compactor) markWith(gone map[string]*index.Vector) {
	c.gone, c.drop = gone, c.level > 0
	c.found = func(f *manifest.DataFile, position int64) {
		if c.out.marked == nil {
			c.out.marked = map[string]*index.Builder{}
		}
		b := c.out.marked[f.Name]
		if b == nil {
			b = &index.Builder{}
			c.out.marked[f.Name] = b
		}
		b.Add(position)
	}
}

// take takes over what a compaction has marked, and drops the vectors of files that it has used up. after has the names of
// those that it has put in.
func (m *marks) take(c *compaction, after map[string]bool) {
	next := maps.Clone(m.gone)
	changed := false
	for name, b := range c.marked {
		next[name] = b.Vector().Union(next[name])
		changed = true
	}
	for _, f := range c.before {
		if next[f.Name] != nil && !after[f.Name] {
			delete(next, f.Name)
			changed = true
		}
	}
	if changed {
		m.gone, m.changed = next, true
	}
}

// writeMarks puts the deletion vectors into what has to be committed, if compactions have changed them.
func (w *Writer) writeMarks(ctx context.Context) error {
	if !w.marks.changed {
		return nil
	}
	entries, paths, err := w.o.Vectors.Replace(ctx, w.marks.gone)
	if err != nil {
		return fmt.Errorf("lsm: bucket %d: %w", w.o.Location.Bucket, err)
	}
	w.marks.changed = false
	w.delta.CompactIndex = append(w.delta.CompactIndex, entries...)
	w.delta.Paths = append(w.delta.Paths, paths...)
	return nil
}
