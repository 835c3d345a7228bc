package avro

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// maxBlock bounds a block, compressed or not. Writers make blocks of 16 to 64 kB.
const maxBlock = 1 << 28

// Codec says how blocks are compressed.
type Codec struct {
	Name string // null, snappy, deflate, zstandard
	// Level is that of zstandard; 0 is 3, as for manifests.
	Level int
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
})

// zstdEncoders by level of the library; an encoder may be used by several goroutines.
var zstdEncoders [zstd.SpeedBestCompression + 1]struct {
	sync.Once
	e   *zstd.Encoder
	err error
}

func zstdEncoder(level int) (*zstd.Encoder, error) {
	speed := zstd.SpeedDefault
	if level != 0 {
		speed = zstd.EncoderLevelFromZstd(level)
	}
	x := &zstdEncoders[speed]
	x.Do(func() {
		x.e, x.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithWindowSize(1<<18),
			zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false))
	})
	return x.e, x.err
}

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
		return unsnappy(raw)
	case "deflate":
		return inflate(flate.NewReader(bytes.NewReader(raw)))
	case "bzip2":
		return inflate(bzip2.NewReader(bytes.NewReader(raw)))
	}
	return nil, errors.New("codec is not supported")
}

func inflate(r io.Reader) ([]byte, error) {
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, maxBlock+1))
	if err == nil && n > maxBlock {
		err = errors.New("block is too large")
	}
	return out.Bytes(), err
}

func unsnappy(raw []byte) ([]byte, error) {
	if len(raw) < 4 {
		return nil, ErrShort
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
}

func (c Codec) compress(b []byte) ([]byte, error) {
	switch c.Name {
	case "null":
		return b, nil
	case "zstandard":
		e, err := zstdEncoder(c.Level)
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
	return nil, fmt.Errorf("codec %q is not supported", c.Name)
}
