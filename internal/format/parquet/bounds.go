package parquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/types"
)

// boundKind says how the values of a leaf are ordered.
type boundKind uint8

const (
	boundNone  boundKind = iota
	boundInt             // integers of all kinds, booleans as 0 and 1
	boundFloat           // the bits of FLOAT or DOUBLE, see floatOrder
	boundBytes
	boundDecimal // two's complement, big-endian, of fixed size
)

// bounds are the least and the greatest value of a page, a column chunk or a file.
type bounds struct {
	has    bool
	lo, hi int64
	blo    []byte
	bhi    []byte
	nan    bool
}

// floatOrder maps the bits of a float to integers in the order -NaN, -Inf, …, -0, 0, …, Inf, NaN;
// it is its own inverse.
func floatOrder(x int64) int64 { return x ^ int64(uint64(x>>63)>>1) }

var infOrder = floatOrder(int64(math.Float64bits(math.Inf(1))))

// addInts takes values in; those of floats are already in floatOrder.
func (b *bounds) addInts(v []int64) {
	if len(v) == 0 {
		return
	}
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo = min(lo, x)
		hi = max(hi, x)
	}
	b.addRange(lo, hi)
}

func (b *bounds) addRange(lo, hi int64) {
	if b.has {
		lo, hi = min(lo, b.lo), max(hi, b.hi)
	}
	b.lo, b.hi, b.has = lo, hi, true
}

// addFloats is addInts for the bits of doubles.
func (b *bounds) addFloats(v []int64) {
	if len(v) == 0 {
		return
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range v {
		x = floatOrder(x)
		lo = min(lo, x)
		hi = max(hi, x)
	}
	if hi <= infOrder && lo >= -infOrder-1 {
		b.addRange(lo, hi)
		return
	}
	b.nan = true
	for _, x := range v {
		if x = floatOrder(x); x <= infOrder && x >= -infOrder-1 {
			b.addRange(x, x)
		}
	}
}

// prefix is the order of the first eight bytes.
func prefix(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var t [8]byte
	copy(t[:], b)
	return binary.BigEndian.Uint64(t[:])
}

// addStrings takes in the values between offsets.
func (b *bounds) addStrings(offs []int32, data []byte) {
	if len(offs) < 2 {
		return
	}
	lo := data[offs[0]:offs[1]]
	hi := lo
	if b.has {
		lo, hi = b.blo, b.bhi
	}
	lp, hp := prefix(lo), prefix(hi)
	for i := range len(offs) - 1 {
		v := data[offs[i]:offs[i+1]]
		p := prefix(v)
		if p <= lp && (p < lp || bytes.Compare(v, lo) < 0) {
			lo, lp = v, p
		}
		if p >= hp && (p > hp || bytes.Compare(v, hi) > 0) {
			hi, hp = v, p
		}
	}
	b.setBytes(lo, hi)
}

func (b *bounds) setBytes(lo, hi []byte) {
	b.blo, b.bhi = append(b.blo[:0:0], lo...), append(b.bhi[:0:0], hi...)
	b.has = true
}

// compareSigned orders two's complement numbers of the same size.
func compareSigned(x, y []byte) int {
	if x[0]^y[0] >= 0x80 {
		return int(y[0]>>7) - int(x[0]>>7)
	}
	return bytes.Compare(x, y)
}

func (b *bounds) addDecimals(data []byte, width int) {
	for ; len(data) >= width; data = data[width:] {
		v := data[:width]
		if !b.has {
			b.setBytes(v, v)
			continue
		}
		if compareSigned(v, b.blo) < 0 {
			b.blo = append(b.blo[:0], v...)
		}
		if compareSigned(v, b.bhi) > 0 {
			b.bhi = append(b.bhi[:0], v...)
		}
	}
}

// merge takes other bounds in.
func (b *bounds) merge(o *bounds, kind boundKind) {
	b.nan = b.nan || o.nan
	if !o.has {
		return
	}
	switch {
	case kind == boundInt || kind == boundFloat:
		b.addRange(o.lo, o.hi)
	case !b.has:
		b.setBytes(o.blo, o.bhi)
	default:
		cmp := bytes.Compare
		if kind == boundDecimal {
			cmp = compareSigned
		}
		if cmp(o.blo, b.blo) < 0 {
			b.blo = append(b.blo[:0:0], o.blo...)
		}
		if cmp(o.bhi, b.bhi) > 0 {
			b.bhi = append(b.bhi[:0:0], o.bhi...)
		}
	}
}

// compare orders two bounds by their least (0) or greatest (1) values.
func (b *bounds) compare(o *bounds, kind boundKind, side int) int {
	x, y, bx, by := b.lo, o.lo, b.blo, o.blo
	if side == 1 {
		x, y, bx, by = b.hi, o.hi, b.bhi, o.bhi
	}
	switch kind {
	case boundBytes:
		return bytes.Compare(bx, by)
	case boundDecimal:
		return compareSigned(bx, by)
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// plain gives the bounds as files hold them; ok is false if a file must not name them.
func (b *bounds) plain(kind boundKind, phys physical) (lo, hi []byte, ok bool) {
	if !b.has || b.nan || kind == boundNone {
		return nil, nil, false
	}
	l, h := b.lo, b.hi
	switch kind {
	case boundBytes, boundDecimal:
		return b.blo, b.bhi, true
	case boundFloat:
		// Zeros compare as equal, so that a bound of zero has to stand for both.
		if l == 0 {
			l = -1
		}
		if h == -1 {
			h = 0
		}
		l, h = floatOrder(l), floatOrder(h)
		if phys == physFloat {
			l, h = int64(math.Float32bits(float32(math.Float64frombits(uint64(l))))), int64(math.Float32bits(float32(math.Float64frombits(uint64(h)))))
		}
	}
	switch phys {
	case physBool:
		return []byte{byte(l)}, []byte{byte(h)}, true
	case physInt32, physFloat:
		return binary.LittleEndian.AppendUint32(nil, uint32(l)), binary.LittleEndian.AppendUint32(nil, uint32(h)), true
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(l)), binary.LittleEndian.AppendUint64(nil, uint64(h)), true
}

// columnStats makes the statistics for manifests. The rules are those of the reference: INT96 and
// bytes have no bounds, NaN is the greatest value.
func (b *bounds) columnStats(t types.Type, m format.StatsMode, nulls int64) format.ColumnStats {
	if m.Kind == format.StatsNone {
		return format.ColumnStats{NullCount: -1}
	}
	s := format.ColumnStats{NullCount: nulls}
	if m.Kind == format.StatsCounts || !b.has && !b.nan {
		return s
	}
	switch t.Kind {
	case types.Boolean:
		s.Min, s.Max = b.lo != 0, b.hi != 0
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Date, types.Time:
		s.Min, s.Max = b.lo, b.hi
	case types.Float, types.Double:
		s.Min, s.Max = b.floats(t.Kind == types.Float)
	case types.Decimal:
		if t.Precision <= 18 {
			s.Min, s.Max = decimal128.FromI64(b.lo), decimal128.FromI64(b.hi)
			break
		}
		lo, err1 := bigEndian(b.blo)
		hi, err2 := bigEndian(b.bhi)
		if err1 == nil && err2 == nil {
			s.Min, s.Max = lo, hi
		}
	case types.Char, types.Varchar:
		s.Min, s.Max = format.CutStrings(b.blo, b.bhi, m)
	case types.Timestamp, types.TimestampLTZ:
		if t.Precision <= 6 {
			unit := arrow.Millisecond
			if t.Precision > 3 {
				unit = arrow.Microsecond
			}
			s.Min, s.Max = types.InstantOf(b.lo, unit), types.InstantOf(b.hi, unit)
		}
	}
	return s
}

func (b *bounds) floats(single bool) (lo, hi types.Datum) {
	l, h := math.NaN(), math.NaN()
	if b.has {
		l = math.Float64frombits(uint64(floatOrder(b.lo)))
		if !b.nan {
			h = math.Float64frombits(uint64(floatOrder(b.hi)))
		}
	}
	if single {
		return float32(l), float32(h)
	}
	return l, h
}
