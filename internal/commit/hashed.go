package commit

import (
	"github.com/tarnlake/tarn/internal/manifest"
)

// hashed is what changes say of the hash indexes of a partition: in dynamic buckets a key is where they say, so
// whoever gives keys their buckets has to know all of them.
type hashed struct {
	upon  map[string]bool // indexes that were known when rows were given their buckets
	added map[string]bool
}

// noteHashed takes in what a delta was written upon.
func (ch *changes) noteHashed(d *manifest.Delta) {
	if d.Upon == nil {
		return
	}
	if ch.hashed == nil {
		ch.hashed = map[string]*hashed{}
	}
	h := ch.hashed[string(d.Partition)]
	if h == nil {
		h = &hashed{map[string]bool{}, map[string]bool{}}
		ch.hashed[string(d.Partition)] = h
	}
	for _, name := range d.Upon.Names {
		h.upon[name] = true
	}
	for i := range d.Index {
		h.added[d.Index[i].Name] = true
	}
}

// checkHashed finds out whether the partitions have the hash indexes that changes were written upon: of several that are
// committed together a later one may be upon what an earlier one adds. With others a key could get into a second bucket.
func checkHashed(before []manifest.IndexEntry, parts map[string]*hashed) *conflict {
	if len(parts) == 0 {
		return nil
	}
	there := map[string]bool{}
	for i := range before {
		e := &before[i]
		h := parts[string(e.Partition)]
		if e.Type != hashIndex || h == nil {
			continue
		}
		if !h.upon[e.Name] {
			return conflictf("another writer has given keys of the same partition their buckets (hash index %s of bucket %d): a partition with dynamic buckets takes new keys of one writer at a time", e.Name, e.Bucket)
		}
		there[e.Name] = true
	}
	for _, h := range parts {
		for name := range h.upon {
			if !there[name] && !h.added[name] {
				return conflictf("hash index %s, by which rows were given their buckets, is gone: another commit has replaced it", name)
			}
		}
	}
	return nil
}
