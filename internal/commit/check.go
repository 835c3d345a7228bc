package commit

import (
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// changes are what one snapshot is to do.
type changes struct {
	kind      snapshot.CommitKind
	files     []manifest.Entry
	changelog []manifest.Entry
	index     []manifest.IndexEntry
	hashed    map[string]*hashed // partitions with dynamic buckets
	keys      []*manifest.KeyIndex
	applied   []applied // deletion vectors that go with their files
	trimmed   bool      // index entries have changed because of them
	check     bool      // whether files have to be checked for conflicts
	conflict  *conflict // one that was found already
}

// conflict is why changes do not go with a table.
type conflict struct {
	reason string
	err    error
}

func conflictf(format string, args ...any) *conflict {
	return &conflict{reason: fmt.Sprintf(format, args...)}
}

// touched is a bucket as it would be after the changes.
type touched struct {
	added   map[manifest.Identity]*manifest.Entry
	deleted map[manifest.Identity]bool
	levels  map[int]bool // levels from 1 on that get files
}

// checkFiles finds out whether the changes go with the files that are there: files to delete are there,
// files to add are not, the number of buckets is the same, and no level from 1 on gets files whose keys
// overlap.
func (c *Committer) checkFiles(l *live, ch *changes) (map[bucketKey]*touched, *conflict, error) {
	buckets := map[bucketKey]*touched{}
	for i := range ch.files {
		e := &ch.files[i]
		id := manifest.IdentityOf(e)
		k := bucketKey{id.Partition, e.Bucket}
		t := buckets[k]
		if t == nil {
			t = &touched{added: map[manifest.Identity]*manifest.Entry{}, deleted: map[manifest.Identity]bool{}, levels: map[int]bool{}}
			buckets[k] = t
		}
		there := l.has(id) && !t.deleted[id] || t.added[id] != nil
		switch {
		case e.Kind == manifest.Add && (there || t.deleted[id]):
			// To remove a file and add the same one is a commit done twice; expiry would delete it.
			return nil, &conflict{"a file to add is there already, the commit may have been done before", fmt.Errorf("%s", id)}, nil
		case e.Kind == manifest.Add:
			t.added[id] = e
			if e.File.Level >= 1 {
				t.levels[e.File.Level] = true
			}
		case !there:
			return nil, &conflict{"a file to remove is gone, another commit has removed or rewritten it", fmt.Errorf("%s", id)}, nil
		case t.added[id] != nil:
			delete(t.added, id)
		default:
			t.deleted[id] = true
		}
	}
	if ch.kind != snapshot.Overwrite {
		if cf := checkTotals(l, ch.files); cf != nil {
			return nil, cf, nil
		}
	}
	if len(c.c.Keys) == 0 {
		return buckets, nil, nil
	}
	for k, t := range buckets {
		for level := range t.levels {
			cf, err := c.checkLevel(l.buckets[k], t, level)
			if cf != nil || err != nil {
				return nil, cf, err
			}
		}
	}
	return buckets, nil, nil
}

// hasName reports whether a bucket has a file of that name after the changes.
func hasName(l *live, buckets map[bucketKey]*touched, k bucketKey, name string) bool {
	t := buckets[k]
	if t != nil {
		for id := range t.added {
			if id.Name == name {
				return true
			}
		}
	}
	for id := range l.buckets[k] {
		if id.Name == name && (t == nil || !t.deleted[id]) {
			return true
		}
	}
	return false
}

// checkTotals: the number of buckets of a partition changes by overwriting it only.
func checkTotals(l *live, files []manifest.Entry) *conflict {
	seen := map[string]int{}
	for i := range files {
		e := &files[i]
		p := string(e.Partition)
		if e.TotalBuckets <= 0 {
			continue
		}
		if n, ok := seen[p]; ok && n != e.TotalBuckets {
			return conflictf("files of a partition were written for %d and for %d buckets", n, e.TotalBuckets)
		}
		seen[p] = e.TotalBuckets
		for have := range l.totals[p] {
			if have > 0 && have != e.TotalBuckets {
				return conflictf("the partition has %d buckets, files were written for %d: only an overwrite may change their number", have, e.TotalBuckets)
			}
		}
	}
	return nil
}

// keyRange is a file with its decoded keys.
type keyRange struct {
	name   string
	lo, hi []types.Datum
}

func (c *Committer) checkLevel(files map[manifest.Identity]manifest.Entry, t *touched, level int) (*conflict, error) {
	var ranges []keyRange
	add := func(f *manifest.DataFile) error {
		if f.Level != level {
			return nil
		}
		lo, err := binrow.DecodeWithArity(f.MinKey, c.c.Keys)
		if err != nil {
			return fmt.Errorf("smallest key of %s: %w", f.Name, err)
		}
		hi, err := binrow.DecodeWithArity(f.MaxKey, c.c.Keys)
		if err != nil {
			return fmt.Errorf("largest key of %s: %w", f.Name, err)
		}
		ranges = append(ranges, keyRange{f.Name, lo, hi})
		return nil
	}
	for id, e := range files {
		if !t.deleted[id] {
			if err := add(e.File); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range t.added {
		if err := add(e.File); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(ranges, func(a, b keyRange) int { return compareKeys(a.lo, b.lo) })
	for i := 1; i < len(ranges); i++ {
		if a, b := &ranges[i-1], &ranges[i]; compareKeys(a.hi, b.lo) >= 0 {
			return conflictf("files %s and %s of level %d would overlap: another compaction has written there", a.name, b.name, level), nil
		}
	}
	return nil, nil
}

func compareKeys(a, b []types.Datum) int {
	for i := range a {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return -1
		case b[i] == nil:
			return 1
		}
		if n := manifest.CompareValues(a[i], b[i]); n != 0 {
			return n
		}
	}
	return 0
}
