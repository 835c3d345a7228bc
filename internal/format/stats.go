package format

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/types"
)

// Collector makes the statistics of columns from their values, for formats whose files do not keep any. The rules are those
// of the reference: bytes and nested columns have no bounds, texts are cut, NaN is the greatest number.
type Collector struct {
	cols []collected
}

type collected struct {
	typ      types.Type
	mode     StatsMode
	nulls    int64
	min, max types.Datum
	lo, hi   []byte // of texts
}

// NewCollector makes a Collector; modes are WriteOptions.Stats.
func NewCollector(fields []types.Field, modes []StatsMode) *Collector {
	c := &Collector{cols: make([]collected, len(fields))}
	for i, f := range fields {
		c.cols[i].typ = f.Type
		if modes != nil {
			c.cols[i].mode = modes[i]
		}
	}
	return c
}

// Add takes the values of a batch of the columns in.
func (c *Collector) Add(rec arrow.RecordBatch) {
	for i := range c.cols {
		c.cols[i].add(rec.Column(i))
	}
}

// Stats gives what was found.
func (c *Collector) Stats() []ColumnStats {
	out := make([]ColumnStats, len(c.cols))
	for i := range c.cols {
		x := &c.cols[i]
		switch out[i].NullCount = x.nulls; {
		case x.mode.Kind == StatsNone:
			out[i].NullCount = -1
		case x.lo != nil:
			out[i].Min, out[i].Max = CutStrings(x.lo, x.hi, x.mode)
		default:
			out[i].Min, out[i].Max = x.min, x.max
		}
	}
	return out
}

func (c *collected) add(a arrow.Array) {
	if c.mode.Kind == StatsNone {
		return
	}
	c.nulls += int64(a.NullN())
	if c.mode.Kind == StatsCounts || a.NullN() == a.Len() {
		return
	}
	switch a := a.(type) {
	case *array.Int8:
		addInts(c, a, a.Int8Values())
	case *array.Int16:
		addInts(c, a, a.Int16Values())
	case *array.Int32:
		addInts(c, a, a.Int32Values())
	case *array.Int64:
		addInts(c, a, a.Int64Values())
	case *array.Date32:
		addInts(c, a, a.Date32Values())
	case *array.Time32:
		addInts(c, a, a.Time32Values())
	case *array.String:
		c.addTexts(a)
	case *array.Boolean, *array.Float32, *array.Float64, *array.Decimal128, *array.Timestamp:
		if types.IsNanos(c.typ) {
			return
		}
		for i := range a.Len() {
			if v := types.DatumAt(a, i, c.typ); v != nil {
				c.addRange(v, v)
			}
		}
	}
}

func (c *collected) addRange(lo, hi types.Datum) {
	if c.min == nil || types.Compare(c.typ, lo, c.min) < 0 {
		c.min = lo
	}
	if c.max == nil || types.Compare(c.typ, hi, c.max) > 0 {
		c.max = hi
	}
}

func addInts[T ~int8 | ~int16 | ~int32 | ~int64](c *collected, a arrow.Array, vals []T) {
	var lo, hi T
	some := false
	for i, v := range vals {
		if a.IsNull(i) {
			continue
		}
		if !some {
			lo, hi, some = v, v, true
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	if some {
		c.addRange(int64(lo), int64(hi))
	}
}

func (c *collected) addTexts(a *array.String) {
	lo, hi := -1, -1
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		if lo < 0 || a.Value(i) < a.Value(lo) {
			lo = i
		}
		if hi < 0 || a.Value(i) > a.Value(hi) {
			hi = i
		}
	}
	if l := []byte(a.Value(lo)); c.lo == nil || bytes.Compare(l, c.lo) < 0 {
		c.lo = append([]byte{}, l...)
	}
	if h := []byte(a.Value(hi)); c.hi == nil || bytes.Compare(h, c.hi) > 0 {
		c.hi = h
	}
}

// defaultCut is the number of characters kept if a mode names none.
const defaultCut = 16

// CutStrings cuts bounds to the length that the mode wants: the lower one is cut, the upper one is cut and
// its last character that can be is raised. If there is no such upper bound, both are unknown.
func CutStrings(lo, hi []byte, m StatsMode) (min, max types.Datum) {
	if m.Kind == StatsFull {
		return string(lo), string(hi)
	}
	n := m.Length
	if n <= 0 {
		n = defaultCut
	}
	h, cut := firstRunes(hi, n)
	if cut {
		var ok bool
		if h, ok = Raise(h); !ok {
			return nil, nil
		}
	}
	l, _ := firstRunes(lo, n)
	return string(l), string(h)
}

func firstRunes(b []byte, n int) (head []byte, cut bool) {
	at := 0
	for range n {
		if at == len(b) {
			return b, false
		}
		_, k := utf8.DecodeRune(b[at:])
		at += k
	}
	return b[:at], at < len(b)
}

// Raise gives the least string above all that begin with b, of at most as many characters.
func Raise(b []byte) ([]byte, bool) {
	for len(b) > 0 {
		r, k := utf8.DecodeLastRune(b)
		if r == utf8.RuneError && k <= 1 {
			return nil, false // not UTF-8: no bound can be named as a string
		}
		b = b[:len(b)-k]
		if r++; r == 0xD800 {
			r = 0xE000 // surrogates are no characters
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(slices.Clone(b), r), true
		}
	}
	return nil, false
}
