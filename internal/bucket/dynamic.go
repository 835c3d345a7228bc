// Package bucket gives rows their buckets where the table has no fixed number of them.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Content is what a partition has.
type Content struct {
	Indexes []manifest.IndexEntry // hash indexes
	Files   []manifest.Entry
}

// Config describes a table with dynamic buckets.
type Config struct {
	Table  string // for messages
	Store  *datafile.Store
	Keys   []types.Field // trimmed primary key, in its order
	Limits Limits
	// Content gives what a partition has in the newest snapshot; nil: partitions are replaced and begin empty.
	Content func(ctx context.Context, partition []byte) (Content, error)
	// Rebuilt is told of hash indexes that were made anew from data files, and why.
	Rebuilt func(loc datafile.Location, why error)
}

// Dynamic gives rows their buckets by hash indexes: a key that is there stays in its bucket, a new one goes to a bucket
// with room. It is used by one goroutine.
type Dynamic struct {
	c     Config
	parts map[string]*partition
}

// NewDynamic makes a Dynamic.
func NewDynamic(c Config) *Dynamic {
	return &Dynamic{c: c, parts: map[string]*partition{}}
}

// Assign gives rows of a partition their buckets by the hashes of their keys: of the rows sel, nil for all.
func (d *Dynamic) Assign(ctx context.Context, part []byte, hashes []int32, sel, buckets []int32) error {
	p, err := d.partition(ctx, part)
	if err != nil {
		return err
	}
	p.used = true
	n := len(sel)
	if sel == nil {
		n = len(hashes)
	}
	p.index.touch(hashes, sel)
	for i := range n {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		b, err := p.assign(hashes[row])
		if err != nil {
			return fmt.Errorf("table %s: %w", d.c.Table, err)
		}
		buckets[row] = int32(b)
	}
	return nil
}

func (d *Dynamic) partition(ctx context.Context, part []byte) (*partition, error) {
	if p := d.parts[string(part)]; p != nil {
		return p, nil
	}
	var buckets []loaded
	if d.c.Content != nil {
		c, err := d.c.Content(ctx, part)
		if err == nil {
			buckets, err = d.load(ctx, part, &c)
		}
		if err != nil {
			return nil, err
		}
	}
	p := newPartition(d.c.Limits, buckets)
	d.parts[string(part)] = p
	return p, nil
}

// load reads the hash indexes of a partition. One that is missing or damaged is made anew from the keys in data files.
func (d *Dynamic) load(ctx context.Context, part []byte, c *Content) ([]loaded, error) {
	var out []loaded
	bad, names := map[int]error{}, map[int]string{}
	for i := range c.Files {
		bad[c.Files[i].Bucket] = errors.New("the index manifest has none")
	}
	for i := range c.Indexes {
		e := &c.Indexes[i]
		loc := datafile.Location{Partition: part, Bucket: e.Bucket}
		if e.Bucket < 0 || e.Bucket >= mostBuckets {
			return nil, fmt.Errorf("table %s: hash index %s is of bucket %d", d.c.Table, e.Name, e.Bucket)
		}
		fs, path, err := d.c.Store.IndexPath(ctx, loc, e)
		if err != nil {
			return nil, err
		}
		h, err := index.ReadHash(ctx, fs, path, e)
		if ctx.Err() != nil {
			return nil, err
		}
		if bad[e.Bucket], names[e.Bucket] = err, e.Name; err == nil {
			delete(bad, e.Bucket)
			out = append(out, loaded{e.Bucket, e.Name, h, false})
		}
	}
	for b, why := range bad {
		loc := datafile.Location{Partition: part, Bucket: b}
		h, err := d.rebuild(ctx, loc, c.Files)
		if err != nil {
			return nil, fmt.Errorf("table %s: the hash index of bucket %d cannot be read (%w), nor made anew from its data files: %w", d.c.Table, b, why, err)
		}
		out = append(out, loaded{b, names[b], h, true})
		if d.c.Rebuilt != nil {
			d.c.Rebuilt(loc, why)
		}
	}
	return out, nil
}

// rebuild finds the hashes of all keys that files of a bucket have.
func (d *Dynamic) rebuild(ctx context.Context, loc datafile.Location, files []manifest.Entry) ([]int32, error) {
	cols := make([]int, len(d.c.Keys))
	for i := range cols {
		cols[i] = i
	}
	h, err := binrow.NewHasher(cols, types.TypesOf(d.c.Keys))
	if err != nil {
		return nil, err
	}
	var out []int32
	for i := range files {
		if files[i].Bucket != loc.Bucket {
			continue
		}
		if out, err = d.hashesOf(ctx, loc, files[i].File, h, out); err != nil {
			return nil, err
		}
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out, nil
}

func (d *Dynamic) hashesOf(ctx context.Context, loc datafile.Location, f *manifest.DataFile, h *binrow.Hasher, out []int32) ([]int32, error) {
	r, err := d.c.Store.Open(ctx, loc, f, datafile.ReadOptions{Fields: d.c.Keys})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = h.Hash(b.RecordBatch, out)
	}
}

// Prepare writes the hash indexes that have changed since the last call, adds them to what the writers of buckets have
// prepared, and tells in it what all of it was written upon.
func (d *Dynamic) Prepare(ctx context.Context, deltas []manifest.Delta) ([]manifest.Delta, error) {
	at := map[string]map[int]int{}
	for i := range deltas {
		m := at[string(deltas[i].Partition)]
		if m == nil {
			m = map[int]int{}
			at[string(deltas[i].Partition)] = m
		}
		m[deltas[i].Bucket] = i
	}
	for part, p := range d.parts {
		if p.idle++; p.used {
			p.used, p.idle = false, 0
		}
		upon := &manifest.HashIndexes{Names: p.names()}
		if d.c.Content == nil {
			upon = nil
		}
		for _, i := range at[part] {
			if deltas[i].HasAppend() {
				deltas[i].Upon = upon
			}
		}
		if len(p.changed) == 0 {
			continue
		}
		for b, hashes := range p.ofChanged() {
			i, ok := at[part][b]
			if !ok {
				i = len(deltas)
				deltas = append(deltas, manifest.Delta{Partition: []byte(part), Bucket: b, TotalBuckets: -1})
			}
			e, path, err := d.write(ctx, datafile.Location{Partition: []byte(part), Bucket: b}, hashes)
			if err != nil {
				return deltas, err // with the files that were written
			}
			deltas[i].Index, deltas[i].Paths, deltas[i].Upon = append(deltas[i].Index, e), append(deltas[i].Paths, path), upon
			p.files[b] = e.Name
		}
		clear(p.changed)
	}
	return deltas, nil
}

func (d *Dynamic) write(ctx context.Context, loc datafile.Location, hashes []int32) (manifest.IndexEntry, string, error) {
	fs, name, path, err := d.c.Store.NewIndex(loc)
	if err != nil {
		return manifest.IndexEntry{}, "", err
	}
	e, err := index.WriteHash(ctx, fs, name, path, hashes)
	return e, path, err
}

// keepIdle is the bytes of idle partitions that are kept, for they may be written to again.
const keepIdle = 32 << 20

// Committed forgets partitions that have been idle for some time, or at once if they are large: all that was prepared is
// part of the table now, so they can be loaded again.
func (d *Dynamic) Committed() {
	const idle = 10 // prepares
	held := d.Memory()
	for part, p := range d.parts {
		if !p.used && len(p.changed) == 0 && (p.idle >= idle || p.idle > 0 && held > keepIdle) {
			delete(d.parts, part)
			held -= p.memory()
		}
	}
}

// Memory is the bytes that hash indexes hold.
func (d *Dynamic) Memory() int64 {
	var n int64
	for _, p := range d.parts {
		n += p.memory()
	}
	return n
}
