package agg

import (
	"bytes"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/types"
)

// bitmaps unites bitmaps of 32-bit numbers, in the portable format of Roaring.
type bitmaps struct{}

func newBitmaps(c Config) (Func, error) {
	if c.Field.Type.Kind != types.Varbinary {
		return nil, wrongType("rbm32", c, "VARBINARY")
	}
	return bitmaps{}, nil
}

func (bitmaps) Retracts() bool { return false }

func (bitmaps) Fold(in *Input) (Result, error) {
	col := textsOf(in.Column)
	out := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	defer out.Release()
	from := int32(0)
	for _, end := range in.Ends {
		var only []byte // the bitmap if there is one only: it is not looked into, as it may be of any form
		var all *roaring.Bitmap
		some := false
		for _, r := range in.Refs[from:end] {
			switch {
			case col.isNull(r):
				continue
			case !some:
				some, only = true, col.at(r)
				continue
			case all == nil:
				all = roaring.New()
				if err := unite(all, only); err != nil {
					return Result{}, err
				}
			}
			if err := unite(all, col.at(r)); err != nil {
				return Result{}, err
			}
		}
		from = end
		switch {
		case all != nil:
			all.RunOptimize()
			b, err := all.ToBytes()
			if err != nil {
				return Result{}, fmt.Errorf("rbm32: writing a bitmap: %w", err)
			}
			out.Append(b)
		case some:
			out.Append(only)
		default:
			out.AppendNull()
		}
	}
	return Result{Values: out.NewArray()}, nil
}

// unite adds the numbers of a bitmap in bytes to another.
func unite(all *roaring.Bitmap, v []byte) error {
	b := roaring.New()
	n, err := b.ReadFrom(bytes.NewReader(v)) // copies: what is united may outlive the batch
	if err == nil && n != int64(len(v)) {
		err = fmt.Errorf("%d bytes are left over", int64(len(v))-n)
	}
	if err == nil {
		err = b.Validate()
	}
	if err != nil {
		return fmt.Errorf("rbm32: a value of %d bytes is no Roaring bitmap of the portable format: %w", len(v), err)
	}
	all.Or(b)
	return nil
}
