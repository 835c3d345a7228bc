package tarn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/manifest"
)

// CommitID is the identity of a commit: what was prepared is committed once under one user and number,
// however often that is tried. Something else that was prepared after a commit is another one, even under
// the same identity: count the numbers up.
type CommitID struct {
	User      string            // who commits, of all processes that write the table; not empty
	Number    int64             // of this user, ascending
	Watermark *int64            // event time up to which rows are there, milliseconds since 1970
	Props     map[string]string // kept in the snapshot
}

// Prepared is what a Writer wrote and has not committed. It can be kept outside of the process
// (MarshalBinary). Its files belong to whoever holds it: commit or abort it. It is immutable; nil is
// nothing, and can be committed and aborted like one that is empty.
type Prepared struct {
	deltas []manifest.Delta
	base   int64
	table  string // "" of older releases
}

// parts are the deltas, none of nil.
func (p *Prepared) parts() []manifest.Delta {
	if p == nil {
		return nil
	}
	return p.deltas
}

// Base is the newest snapshot when this was prepared: the commit cannot have been done before.
func (p *Prepared) Base() int64 {
	if p == nil {
		return 0
	}
	return p.base
}

// Empty reports whether there is nothing to commit.
func (p *Prepared) Empty() bool { return len(p.parts()) == 0 }

// Rows is the number of rows that the files written have.
func (p *Prepared) Rows() int64 {
	var n int64
	for _, d := range p.parts() {
		for _, f := range d.Added {
			n += f.Rows
		}
	}
	return n
}

// Files is the number of files written, those of compactions too.
func (p *Prepared) Files() int {
	n := 0
	for _, d := range p.parts() {
		n += len(d.Added) + len(d.CompactAfter)
	}
	return n
}

type preparedFile struct {
	Version int              `json:"version"`
	Table   string           `json:"table,omitempty"`
	Base    int64            `json:"base"`
	Deltas  []manifest.Delta `json:"deltas"`
}

// MarshalBinary gives bytes that UnmarshalPrepared of this and the next release reads.
func (p *Prepared) MarshalBinary() ([]byte, error) {
	if p == nil {
		p = &Prepared{}
	}
	return json.Marshal(preparedFile{1, p.table, p.base, p.deltas})
}

// UnmarshalPrepared reads what MarshalBinary gave.
func UnmarshalPrepared(b []byte) (*Prepared, error) {
	var f preparedFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("prepared commit: %w", err)
	}
	if f.Version != 1 {
		return nil, fmt.Errorf("prepared commit has version %d, this release reads 1", f.Version)
	}
	for i := range f.Deltas {
		d := &f.Deltas[i]
		for _, files := range [][]*manifest.DataFile{d.Added, d.Deleted, d.Changelog, d.CompactBefore, d.CompactAfter, d.CompactChangelog} {
			if slices.Contains(files, nil) {
				return nil, fmt.Errorf("prepared commit: part %d of %d names a file that is null", i+1, len(f.Deltas))
			}
		}
	}
	return &Prepared{f.Deltas, f.Base, f.Table}, nil
}

// JoinPrepared makes one of several parts, to be committed together. They have to be of one table, in
// the order in which they were written.
func JoinPrepared(parts ...*Prepared) *Prepared {
	out := &Prepared{}
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *Prepared) bool { return p == nil })
	for i, p := range parts {
		if i == 0 || p.base < out.base {
			out.base = p.base
		}
		out.deltas = append(out.deltas, p.deltas...)
		out.table = cmp.Or(out.table, p.table)
	}
	return out
}
