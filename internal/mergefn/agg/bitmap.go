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

// sets unites sets, which the column has as bytes.
type sets struct {
	what string // a value is
	make func() set
}

// set is a set, or a sketch of one, that grows by others in bytes.
type set interface {
	// add unites the set with v. It does not keep v. older: v is of an older row than those before.
	add(v []byte, older bool) error
	bytes() ([]byte, error)
}

func newSets(name, what string, empty func() set) func(Config) (Func, error) {
	return func(c Config) (Func, error) {
		if c.Field.Type.Kind != types.Varbinary {
			return nil, wrongType(name, c, "VARBINARY")
		}
		return &sets{what, empty}, nil
	}
}

func (*sets) Retracts() bool { return false }

func (f *sets) Fold(in *Input) (Result, error) {
	col := textsOf(in.Column)
	out := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	defer out.Release()
	from := int32(0)
	for _, end := range in.Ends {
		var only []byte // the set if there is one only: it is not looked into, as it may be of any form
		var all set
		some := false
		for i, r := range in.Refs[from:end] {
			switch {
			case col.isNull(r):
				continue
			case !some:
				some, only = true, col.at(r)
				continue
			case all == nil:
				all = f.make()
				if err := f.unite(all, only, false); err != nil {
					return Result{}, err
				}
			}
			older := in.Ops != nil && in.Ops[int(from)+i] == AddOlder
			if err := f.unite(all, col.at(r), older); err != nil {
				return Result{}, err
			}
		}
		from = end
		switch {
		case all != nil:
			b, err := all.bytes()
			if err != nil {
				return Result{}, fmt.Errorf("writing a %s: %w", f.what, err)
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

// unite adds a set in bytes to another.
func (f *sets) unite(all set, v []byte, older bool) error {
	if err := all.add(v, older); err != nil {
		return fmt.Errorf("a value of %d bytes is no %s in the format of the function: %w", len(v), f.what, err)
	}
	return nil
}

// ints is a set of 32-bit numbers, in the portable format of Roaring.
type ints struct{ roaring.Bitmap }

func (s *ints) add(v []byte, _ bool) error {
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
