package bucket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/tarnlake/tarn/internal/paths"
)

// keyHash stands for a key: 128 bits, of a hash whose seed nobody knows, so that two keys do not meet.
type keyHash struct{ hi, lo uint64 }

// place is where a key is: the number of its partition, its bucket, and the time when that was last told.
type place struct {
	part   int32
	bucket int16
	tick   uint16
}

func (p place) pack() uint64 {
	return uint64(uint32(p.part)+1)<<32 | uint64(uint16(p.bucket))<<16 | uint64(p.tick) // never 0
}

func unpack(v uint64) place {
	return place{int32(uint32(v>>32) - 1), int16(v >> 16), uint16(v)}
}

// keyTable is a hash table of keys that holds some of its pages in memory and the others in a temporary file: extendible hashing.
// The first bits of a hash find the page; a page that is full becomes two. It keeps nothing once the process has ended.
type keyTable struct {
	dir   []uint32 // page of each prefix of depth bits
	depth uint
	pages []page
	n     int64

	frames []frame // in memory
	most   int     // frames
	hand   int     // of the clock that finds a frame to give up
	spill  *tempFile
	folder string // of the temporary file; "": the system's

	// expired says that a place is too old to count, nil if none is.
	expired func(place) bool
}

// page is one of the table: where it is in memory, -1 if it is in the file only.
type page struct {
	frame int32
	depth uint8 // bits that its keys have in common
	n     uint8
}

type frame struct {
	page  int32
	used  bool // since the hand came by
	dirty bool
	slots []byte
}

const (
	slotSize   = 24 // hash and place
	pageSlots  = 170
	pageSize   = pageSlots * slotSize
	fullSlots  = 136
	leastPages = 64
	mostDepth  = 40
)

func newKeyTable(memory int64, folder string, expired func(place) bool) *keyTable {
	t := &keyTable{most: int(max(memory/pageSize, leastPages)), folder: folder, expired: expired}
	t.dir = []uint32{0}
	t.pages = []page{{frame: 0}}
	t.frames = []frame{{slots: make([]byte, pageSize)}}
	return t
}

func (t *keyTable) pageOf(h keyHash) int32 {
	return int32(t.dir[h.hi>>(64-t.depth)])
}

// find gives the slot of a key in a page, or the free one where it goes.
func find(slots []byte, h keyHash) (at int, there bool) {
	at = int(h.lo%pageSlots) * slotSize
	for {
		s := slots[at : at+slotSize : at+slotSize]
		if binary.LittleEndian.Uint64(s[16:]) == 0 {
			return at, false
		}
		if binary.LittleEndian.Uint64(s) == h.hi && binary.LittleEndian.Uint64(s[8:]) == h.lo {
			return at, true
		}
		if at += slotSize; at == pageSize {
			at = 0
		}
	}
}

// get gives the place of a key.
func (t *keyTable) get(h keyHash) (place, bool, error) {
	f, err := t.load(t.pageOf(h))
	if err != nil {
		return place{}, false, err
	}
	at, ok := find(f.slots, h)
	if !ok {
		return place{}, false, nil
	}
	p := unpack(binary.LittleEndian.Uint64(f.slots[at+16:]))
	if t.expired != nil && t.expired(p) {
		return place{}, false, nil
	}
	return p, true, nil
}

// full reports whether pages have to go to the file if there are to be more of them.
func (t *keyTable) full() bool { return len(t.frames) >= t.most }

// put sets the place of a key.
func (t *keyTable) put(h keyHash, p place) error {
	for {
		n := t.pageOf(h)
		f, err := t.load(n)
		if err != nil {
			return err
		}
		at, ok := find(f.slots, h)
		if ok || t.pages[n].n < fullSlots {
			f.dirty = true
			binary.LittleEndian.PutUint64(f.slots[at:], h.hi)
			binary.LittleEndian.PutUint64(f.slots[at+8:], h.lo)
			binary.LittleEndian.PutUint64(f.slots[at+16:], p.pack())
			if !ok {
				t.pages[n].n++
				t.n++
			}
			return nil
		}
		if err := t.split(n, h); err != nil {
			return err
		}
	}
}

// split makes two pages of the one that h leads to, which is full. Keys that are too old go, and it stays one if that is enough.
func (t *keyTable) split(n int32, h keyHash) error {
	f, err := t.load(n)
	if err != nil {
		return err
	}
	old := append([]byte(nil), f.slots...)
	if t.expired != nil {
		t.clear(n, f)
		if t.rest(old, n, n, 0, f.slots, nil) <= fullSlots/2 {
			return nil
		}
	}
	t.clear(n, f)
	d := uint(t.pages[n].depth)
	if d == mostDepth {
		return errors.New("index of keys: there are too many")
	}
	if d == t.depth {
		dir := make([]uint32, 2*len(t.dir))
		for i, p := range t.dir {
			dir[2*i], dir[2*i+1] = p, p
		}
		t.dir, t.depth = dir, t.depth+1
	}
	t.pages[n].depth++
	t.pages = append(t.pages, page{frame: -1, depth: t.pages[n].depth})
	m := int32(len(t.pages) - 1)
	g, err := t.frame(m)
	if err != nil {
		return err
	}
	t.clear(m, &t.frames[g])
	if f, err = t.load(n); err != nil { // it may have had to go for the new one, which is not the next to go
		return err
	}
	t.clear(n, f)
	t.rest(old, n, m, d, f.slots, t.frames[g].slots)
	// Of the prefixes that lead to the page the second half leads to the new one from here on.
	half := 1 << (t.depth - d - 1)
	first := int(h.hi>>(64-d))<<(t.depth-d) + half
	for i := range half {
		t.dir[first+i] = uint32(m)
	}
	return nil
}

func (t *keyTable) clear(n int32, f *frame) {
	clear(f.slots)
	f.dirty = true
	t.n -= int64(t.pages[n].n)
	t.pages[n].n = 0
}

// rest puts the keys of a page that are not too old into the page n, or into m if the bit behind the first bits is set.
func (t *keyTable) rest(old []byte, n, m int32, bits uint, low, high []byte) int {
	kept := 0
	for at := 0; at < pageSize; at += slotSize {
		s := old[at : at+slotSize]
		v := binary.LittleEndian.Uint64(s[16:])
		if v == 0 || t.expired != nil && t.expired(unpack(v)) {
			continue
		}
		h := keyHash{binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])}
		to, slots := n, low
		if m != n && h.hi>>(63-bits)&1 == 1 {
			to, slots = m, high
		}
		i, _ := find(slots, h)
		copy(slots[i:], s)
		t.pages[to].n++
		t.n++
		kept++
	}
	return kept
}

// load brings a page into memory.
func (t *keyTable) load(n int32) (*frame, error) {
	if i := t.pages[n].frame; i >= 0 {
		t.frames[i].used = true
		return &t.frames[i], nil
	}
	i, err := t.frame(n)
	if err != nil {
		return nil, err
	}
	f := &t.frames[i]
	if _, err := t.spill.f.ReadAt(f.slots, int64(n)*pageSize); err != nil {
		return nil, t.spill.problem(err)
	}
	return f, nil
}

// frame finds memory for a page; another one goes to the file if there is too little.
func (t *keyTable) frame(n int32) (int32, error) {
	if len(t.frames) < t.most {
		t.frames = append(t.frames, frame{page: n, used: true, slots: make([]byte, pageSize)})
		t.pages[n].frame = int32(len(t.frames) - 1)
		return t.pages[n].frame, nil
	}
	for {
		if t.hand++; t.hand >= len(t.frames) {
			t.hand = 0
		}
		if f := &t.frames[t.hand]; !f.used {
			break
		}
		t.frames[t.hand].used = false
	}
	f := &t.frames[t.hand]
	if f.dirty {
		if t.spill == nil {
			var err error
			if t.spill, err = newTempFile(t.folder); err != nil {
				return 0, err
			}
		}
		if _, err := t.spill.f.WriteAt(f.slots, int64(f.page)*pageSize); err != nil {
			return 0, t.spill.problem(err)
		}
	}
	t.pages[f.page].frame = -1
	f.page, f.used, f.dirty = n, true, false
	t.pages[n].frame = int32(t.hand)
	return int32(t.hand), nil
}

// memory is the bytes held.
func (t *keyTable) memory() int64 {
	return int64(len(t.frames))*pageSize + 4*int64(len(t.dir)) + 8*int64(len(t.pages))
}

func (t *keyTable) close() error {
	t.frames, t.pages, t.dir = nil, nil, nil
	if t.spill == nil {
		return nil
	}
	err := t.spill.remove()
	t.spill = nil
	return err
}

// tempFile is a file of this process. Where the system lets files be removed that are open it has no name any more, so that
// nothing is left of it whatever ends the process.
type tempFile struct {
	f    *os.File
	left bool // it still has its name
}

func newTempFile(folder string) (*tempFile, error) {
	f, err := os.CreateTemp(folder, "tarn-keys-*")
	if err != nil {
		if folder == "" {
			folder = os.TempDir()
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("index of keys: %w: there is no folder %s for temporary files; TMPDIR names another", paths.ErrInvalid, folder)
		}
		return nil, fmt.Errorf("index of keys in %s: %w: TMPDIR names another folder for temporary files", folder, err)
	}
	return &tempFile{f, os.Remove(f.Name()) != nil}, nil
}

func (x *tempFile) problem(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("index of keys: %w: TMPDIR names another folder for temporary files", err)
	}
	return fmt.Errorf("index of keys: %w", err)
}

func (x *tempFile) remove() error {
	err := x.f.Close()
	if x.left {
		err = errors.Join(err, os.Remove(x.f.Name()))
	}
	if err != nil {
		return fmt.Errorf("index of keys: %w", err)
	}
	return nil
}
