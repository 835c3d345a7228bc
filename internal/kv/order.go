package kv

import (
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Order is the order of the versions of a key: first the user's sequence fields, then the sequence
// number, then, for versions equal in both, the order of the runs they are in.
type Order struct {
	Sequence []int    // columns of sequence fields, none if the table has none
	Encoder  *Encoder // of these, of NewSequenceEncoder
	Number   int      // column of sequence numbers, -1 if the order of runs says it
}

// RunOrder is the order of runs alone.
var RunOrder = Order{Number: -1}

func (o *Order) active() bool { return o.Number >= 0 || len(o.Sequence) > 0 }

// versions holds what Order needs of a batch.
type versions struct {
	user   Keys
	number []int64
}

func (o *Order) of(rec arrow.RecordBatch) (versions, error) {
	var v versions
	if o.Number >= 0 {
		a, ok := rec.Column(o.Number).(*array.Int64)
		if !ok {
			return v, fmt.Errorf("kv: sequence numbers are of type %s", rec.Column(o.Number).DataType())
		}
		v.number = a.Int64Values()
	}
	if len(o.Sequence) > 0 {
		cols := make([]arrow.Array, len(o.Sequence))
		for i, c := range o.Sequence {
			cols[i] = rec.Column(c)
		}
		var err error
		if v.user, err = o.Encoder.Encode(cols); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (v *versions) compare(i int, o *versions, j int) int {
	if v.user.n > 0 {
		if c := v.user.At(i).Compare(o.user.At(j)); c != 0 {
			return c
		}
	}
	if v.number != nil {
		return cmp.Compare(v.number[i], o.number[j])
	}
	return 0
}
