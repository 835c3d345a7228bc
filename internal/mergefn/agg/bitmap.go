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

// bitmaps unites bitmaps.
type bitmaps struct {
	name string
	make func() bitmap
}

// bitmap is a set of numbers that grows by others in bytes.
type bitmap interface {
	add(v []byte) error
	bytes() ([]byte, error)
}

func newBitmaps(name string, empty func() bitmap) func(Config) (Func, error) {
	return func(c Config) (Func, error) {
		if c.Field.Type.Kind != types.Varbinary {
			return nil, wrongType(name, c, "VARBINARY")
		}
		return &bitmaps{name, empty}, nil
	}
}

func (*bitmaps) Retracts() bool { return false }

func (f *bitmaps) Fold(in *Input) (Result, error) {
	col := textsOf(in.Column)
	out := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	defer out.Release()
	from := int32(0)
	for _, end := range in.Ends {
		var only []byte // the bitmap if there is one only: it is not looked into, as it may be of any form
		var all bitmap
		some := false
		for _, r := range in.Refs[from:end] {
			switch {
			case col.isNull(r):
				continue
			case !some:
				some, only = true, col.at(r)
				continue
			case all == nil:
				all = f.make()
				if err := f.unite(all, only); err != nil {
					return Result{}, err
				}
			}
			if err := f.unite(all, col.at(r)); err != nil {
				return Result{}, err
			}
		}
		from = end
		switch {
		case all != nil:
			b, err := all.bytes()
			if err != nil {
				return Result{}, fmt.Errorf("%s: writing a bitmap: %w", f.name, err)
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
func (f *bitmaps) unite(all bitmap, v []byte) error {
	if err := all.add(v); err != nil {
		return fmt.Errorf("%s: a value of %d bytes is no Roaring bitmap in the format of the function: %w", f.name, len(v), err)
	}
	return nil
}

// ints is a set of 32-bit numbers, in the portable format of Roaring.
type ints struct{ roaring.Bitmap }

func (s *ints) add(v []byte) error {
	b := roaring.New()
	n, err := b.ReadFrom(bytes.NewReader(v)) // copies: what is united may outlive the batch
	if err == nil && n != int64(len(v)) {
		err = fmt.Errorf("%d bytes are left over", int64(len(v))-n)
	}
	if err == nil {
		err = b.Validate()
	}
	if err != nil {
		return err
	}
	s.Or(b)
	return nil
}

func (s *ints) bytes() ([]byte, error) {
	s.RunOptimize()
	return s.ToBytes()
}
