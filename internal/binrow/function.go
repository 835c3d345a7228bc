package binrow

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// BucketFunction gives rows their buckets. It is used by one goroutine at a time.
type BucketFunction interface {
	// Buckets appends the bucket of each row, 0..n-1, to out. n must be positive.
	Buckets(rec arrow.RecordBatch, n int, out []int32) []int32
}

// NewBucketFunction gives the function that `bucket-function.type` names (default, mod, hive) for the
// bucket key: columns cols of the types ts. A type that the function does not know is an error.
func NewBucketFunction(name string, cols []int, ts []types.Type) (BucketFunction, error) {
	h, err := NewHasher(cols, ts)
	if err != nil {
		return nil, err
	}
	switch name {
	case "", "default":
		return &hashBuckets{h: h}, nil
	case "mod":
		if len(ts) != 1 || ts[0].Kind != types.Int && ts[0].Kind != types.BigInt {
			return nil, fmt.Errorf("bucket-function.type=mod takes a bucket key of one INT or BIGINT column, not of %v", ts)
		}
		return &modBuckets{col: cols[0]}, nil
	case "hive":
		for i, t := range ts {
			if t.Kind == types.Timestamp || t.Kind == types.TimestampLTZ {
				return nil, fmt.Errorf("bucket-function.type=hive has no hash for %v (column %d of the bucket key)", t, i)
			}
		}
		return &hiveBuckets{cols: slices.Clone(cols), ts: slices.Clone(ts)}, nil
	}
	return nil, fmt.Errorf("bucket-function.type=%s is not known; there are default, mod, hive", name)
}

type hashBuckets struct {
	h   *Hasher
	buf []int32
}

func (f *hashBuckets) Buckets(rec arrow.RecordBatch, n int, out []int32) []int32 {
	f.buf = f.h.Hash(rec, f.buf[:0])
	for _, h := range f.buf {
		out = append(out, int32(Bucket(h, n)))
	}
	return out
}

type modBuckets struct{ col int }

func (f *modBuckets) Buckets(rec arrow.RecordBatch, n int, out []int32) []int32 {
	col := rec.Column(f.col)
	for i := range int(rec.NumRows()) {
		var v int64 // NULL counts as 0
		if !col.IsNull(i) {
			switch a := col.(type) {
			case *array.Int64:
				v = a.Value(i)
			case *array.Int32:
				v = int64(a.Value(i))
			}
		}
		m := v % int64(n)
		if m < 0 {
			m += int64(n)
		}
		out = append(out, int32(m))
	}
	return out
}

// hiveBuckets follows Hive's hash of bucketed tables. It is rare, so it goes value by value.
type hiveBuckets struct {
	cols []int
	ts   []types.Type
}

func (f *hiveBuckets) Buckets(rec arrow.RecordBatch, n int, out []int32) []int32 {
	for row := range int(rec.NumRows()) {
		var h int32
		for i, c := range f.cols {
			h = 31*h + hiveHash(&f.ts[i], types.DatumAt(rec.Column(c), row, f.ts[i]))
		}
		out = append(out, (h&math.MaxInt32)%int32(n))
	}
	return out
}

func hiveHash(t *types.Type, v types.Datum) int32 {
	switch x := v.(type) {
	case bool:
		if x {
			return 1
		}
	case int64:
		if t.Kind == types.BigInt {
			return foldLong(x)
		}
		return int32(x)
	case float32:
		switch {
		case x != x:
			return 0x7fc00000 // all NaNs are one
		case x != 0: // 0.0 and -0.0 are one
			return int32(math.Float32bits(x))
		}
	case float64:
		switch {
		case x != x:
			return foldLong(0x7ff8000000000000)
		case x != 0:
			return foldLong(int64(math.Float64bits(x)))
		}
	case string:
		return hiveBytes([]byte(x))
	case []byte:
		return hiveBytes(x)
	case decimal128.Num:
		return hiveDecimal(x, t.Scale)
	}
	return 0
}

func foldLong(x int64) int32 { return int32(x ^ int64(uint64(x)>>32)) }

func hiveBytes(b []byte) int32 {
	var h int32
	for _, x := range b {
		h = 31*h + int32(int8(x))
	}
	return h
}

// hiveDecimal is the hash of the decimal without trailing zeros after the point, as Java's
// BigDecimal has it: 31 times the hash of the unscaled value plus the scale.
func hiveDecimal(d decimal128.Num, scale int) int32 {
	v := d.BigInt()
	if v.Sign() == 0 {
		return 0
	}
	ten, rest := big.NewInt(10), new(big.Int)
	for ; scale > 0; scale-- {
		q := new(big.Int)
		if q.QuoRem(v, ten, rest); rest.Sign() != 0 {
			break
		}
		v = q
	}
	// Values that fit into 64 bits are hashed by magnitude too; both ways of Java agree.
	var h int32
	abs := new(big.Int).Abs(v).Bytes()
	for len(abs)%4 != 0 {
		abs = append([]byte{0}, abs...)
	}
	for i := 0; i < len(abs); i += 4 {
		w := int32(uint32(abs[i])<<24 | uint32(abs[i+1])<<16 | uint32(abs[i+2])<<8 | uint32(abs[i+3]))
		h = 31*h + w
	}
	if v.Sign() < 0 {
		h = -h
	}
	return 31*h + int32(scale)
}
