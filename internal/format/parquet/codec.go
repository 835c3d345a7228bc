package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codec is a compression codec by its number in files.
type codec int32

const (
	codecNone   codec = 0
	codecSnappy codec = 1
	codecGzip   codec = 2
	codecLZ4    codec = 5 // Hadoop's frames around blocks
	codecZstd   codec = 6
	codecLZ4Raw codec = 7
)

func (c codec) String() string {
	names := [...]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("codec %d", int32(c))
	}
	return names[c]
}

// codecByName is the codec that a value of the option file.compression means.
func codecByName(name string) (codec, error) {
	switch strings.ToLower(name) {
	case "", "zstd", "zst":
		return codecZstd, nil
	case "none", "uncompressed":
		return codecNone, nil
	case "snappy":
		return codecSnappy, nil
	case "gzip":
		return codecGzip, nil
	case "lz4":
		return codecLZ4, nil
	case "lz4_raw":
		return codecLZ4Raw, nil
	}
	return 0, fmt.Errorf("compression %q is not known to Parquet (none, snappy, gzip, lz4, lz4_raw or zstd)", name)
}

// maxPage bounds what one page may unpack to.
const maxPage = 1 << 30

// slack are bytes behind unpacked data that decoders may read, but whose values do not matter.
const slack = 16

var errCodecSize = errors.New("does not unpack to the size its header names")

var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.IgnoreChecksum(true),
		zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // the options are constant
	}
	return d
}}

// unpack decompresses src, which has to give exactly size bytes, into buf if it is large enough.
// The result has slack bytes of capacity left behind its end. What is allocated is bounded by what
// src can really hold.
func (c codec) unpack(buf, src []byte, size int) ([]byte, error) {
	if size < 0 || size > maxPage {
		return nil, fmt.Errorf("header names %d bytes", size)
	}
	// The most that a byte of each codec can unpack to.
	ratio := 0
	switch c {
	case codecSnappy:
		ratio = 64
	case codecLZ4, codecLZ4Raw:
		ratio = 256
	case codecGzip:
		ratio = 1100
	case codecZstd:
		return unpackZstd(buf, src, size)
	default:
		return nil, fmt.Errorf("%w: codec %s", errUnsupported, c)
	}
	if int64(size) > int64(ratio)*int64(len(src))+64 {
		return nil, errCodecSize
	}
	buf = sized(buf, size)
	var n int
	var err error
	switch c {
	case codecSnappy:
		if n, err = snappy.DecodedLen(src); err == nil {
			if n != size {
				return nil, errCodecSize
			}
			_, err = snappy.Decode(buf, src)
		}
	case codecLZ4Raw:
		n, err = lz4.UncompressBlock(src, buf)
	case codecLZ4:
		n, err = unpackLZ4(buf, src)
	case codecGzip:
		n, err = unpackGzip(buf, src)
	}
	if err != nil {
		return nil, err
	}
	if n != size {
		return nil, errCodecSize
	}
	return buf, nil
}

// sized gives a slice of n bytes with slack behind it, of buf if that is large enough; else buf is not
// to be used any more.
func sized(buf []byte, n int) []byte {
	if cap(buf) < n+slack {
		putBuffer(buf)
		return getBuffer(n + slack)[:n]
	}
	return buf[:n]
}

// maxPacked is how large a page of so many packed bytes may say to be for memory to be taken on its word.
func maxPacked(n int) int { return 1<<20 + 256*n }

// zstdRoom is the room behind a page with which blocks of zstd are unpacked faster: its decoder may then write
// beyond the end of what it copies.
const zstdRoom = zstdBlock + 32

func unpackZstd(buf, src []byte, size int) ([]byte, error) {
	if cap(buf) < size+slack && size > maxPacked(len(src)) {
		return streamZstd(src, size)
	}
	buf = sized(buf, size)
	d := zstdDecoders.Get().(*zstd.Decoder)
	defer zstdDecoders.Put(d)
	out, err := d.DecodeAll(src, buf[:0])
	if err != nil {
		return nil, err
	}
	if len(out) != size {
		return nil, errCodecSize
	}
	return out, nil
}

// streamZstd unpacks a page that claims to be hundreds of times its packed size: memory is taken
// only as it really unpacks.
func streamZstd(src []byte, size int) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(d, int64(size)+1)); err != nil {
		return nil, err
	}
	if b.Len() != size {
		return nil, errCodecSize
	}
	b.Grow(slack)
	return b.Bytes(), nil
}

func unpackGzip(buf, src []byte) (int, error) {
	r, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, buf)
	if err != nil {
		return n, err
	}
	if m, err := r.Read(make([]byte, 1)); m != 0 || err != io.EOF {
		return n + m, errCodecSize
	}
	return n, nil
}

// unpackLZ4 reads Hadoop's form: blocks, each with its unpacked and packed size (big-endian) in
// front. Other writers used the same codec number for a bare block.
func unpackLZ4(dst, src []byte) (int, error) {
	at, rest := 0, src
	for len(rest) > 0 {
		if len(rest) < 8 {
			return lz4.UncompressBlock(src, dst)
		}
		n, packed := int64(binary.BigEndian.Uint32(rest)), int64(binary.BigEndian.Uint32(rest[4:]))
		if packed > int64(len(rest)-8) || n > int64(len(dst)-at) {
			return lz4.UncompressBlock(src, dst)
		}
		m, err := lz4.UncompressBlock(rest[8:8+packed], dst[at:at+int(n)])
		if err != nil || int64(m) != n {
			return lz4.UncompressBlock(src, dst)
		}
		at += m
		rest = rest[8+packed:]
	}
	return at, nil
}

// packer compresses pages of one file. It is used by one goroutine.
type packer struct {
	codec codec
	level int
	lz    lz4.Compressor
	page  []byte // scratch: a packed page
}

// pack appends the compressed bytes of src to dst.
func (p *packer) pack(dst, src []byte) ([]byte, error) {
	switch p.codec {
	case codecNone:
		return append(dst, src...), nil
	case codecZstd:
		return packZstd(dst, src, p.level)
	case codecSnappy:
		n := len(dst)
		dst = grow(dst, snappy.MaxEncodedLen(len(src)))
		return dst[:n+len(snappy.Encode(dst[n:], src))], nil
	case codecGzip:
		b := bytes.NewBuffer(dst)
		w := gzip.NewWriter(b)
		if _, err := w.Write(src); err != nil {
			return nil, err
		}
		err := w.Close()
		return b.Bytes(), err
	case codecLZ4, codecLZ4Raw:
		return p.packLZ4(dst, src)
	}
	return nil, fmt.Errorf("%w: codec %s", errUnsupported, p.codec)
}

func grow(b []byte, n int) []byte {
	for cap(b)-len(b) < n {
		b = append(b[:cap(b)], 0)[:len(b)]
	}
	return b[:len(b)+n]
}

func (p *packer) packLZ4(dst, src []byte) ([]byte, error) {
	at := len(dst)
	dst = grow(dst, 8+lz4.CompressBlockBound(len(src)))
	body := at
	if p.codec == codecLZ4 {
		body += 8
	}
	n := 0
	if len(src) > 0 {
		var err error
		if n, err = p.lz.CompressBlock(src, dst[body:]); err != nil {
			return nil, err
		}
	}
	if p.codec == codecLZ4 {
		binary.BigEndian.PutUint32(dst[at:], uint32(len(src)))
		binary.BigEndian.PutUint32(dst[at+4:], uint32(n))
	}
	return dst[:body+n], nil
}
