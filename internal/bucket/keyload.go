package bucket

import (
	"encoding/binary"
	"fmt"
)

// keyLoad puts aside the places of keys that are to be loaded into a table with more pages than memory has room for, by the first bits of
// their hashes: those of one prefix lead to few pages, which stay in memory while they are put.
type keyLoad struct {
	folder string
	file   *tempFile
	size   int64
	parts  [loadParts]struct {
		buf    []byte
		chunks []int64 // where they lie in the file
	}
}

const (
	loadBits  = 6
	loadParts = 1 << loadBits
	chunkSize = 2730 * slotSize // about 64 KB
)

// add puts a key aside.
func (l *keyLoad) add(h keyHash, p place) error {
	part := &l.parts[h.hi>>(64-loadBits)]
	if part.buf == nil {
		part.buf = make([]byte, 0, chunkSize)
	}
	part.buf = binary.LittleEndian.AppendUint64(part.buf, h.hi)
	part.buf = binary.LittleEndian.AppendUint64(part.buf, h.lo)
	part.buf = binary.LittleEndian.AppendUint64(part.buf, p.pack())
	if len(part.buf) < chunkSize {
		return nil
	}
	if l.file == nil {
		var err error
		if l.file, err = newTempFile(l.folder); err != nil {
			return err
		}
	}
	if _, err := l.file.f.WriteAt(part.buf, l.size); err != nil {
		return l.file.problem(err)
	}
	part.chunks = append(part.chunks, l.size)
	l.size += chunkSize
	part.buf = part.buf[:0]
	return nil
}

// each gives the keys that were put aside.
func (l *keyLoad) each(f func(h keyHash, p place) error) error {
	chunk := make([]byte, chunkSize)
	give := func(b []byte) error {
		for ; len(b) > 0; b = b[slotSize:] {
			h := keyHash{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
			if err := f(h, unpack(binary.LittleEndian.Uint64(b[16:]))); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range l.parts {
		part := &l.parts[i]
		for _, at := range part.chunks {
			if _, err := l.file.f.ReadAt(chunk, at); err != nil {
				return fmt.Errorf("index of keys: %w", err)
			}
			if err := give(chunk); err != nil {
				return err
			}
		}
		if err := give(part.buf); err != nil {
			return err
		}
		part.buf, part.chunks = nil, nil
	}
	return nil
}

func (l *keyLoad) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.remove()
}
