// Package avro reads and writes Avro object container files: blocks, codecs, schemas and the encoding of values. Manifests and
// data files are made of them.
package avro

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
)

// Magic is what a file begins with.
const Magic = "Obj\x01"

const (
	syncLen = 16
	// blockTarget is the size at which a block is closed, as in Java.
	blockTarget = 64000
	// window is how much of a file is read at a time.
	window = 1 << 20
	// maxHeader bounds the header of a file: its schema is the greatest part of it.
	maxHeader = maxSchema + 1<<16
)

// ErrMagic says that a file is not an Avro object container file.
var ErrMagic = errors.New("not an Avro file (wrong magic)")

// Container reads an Avro object container file block by block. It is for one goroutine.
type Container struct {
	typ   *Type
	codec string
	sync  []byte
	data  []byte // bytes of the file from base on
	p     int    // where the next block starts in data
	base  int64
	size  int64 // of the file
	at    func(b []byte, off int64) (int, error)
}

// Open reads the header of a file in memory.
func Open(data []byte) (*Container, error) {
	c := &Container{data: data, size: int64(len(data))}
	return c, c.header()
}

// OpenAt reads the header of a file of some bytes. at reads at an offset, as io.ReaderAt; it is called by Next too.
func OpenAt(size int64, at func(b []byte, off int64) (int, error)) (*Container, error) {
	c := &Container{size: size, at: at}
	if err := c.need(int(min(size, maxHeader, 16<<10))); err != nil {
		return nil, err
	}
	err := c.header()
	if errors.Is(err, ErrShort) && int64(len(c.data)) < min(size, maxHeader) {
		if err = c.need(int(min(size, maxHeader))); err == nil {
			err = c.header()
		}
	}
	return c, err
}

// need sees to it that n bytes from p on are there.
func (c *Container) need(n int) error {
	have := len(c.data) - c.p
	if have >= n {
		return nil
	}
	left := c.size - c.base - int64(c.p)
	if int64(n) > left || c.at == nil {
		return ErrShort
	}
	b := make([]byte, min(int64(max(n, window)), left))
	copy(b, c.data[c.p:])
	c.base += int64(c.p)
	c.p = 0
	k, err := c.at(b[have:], c.base+int64(have))
	if k < len(b)-have {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		c.data = b[:have+max(k, 0)]
		return fmt.Errorf("read at offset %d: %w", c.base+int64(have), err)
	}
	c.data = b
	return nil
}

func (c *Container) header() error {
	data := c.data
	if len(data) < len(Magic) || string(data[:len(Magic)]) != Magic {
		return ErrMagic
	}
	r := Cursor{B: data, P: len(Magic)}
	var text []byte
	for n := r.BlockLen(); n > 0 && r.Err == nil; n = r.BlockLen() {
		for ; n > 0 && r.Err == nil; n-- {
			k, v := r.Bytes(), r.Bytes()
			switch string(k) {
			case "avro.schema":
				text = v
			case "avro.codec":
				c.codec = string(v)
			}
		}
	}
	if r.Err != nil || len(data)-r.P < syncLen {
		return fmt.Errorf("header: %w", ErrShort)
	}
	if text == nil {
		return errors.New("header has no schema")
	}
	c.sync = bytes.Clone(data[r.P : r.P+syncLen])
	c.p = r.P + syncLen
	var err error
	c.typ, err = Parse(text)
	return err
}

// Type is the type of the records.
func (c *Container) Type() *Type { return c.typ }

// Codec is the name of the compression, "" or "null" for none.
func (c *Container) Codec() string { return c.codec }

// Offset is where in the file the next block begins.
func (c *Container) Offset() int64 { return c.base + int64(c.p) }

// block finds the next block: the number of its records and the bytes of it in data; io.EOF after the last.
func (c *Container) block() (count int64, from, to int, err error) {
	at := c.Offset()
	if at == c.size {
		return 0, 0, 0, io.EOF
	}
	fail := func(err error) (int64, int, int, error) {
		return 0, 0, 0, fmt.Errorf("block at offset %d: %w", at, err)
	}
	if err := c.need(int(min(c.size-at, 20))); err != nil {
		return fail(err)
	}
	r := Cursor{B: c.data, P: c.p}
	count = r.Long()
	n := r.Long()
	switch {
	case r.Err != nil:
		return fail(r.Err)
	case n < 0 || n > maxBlock:
		return fail(fmt.Errorf("it says that it has %d bytes", n))
	case count < 0:
		return fail(fmt.Errorf("it has %d records", count))
	}
	head := r.P - c.p
	if err := c.need(head + int(n) + syncLen); err != nil {
		return fail(err)
	}
	from = c.p + head
	to = from + int(n)
	if !bytes.Equal(c.data[to:to+syncLen], c.sync) {
		return fail(errors.New("it does not end with the file's sync marker"))
	}
	c.p = to + syncLen
	return count, from, to, nil
}

// Next gives the records of the next block and their number; io.EOF after the last. The bytes stay as they are.
func (c *Container) Next() ([]byte, int64, error) {
	at := c.Offset()
	count, from, to, err := c.block()
	if err != nil {
		return nil, 0, err
	}
	b, err := decompress(c.codec, c.data[from:to:to])
	if err != nil {
		return nil, 0, fmt.Errorf("block at offset %d: %s: %w", at, c.codec, err)
	}
	return b, count, nil
}

// Skip is Next without reading what the block holds.
func (c *Container) Skip() (int64, error) {
	count, _, _, err := c.block()
	return count, err
}

// Writer makes a container file. It is for one goroutine.
type Writer struct {
	// Block takes the records, one after the other; End is called after each.
	Block []byte

	codec Codec
	sync  [syncLen]byte
	out   []byte // what is not yet in sink
	sink  io.Writer
	done  int64 // bytes in sink
	count int64
	err   error
}

// NewWriter starts a file of records of a schema. What is written goes to sink at the end of each block; without one it is
// kept in memory, and Finish gives it.
func NewWriter(schema string, codec Codec, sink io.Writer) *Writer {
	w := &Writer{codec: codec, sink: sink}
	// A sync marker only has to be unlikely within the data.
	_, _ = rand.Read(w.sync[:])
	w.out = append(make([]byte, 0, len(schema)+512), Magic...)
	w.out = AppendLong(w.out, 2)
	w.out = AppendBytes(w.out, "avro.schema")
	w.out = AppendBytes(w.out, schema)
	w.out = AppendBytes(w.out, "avro.codec")
	w.out = AppendBytes(w.out, codec.Name)
	w.out = append(w.out, 0)
	w.out = append(w.out, w.sync[:]...)
	return w
}

// End is called after each record.
func (w *Writer) End() error {
	w.count++
	if len(w.Block) >= blockTarget {
		w.flush()
	}
	return w.err
}

// Add adds the n records of a block of another file of the same schema, and closes the block.
func (w *Writer) Add(records []byte, n int64) error {
	w.Block, w.count = append(w.Block, records...), w.count+n
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	if w.err != nil {
		return
	}
	if w.count > 0 {
		b, err := w.codec.compress(w.Block)
		if err != nil {
			w.err = err
			return
		}
		w.out = AppendLong(w.out, w.count)
		w.out = AppendBytes(w.out, b)
		w.out = append(w.out, w.sync[:]...)
		w.Block, w.count = w.Block[:0], 0
	}
	if w.sink == nil {
		return
	}
	n, err := w.sink.Write(w.out)
	w.done += int64(n)
	w.out, w.err = w.out[:0], err
}

// Size estimates the size of the file so far. What waits to be compressed will shrink.
func (w *Writer) Size() int64 { return w.done + int64(len(w.out)+len(w.Block)/4) }

// Finish ends the file. It gives the bytes that are not in the sink.
func (w *Writer) Finish() ([]byte, error) {
	w.flush()
	return w.out, w.err
}
