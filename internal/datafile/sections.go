package datafile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// KeyRange is a data file with its smallest and largest key, decoded once for many comparisons.
type KeyRange struct {
	File     *manifest.DataFile
	min, max key
}

// key is a decoded key: one integer where the key is one, else the values.
type key struct {
	n    int64
	vals []types.Datum
}

// KeyOrder compares keys of one table.
type KeyOrder struct {
	ts  []types.Type
	int bool // one column that BinaryRow holds as an integer
}

// NewKeyOrder makes the order of the trimmed primary key's columns.
func NewKeyOrder(ts []types.Type) *KeyOrder {
	o := &KeyOrder{ts: ts}
	if len(ts) == 1 {
		switch ts[0].Kind {
		case types.TinyInt, types.SmallInt, types.Int, types.BigInt, types.Date, types.Time:
			o.int = true
		}
	}
	return o
}

func (o *KeyOrder) decode(b []byte) (key, error) {
	// arity, null bits of up to 56 columns, the value: the usual key needs no more.
	if o.int && len(b) == 4+16 && binary.BigEndian.Uint32(b) == 1 && b[5] == 0 {
		v := binary.LittleEndian.Uint64(b[12:])
		switch o.ts[0].Kind {
		case types.TinyInt:
			return key{n: int64(int8(v))}, nil
		case types.SmallInt:
			return key{n: int64(int16(v))}, nil
		case types.BigInt:
			return key{n: int64(v)}, nil
		default:
			return key{n: int64(int32(v))}, nil
		}
	}
	vals, err := binrow.DecodeWithArity(b, o.ts)
	if err != nil {
		return key{}, err
	}
	if o.int {
		n, ok := vals[0].(int64)
		if !ok {
			return key{}, fmt.Errorf("key is NULL")
		}
		return key{n: n}, nil
	}
	return key{vals: vals}, nil
}

func (o *KeyOrder) compare(a, b key) int {
	if o.int {
		return cmp.Compare(a.n, b.n)
	}
	for i, t := range o.ts {
		if c := types.Compare(t, a.vals[i], b.vals[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Ranges decodes the key ranges of files.
func (o *KeyOrder) Ranges(files []*manifest.DataFile) ([]KeyRange, error) {
	out := make([]KeyRange, len(files))
	for i, f := range files {
		lo, err := o.decode(f.MinKey)
		if err != nil {
			return nil, fmt.Errorf("datafile: smallest key of %s: %w", f.Name, err)
		}
		hi, err := o.decode(f.MaxKey)
		if err != nil {
			return nil, fmt.Errorf("datafile: largest key of %s: %w", f.Name, err)
		}
		out[i] = KeyRange{f, lo, hi}
	}
	return out, nil
}

// Backwards reports whether the smallest key of a file is larger than its largest, which cannot be. Files with
// keys of floating point are let pass: the reference has another order for some of them.
func (o *KeyOrder) Backwards(r KeyRange) bool {
	return o.compare(r.min, r.max) > 0 &&
		!slices.ContainsFunc(o.ts, func(t types.Type) bool { return t.Kind == types.Float || t.Kind == types.Double })
}

// Overlap reports whether two files may have a key in common.
func (o *KeyOrder) Overlap(a, b KeyRange) bool {
	return o.compare(a.min, b.max) <= 0 && o.compare(b.min, a.max) <= 0
}

// CompareMin orders files by their smallest key, then by their largest.
func (o *KeyOrder) CompareMin(a, b KeyRange) int {
	if c := o.compare(a.min, b.min); c != 0 {
		return c
	}
	return o.compare(a.max, b.max)
}

// Sections cuts files into groups in key order such that files of different groups have no key in
// common, and groups cannot be cut further.
func (o *KeyOrder) Sections(files []*manifest.DataFile) ([][]*manifest.DataFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	rs, err := o.Ranges(files)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rs, o.CompareMin)
	var out [][]*manifest.DataFile
	var cur []*manifest.DataFile
	var bound key
	for _, r := range rs {
		if cur != nil && o.compare(r.min, bound) > 0 {
			out, cur = append(out, cur), nil
		}
		if cur == nil || o.compare(r.max, bound) > 0 {
			bound = r.max
		}
		cur = append(cur, r.File)
	}
	return append(out, cur), nil
}
