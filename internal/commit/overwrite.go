package commit

import (
	"context"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// Overwrite says what is replaced. The zero value is the whole table.
type Overwrite struct {
	// Match says which partitions are replaced; nil means all. New files have to lie in them.
	Match func(partition []byte) (bool, error)
	// Dynamic replaces the partitions that the new files lie in; without new files it does nothing.
	// Match is not asked.
	Dynamic bool
	// Onto names the files and index files that the new ones were made of, if not nil: where others are in what is replaced, that is
	// a conflict.
	Onto map[string]bool
	// Postponed also replaces files that wait in bucket -2 for their bucket.
	Postponed bool
}

// MatchPartition makes an Overwrite.Match of the values of some partition columns (nil: NULL); the
// others may be anything.
func MatchPartition(columns []types.Field, spec map[string]types.Datum) (func([]byte) (bool, error), error) {
	ts := types.TypesOf(columns)
	for name := range spec {
		if !slices.ContainsFunc(columns, func(f types.Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("commit: %q is no partition column", name)
		}
	}
	return func(partition []byte) (bool, error) {
		vals, err := binrow.DecodeWithArity(partition, ts)
		if err != nil {
			return false, fmt.Errorf("commit: partition %x: %w", partition, err)
		}
		for i, f := range columns {
			want, ok := spec[f.Name]
			if !ok {
				continue
			}
			if (want == nil) != (vals[i] == nil) || want != nil && manifest.CompareValues(vals[i], want) != 0 {
				return false, nil
			}
		}
		return true, nil
	}, nil
}

// CommitOverwrite replaces what the table has, or some partitions of it, by the files that the deltas
// add, whatever others commit meanwhile (but see Overwrite.Onto). Without deltas it empties them. Changelogs of the deltas are not
// committed: an overwrite has none. Errors are those of Commit.
func (c *Committer) CommitOverwrite(ctx context.Context, id ID, w Overwrite, deltas []manifest.Delta, o Options) (Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	app, comp := collect(deltas)
	var r Result
	match, err := w.matcher(app.files)
	if err != nil {
		return r, err
	}
	if len(comp.files)+len(comp.index) == 0 {
		if app.files, err = c.upgrade(app.files); err != nil {
			return r, err
		}
	}
	synced := &syncer{paths: paths(deltas)}
	if !w.Dynamic || len(app.files) > 0 {
		plan := func(*base) (changes, error) { return c.replace(ctx, &w, match, &app) }
		if r.Append, err = c.run(ctx, id, o, synced, &r, plan, snapshot.Overwrite); err != nil {
			return r, err
		}
	}
	if len(comp.files)+len(comp.index) > 0 {
		comp.changelog = nil
		err = c.compact(ctx, id, o, synced, &r, comp)
	}
	return r, err
}

// matcher gives the partitions to replace, nil for all, and checks that new files lie in them.
func (w *Overwrite) matcher(files []manifest.Entry) (func(string) (bool, error), error) {
	if w.Dynamic {
		touched := map[string]bool{}
		for i := range files {
			touched[string(files[i].Partition)] = true
		}
		return func(p string) (bool, error) { return touched[p], nil }, nil
	}
	if w.Match == nil {
		return nil, nil
	}
	seen := map[string]bool{}
	match := func(p string) (bool, error) {
		ok, known := seen[p]
		if !known {
			var err error
			if ok, err = w.Match([]byte(p)); err != nil {
				return false, err
			}
			seen[p] = ok
		}
		return ok, nil
	}
	for i := range files {
		ok, err := match(string(files[i].Partition))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("commit: file %s lies in another partition than the one to overwrite", files[i].File.Name)
		}
	}
	return match, nil
}

// replace computes the changes of an overwrite on the newest snapshot.
func (c *Committer) replace(ctx context.Context, w *Overwrite, match func(string) (bool, error), app *changes) (changes, error) {
	ch := changes{kind: snapshot.Overwrite, check: true, keys: app.keys}
	l, err := c.files(ctx, nil)
	if err != nil {
		return ch, err
	}
	wanted := func(p string) bool {
		if match == nil {
			return true
		}
		ok, e := match(p)
		if e != nil && err == nil {
			err = e
		}
		return ok
	}
	l.each(wanted, func(e manifest.Entry) {
		if e.Bucket >= 0 || w.Postponed {
			ch.late(w, e.File.Name)
			e.Kind = manifest.Delete
			ch.files = append(ch.files, e)
		}
	})
	if err != nil {
		return ch, err
	}
	sortEntries(ch.files)
	if c.b.snap != nil && c.b.snap.IndexManifest != "" {
		entries, err := c.c.Manifests.ReadIndex(ctx, c.b.snap.IndexManifest)
		if err != nil {
			return ch, err
		}
		for _, e := range entries {
			if wanted(string(e.Partition)) {
				ch.late(w, e.Name)
				e.Kind = manifest.Delete
				ch.index = append(ch.index, e)
			}
		}
	}
	ch.files = append(ch.files, app.files...)
	ch.index = append(ch.index, app.index...)
	return ch, err
}

// sortEntries gives entries that came out of a map an order.
func sortEntries(entries []manifest.Entry) {
	slices.SortFunc(entries, func(a, b manifest.Entry) int {
		x, y := manifest.IdentityOf(&a), manifest.IdentityOf(&b)
		switch {
		case x.Partition != y.Partition:
			return compareStrings(x.Partition, y.Partition)
		case x.Bucket != y.Bucket:
			return x.Bucket - y.Bucket
		case x.Level != y.Level:
			return x.Level - y.Level
		}
		return compareStrings(x.Name, y.Name)
	})
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// upgrade raises new files of level 0 to the highest level, bucket by bucket, where their keys do not
// overlap: nothing is below them after an overwrite.
func (c *Committer) upgrade(files []manifest.Entry) ([]manifest.Entry, error) {
	if c.c.UpgradeLevel <= 0 || len(c.c.Keys) == 0 {
		return files, nil
	}
	buckets := map[bucketKey][]int{}
	for i := range files {
		e := &files[i]
		if e.File.Level > 0 || e.Bucket < 0 || e.Kind != manifest.Add {
			return files, nil
		}
		k := bucketKey{string(e.Partition), e.Bucket}
		buckets[k] = append(buckets[k], i)
	}
	out := slices.Clone(files)
	for _, at := range buckets {
		t := &touched{added: map[manifest.Identity]*manifest.Entry{}}
		for _, i := range at {
			t.added[manifest.IdentityOf(&files[i])] = &files[i]
		}
		cf, err := c.checkLevel(nil, t, 0)
		if err != nil {
			return nil, fmt.Errorf("commit: %s: %w", c.table, err)
		}
		if cf != nil {
			continue
		}
		for _, i := range at {
			f := *files[i].File
			f.Level = c.c.UpgradeLevel
			out[i].File = &f
		}
	}
	return out, nil
}

// late notes a file to be replaced that came after the new ones were made.
func (ch *changes) late(w *Overwrite, file string) {
	if w.Onto != nil && !w.Onto[file] && ch.conflict == nil {
		ch.conflict = conflictf("file %s came after the rows to replace were read", file)
	}
}
