package kv

import (
	"cmp"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
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

// Versions is what Order needs of the batches of a window. It is immutable.
type Versions struct{ of []versions }

// Versions looks at the batches of a window; nil if the order of runs alone counts.
func (o *Order) Versions(window []arrow.RecordBatch) (*Versions, error) {
	if !o.active() {
		return nil, nil
	}
	v := &Versions{make([]versions, len(window))}
	for i, rec := range window {
		var err error
		if v.of[i], err = o.of(rec); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Arrange brings the versions of each group of the window into order, in place. Equal ones stay as
// they are.
func (v *Versions) Arrange(g *Groups) {
	if v != nil {
		arrange(g, func(src int32) *versions { return &v.of[src] })
	}
}

func arrange(g *Groups, of func(src int32) *versions) {
	compare := func(a, b batch.Ref) int { return of(a.Src).compare(int(a.Row), of(b.Src), int(b.Row)) }
	from := int32(0)
	for _, end := range g.Ends {
		if end-from > 1 {
			sortVersions(g.Refs[from:end], compare)
		}
		from = end
	}
}
