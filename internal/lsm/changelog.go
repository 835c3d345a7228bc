package lsm

import (
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/mergefn"
)

// Producer says how the changelog of a table is made, the option changelog-producer.
type Producer int

const (
	NoChangelog    Producer = iota
	InputChangelog          // what was written is the changelog: each flush writes its rows before they are merged
)

// unmerged gives all versions of the keys of a group, in their order: of a key the oldest first. merged is what the engine
// made of them, to be used again where nothing was merged.
func (j *job) unmerged(g *kv.Groups, out *mergefn.Output, merged []batch.Batch) ([]batch.Batch, error) {
	if len(g.Refs) == len(g.Ends) && out.Kinds == nil && len(out.Parts)+len(out.Computed) == 0 && slices.Equal(out.Rows, g.Refs) {
		return merged, nil
	}
	return j.gather(&mergefn.Input{Groups: g}, &mergefn.Output{Rows: g.Refs}, 0, len(g.Refs))
}

// producer says how the writer makes the changelog of its bucket.
func (w *Writer) producer() Producer {
	if w.o.NoChangelog {
		return NoChangelog
	}
	return w.t.c.Changelog
}
