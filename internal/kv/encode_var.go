package kv

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// encodeBytes encodes keys of variable length. A string that is not the last part of a key ends with
// 00 00 and its own zero bytes are followed by ff, so that no key is the beginning of another.
func (e *Encoder) encodeBytes(cols []arrow.Array, n int) (Keys, error) {
	if len(cols) == 1 && !e.nullable {
		if k, ok := shared(cols[0]); ok {
			return k, nil
		}
	}
	parts := make([]part, len(cols))
	size := 0
	for c, col := range cols {
		p := &parts[c]
		p.col, p.width, p.last = col, e.widths[c], c == len(cols)-1 && !e.desc
		var err error
		switch {
		case p.width == 0:
			var ok bool
			if p.off, p.data, ok = byteValues(col); !ok {
				err = fmt.Errorf("kv: array of type %s where %v is expected", col.DataType(), e.ts[c])
			} else if n > 0 {
				size += int(p.off[n]-p.off[0]) + 3*n
			}
		case p.width > 8:
			p.fixed = make([]byte, n*p.width)
			err = wideColumn(col, e.ts[c], p.fixed, p.width)
		default:
			p.words = make([]uint64, n)
			err = column(col, e.ts[c], p.words)
		}
		if err != nil {
			return Keys{}, err
		}
		size += (p.width + 1) * n
	}
	k := Keys{data: make([]byte, 0, size), off: make([]uint32, n+1), n: n}
	for i := range n {
		for c := range parts {
			k.data = e.appendPart(k.data, &parts[c], i)
		}
		if len(k.data) > math.MaxUint32 {
			return Keys{}, fmt.Errorf("kv: keys of %d rows take more than 4 GB", n)
		}
		k.off[i+1] = uint32(len(k.data))
	}
	return k, nil
}

// part is a column of a key of variable length.
type part struct {
	col   arrow.Array
	width int
	last  bool // the key's end ends the value
	words []uint64
	fixed []byte
	off   []int32
	data  []byte
}

func (e *Encoder) appendPart(b []byte, p *part, i int) []byte {
	if e.nullable {
		if p.col.IsNull(i) {
			return append(b, 0)
		}
		b = append(b, 1)
	}
	start := len(b)
	switch {
	case p.words != nil:
		var w [8]byte
		binary.BigEndian.PutUint64(w[:], p.words[i]<<(64-8*p.width))
		b = append(b, w[:p.width]...)
	case p.fixed != nil:
		b = append(b, p.fixed[i*p.width:(i+1)*p.width]...)
	default:
		b = appendString(b, p.data[p.off[i]:p.off[i+1]], p.last)
	}
	if e.desc {
		for j := start; j < len(b); j++ {
			b[j] ^= 0xff
		}
	}
	return b
}

func appendString(b, v []byte, last bool) []byte {
	if last {
		return append(b, v...)
	}
	for _, c := range v {
		b = append(b, c)
		if c == 0 {
			b = append(b, 0xff)
		}
	}
	return append(b, 0, 0)
}

// shared uses the buffers of a string column as they are.
func shared(a arrow.Array) (Keys, bool) {
	off, data, ok := byteValues(a)
	if !ok {
		return Keys{}, false
	}
	k := Keys{data: data, off: make([]uint32, a.Len()+1), n: a.Len()}
	for i, o := range off {
		k.off[i] = uint32(o)
	}
	if data == nil {
		k.data = []byte{}
	}
	return k, true
}

func byteValues(a arrow.Array) ([]int32, []byte, bool) {
	switch a.(type) {
	case *array.String, *array.Binary:
	default:
		return nil, nil, false
	}
	if a.Len() == 0 {
		return nil, nil, true
	}
	d := a.Data()
	off := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset() : d.Offset()+d.Len()+1]
	if d.Buffers()[2] == nil {
		return off, nil, true
	}
	return off, d.Buffers()[2].Bytes(), true
}

// EncodeDatums encodes one key, given as single values.
func (e *Encoder) EncodeDatums(vals []types.Datum) (Key, error) {
	if len(vals) != len(e.ts) {
		return Key{}, fmt.Errorf("kv: %d values for a key of %d columns", len(vals), len(e.ts))
	}
	out := Key{Bytes: []byte{}}
	for i, v := range vals {
		if e.nullable {
			if v == nil {
				// Fixed keys keep their stride.
				out.Bytes = append(out.Bytes, make([]byte, 1+e.padding(i))...)
				continue
			}
			out.Bytes = append(out.Bytes, 1)
		}
		if v == nil {
			return Key{}, &NullKeyError{Column: i}
		}
		start := len(out.Bytes)
		b, err := appendDatum(out.Bytes, v, e.ts[i], i == len(vals)-1 && !e.desc)
		if err != nil {
			return Key{}, err
		}
		if e.desc {
			for j := start; j < len(b); j++ {
				b[j] ^= 0xff
			}
		}
		out.Bytes = b
	}
	if e.word {
		for _, c := range out.Bytes {
			out.Word = out.Word<<8 | uint64(c)
		}
		out.Bytes = nil
	}
	return out, nil
}

func (e *Encoder) padding(i int) int {
	if e.width > 0 {
		return e.widths[i]
	}
	return 0
}

func appendDatum(b []byte, v types.Datum, t types.Type, last bool) ([]byte, error) {
	word := func(w uint64) []byte {
		n := mustWidth(t)
		var x [8]byte
		binary.BigEndian.PutUint64(x[:], w<<(64-8*n))
		return append(b, x[:n]...)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return word(1), nil
		}
		return word(0), nil
	case int64:
		if t.Kind != types.Char && t.Kind != types.Varchar && mustWidth(t) > 0 {
			return word(uint64(v) ^ 1<<(8*mustWidth(t)-1)), nil
		}
	case float32:
		return word(uint64(floatBits(v))), nil
	case float64:
		return word(doubleBits(v)), nil
	case decimal128.Num:
		if t.Precision <= 18 {
			return word(v.LowBits() ^ 1<<63), nil
		}
		b = append(b, make([]byte, 16)...)
		putDecimal(b[len(b)-16:], v)
		return b, nil
	case string:
		return appendString(b, []byte(v), last), nil
	case []byte:
		return appendString(b, v, last), nil
	case types.Instant:
		switch {
		case t.Precision <= 3:
			return word(uint64(v.Millis) ^ 1<<63), nil
		case t.Precision <= 6:
			return word(uint64(v.Millis*1000+int64(v.Nanos/1000)) ^ 1<<63), nil
		}
		b = append(b, make([]byte, 12)...)
		putInstant(b[len(b)-12:], v)
		return b, nil
	}
	return nil, fmt.Errorf("kv: value %v (%T) is no %v", v, v, t)
}
