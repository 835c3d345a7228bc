package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Identity says which file an entry is about: partition, bucket, level and name, and in rest extra
// files, embedded index and external path. A file that only moved to another level is a different
// one: the entries that take it from one and add it to the other must not cancel out.
type Identity struct {
	Partition     string
	Bucket, Level int
	Name          string
	rest          string
}

// IdentityOf gives the identity of an entry. It shares memory with the entry.
func IdentityOf(e *Entry) Identity {
	f := e.File
	id := Identity{Partition: text(e.Partition), Bucket: e.Bucket, Level: f.Level, Name: f.Name}
	if f.ExtraFiles != nil || f.EmbeddedIndex != nil || f.ExternalPath != "" {
		b := binary.AppendUvarint(nil, uint64(len(f.ExtraFiles)))
		for _, x := range f.ExtraFiles {
			b = binary.AppendUvarint(b, uint64(len(x)))
			b = append(b, x...)
		}
		b = binary.AppendUvarint(b, uint64(len(f.ExternalPath)))
		b = append(b, f.ExternalPath...)
		if f.EmbeddedIndex != nil {
			b = append(append(b, 1), f.EmbeddedIndex...)
		}
		id.rest = string(b)
	}
	return id
}

// String names the file for messages.
func (id Identity) String() string {
	return fmt.Sprintf("%s (bucket %d, level %d, partition %x)", id.Name, id.Bucket, id.Level, id.Partition)
}

var (
	// ErrTwice says that an entry adds a file that is there already.
	ErrTwice = errors.New("file is added twice")
	// ErrNotThere says that an entry deletes a file that is not there.
	ErrNotThere = errors.New("file to delete is not there")
)

// Merger reduces entries in their order: an entry that adds a file and a later one that deletes it
// cancel out. The zero value is ready.
type Merger struct {
	entries []Entry
	dead    int
	at      map[Identity]int32
}

// NewMerger makes a Merger with room for n entries.
func NewMerger(n int) *Merger {
	return &Merger{entries: make([]Entry, 0, n), at: make(map[Identity]int32, n)}
}

// Add takes more entries, in order. The error is ErrTwice.
func (m *Merger) Add(entries ...Entry) error {
	if m.at == nil {
		m.at = make(map[Identity]int32, len(entries))
	}
	for i := range entries {
		e := &entries[i]
		id := IdentityOf(e)
		at, there := m.at[id]
		switch {
		case e.Kind == Add && there:
			return fmt.Errorf("manifest: %w: %s", ErrTwice, id)
		case e.Kind == Add || !there:
			m.at[id] = int32(len(m.entries))
			m.entries = append(m.entries, *e)
		default:
			delete(m.at, id)
			m.entries[at].File = nil
			m.dead++
		}
	}
	return nil
}

// Has reports whether a file is among the results, added or deleted.
func (m *Merger) Has(id Identity) bool {
	_, ok := m.at[id]
	return ok
}

// Result gives what is left, in the order in which it came. An entry that deletes what was not added
// before is left too.
func (m *Merger) Result() []Entry {
	if m.dead == 0 {
		return m.entries
	}
	out := make([]Entry, 0, len(m.entries)-m.dead)
	for _, e := range m.entries {
		if e.File != nil {
			out = append(out, e)
		}
	}
	return out
}

// Merge reduces entries to what they are together. An entry that deletes a file that none of them
// added is kept: the file may have been added by an older manifest. The error is ErrTwice.
func Merge(entries []Entry) ([]Entry, error) {
	m := NewMerger(len(entries))
	if err := m.Add(entries...); err != nil {
		return nil, err
	}
	return m.Result(), nil
}

// Live reduces all entries of a snapshot to the files it has. Order is kept. As in Java, deletes of
// what is not there do no harm to readers. The input may be changed.
func Live(entries []Entry) []Entry {
	var deleted map[Identity]struct{}
	for i := range entries {
		if entries[i].Kind == Delete {
			if deleted == nil {
				deleted = make(map[Identity]struct{}, 64)
			}
			deleted[IdentityOf(&entries[i])] = struct{}{}
		}
	}
	if deleted == nil {
		return entries
	}
	out := entries[:0]
	for i := range entries {
		if entries[i].Kind == Delete {
			continue
		}
		if _, gone := deleted[IdentityOf(&entries[i])]; !gone {
			out = append(out, entries[i])
		}
	}
	return out
}

// MustLive is Live for writers: a DELETE of a file that is not there is an error, ErrNotThere, and one
// that is added twice ErrTwice.
func MustLive(entries []Entry) ([]Entry, error) {
	out, err := Merge(entries)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Kind == Delete {
			return nil, fmt.Errorf("manifest: %w: %s", ErrNotThere, IdentityOf(&out[i]))
		}
	}
	return out, nil
}
