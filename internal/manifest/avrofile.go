package manifest

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

const (
	avroMagic = "Obj\x01"
	syncLen   = 16
	// maxBlock bounds a decompressed block. Writers make blocks of 16 to 64 kB.
	maxBlock = 1 << 28
	// blockTarget is the size at which a block is closed, as in Java.
	blockTarget = 64000
)

// container is an Avro object container file in memory.
type container struct {
	typ   *atype
	codec string
	sync  []byte
	data  []byte // whole file
	p     int    // where the next block starts
}

// openContainer reads the header of a file.
func openContainer(data []byte) (*container, error) {
	if len(data) < len(avroMagic) || string(data[:len(avroMagic)]) != avroMagic {
		if strings.HasPrefix(string(data), "ORC") || strings.HasPrefix(string(data), "PAR1") {
			return nil, fmt.Errorf("manifest.format other than avro: %w", errors.ErrUnsupported)
		}
		return nil, errors.New("not an Avro file (wrong magic)")
	}
	c := &container{data: data}
	r := reader{b: data, p: len(avroMagic)}
	var text []byte
	for n := r.blockLen(); n > 0 && r.err == nil; n = r.blockLen() {
		for ; n > 0 && r.err == nil; n-- {
			k, v := r.bytes(), r.bytes()
			switch string(k) {
			case "avro.schema":
				text = v
			case "avro.codec":
				c.codec = string(v)
			}
		}
	}
	if r.err != nil || len(data)-r.p < syncLen {
		return nil, fmt.Errorf("header: %w", errShort)
	}
	if text == nil {
		return nil, errors.New("header has no schema")
	}
	c.sync = data[r.p : r.p+syncLen]
	c.p = r.p + syncLen
	var err error
	c.typ, err = parseType(text)
	return c, err
}

// next gives the records of the next block and their number; io.EOF after the last.
func (c *container) next() ([]byte, int64, error) {
	if c.p == len(c.data) {
		return nil, 0, io.EOF
	}
	at := c.p
	r := reader{b: c.data, p: c.p}
	count := r.long()
	raw := r.bytes()
	if r.err != nil || len(c.data)-r.p < syncLen {
		return nil, 0, fmt.Errorf("block at offset %d: %w", at, errShort)
	}
	if count < 0 {
		return nil, 0, fmt.Errorf("block at offset %d has %d records", at, count)
	}
	if !bytes.Equal(c.data[r.p:r.p+syncLen], c.sync) {
		return nil, 0, fmt.Errorf("block at offset %d does not end with the file's sync marker", at)
	}
	c.p = r.p + syncLen
	b, err := decompress(c.codec, raw)
	if err != nil {
		return nil, 0, fmt.Errorf("block at offset %d: %s: %w", at, c.codec, err)
	}
	return b, count, nil
}

var (
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
	})
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(1<<18),
			zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false))
	})
)

func decompress(codec string, raw []byte) ([]byte, error) {
	switch codec {
	case "", "null":
		return raw, nil
	case "zstandard":
		d, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		return d.DecodeAll(raw, nil)
	case "snappy":
		if len(raw) < 4 {
			return nil, errShort
		}
		body, sum := raw[:len(raw)-4], binary.BigEndian.Uint32(raw[len(raw)-4:])
		n, err := snappy.DecodedLen(body)
		if err != nil {
			return nil, err
		}
		// Snappy cannot shrink by more than about 22.
		if n > maxBlock || n > 64*len(body)+64 {
			return nil, fmt.Errorf("block of %d bytes says it has %d", len(body), n)
		}
		b, err := snappy.Decode(nil, body)
		if err != nil {
			return nil, err
		}
		if crc32.ChecksumIEEE(b) != sum {
			return nil, errors.New("checksum does not match")
		}
		return b, nil
	case "deflate":
		var out bytes.Buffer
		n, err := io.Copy(&out, io.LimitReader(flate.NewReader(bytes.NewReader(raw)), maxBlock+1))
		if err == nil && n > maxBlock {
			err = errors.New("block is too large")
		}
		return out.Bytes(), err
	}
	return nil, errors.New("codec is not supported")
}

func compress(codec string, b []byte) ([]byte, error) {
	switch codec {
	case "null":
		return b, nil
	case "zstandard":
		e, err := zstdEncoder()
		if err != nil {
			return nil, err
		}
		return e.EncodeAll(b, make([]byte, 0, len(b)/2+64)), nil
	case "snappy":
		out := snappy.Encode(nil, b)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(b)), nil
	case "deflate":
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(b); err != nil {
			return nil, err
		}
		err = w.Close()
		return out.Bytes(), err
	}
	return nil, fmt.Errorf("codec %q is not supported", codec)
}

// CodecName maps the table option `manifest.compression` to an Avro codec. Empty means the default of
// the version.
func CodecName(option string, v Version) (string, error) {
	switch option {
	case "":
		if v.orLatest() < V09 {
			return "snappy", nil
		}
		return "zstandard", nil
	case "zstd", "zstandard":
		return "zstandard", nil
	case "none", "null", "uncompressed":
		return "null", nil
	case "snappy", "deflate":
		return option, nil
	}
	return "", fmt.Errorf("manifest: compression %q is not supported: use zstd, snappy, deflate or null", option)
}

// fileWriter makes a container file in memory.
type fileWriter struct {
	codec string
	sync  [syncLen]byte
	out   []byte
	block []byte
	count int64
	err   error
}

func newFileWriter(schema, codec string) *fileWriter {
	w := &fileWriter{codec: codec}
	// A sync marker only has to be unlikely within the data.
	_, _ = rand.Read(w.sync[:])
	w.out = append(make([]byte, 0, len(schema)+512), avroMagic...)
	w.out = appendLong(w.out, 2)
	w.out = appendBytes(w.out, "avro.schema")
	w.out = appendBytes(w.out, schema)
	w.out = appendBytes(w.out, "avro.codec")
	w.out = appendBytes(w.out, codec)
	w.out = append(w.out, 0)
	w.out = append(w.out, w.sync[:]...)
	return w
}

// end is called after each record.
func (w *fileWriter) end() {
	w.count++
	if len(w.block) >= blockTarget {
		w.flush()
	}
}

func (w *fileWriter) flush() {
	if w.count == 0 || w.err != nil {
		return
	}
	b, err := compress(w.codec, w.block)
	if err != nil {
		w.err = err
		return
	}
	w.out = appendLong(w.out, w.count)
	w.out = appendBytes(w.out, b)
	w.out = append(w.out, w.sync[:]...)
	w.block, w.count = w.block[:0], 0
}

// size estimates the size of the file so far. What waits to be compressed will shrink.
func (w *fileWriter) size() int64 { return int64(len(w.out) + len(w.block)/4) }

func (w *fileWriter) finish() ([]byte, error) {
	w.flush()
	return w.out, w.err
}
