package bucket

import (
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/paths"
)

// Replace says which partitions the rows of a Crossing replace.
type Replace int

const (
	ReplaceNothing Replace = iota
	// ReplaceOthers: those whose keys Load does not give.
	ReplaceOthers
	// ReplaceWritten: those that rows come to.
	ReplaceWritten
)

// ofTable is the tick of a key that the table has, where partitions are replaced: keys without it are of the rows that replace.
const ofTable = 1

// stay is what is found out about partitions where rows replace those that they come to.
type stay struct {
	written map[int32]bool
	left    map[int32]string // keys, by the partition that they have to be gone from
}

// replace tells whether a row may come to a partition that is replaced, whose key the table has elsewhere or there; it is left out if not.
// A key that is in a partition that stays would be in two.
func (x *Crossing) replace(b batch.Batch, row int, p int32, have place) (bool, error) {
	switch {
	case have.part == p:
		return true, nil
	case x.c.Move == DropRow && x.c.Replace == ReplaceOthers:
		return false, nil
	case x.c.Replace == ReplaceOthers:
		return false, x.stays(x.nameOf(b.RecordBatch, row), have.part)
	}
	if x.stay.left == nil {
		x.stay.left = map[int32]string{}
	}
	if x.stay.left[have.part] == "" {
		x.stay.left[have.part] = x.nameOf(b.RecordBatch, row)
	}
	return true, nil
}

func (x *Crossing) stays(key string, p int32) error {
	return fmt.Errorf("overwrite table %s: %w: the %s is in partition %s, which is not replaced, and would be in two: delete it there before, replace that partition, too, or write without replacing", x.c.Table, paths.ErrInvalid, key, x.textOf(p))
}

// checkStay looks whether partitions that keys have to be gone from are replaced.
func (x *Crossing) checkStay() error {
	for p, key := range x.stay.left {
		if !x.stay.written[p] {
			return x.stays(key, p)
		}
	}
	return nil
}

// write notes the partitions that rows come to.
func (s *stay) write(parts []int32) {
	if s.written == nil {
		s.written = map[int32]bool{}
	}
	for _, p := range slices.Compact(slices.Clone(parts)) {
		s.written[p] = true
	}
}
