package format

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/types"
)

// CheckBatch refuses a batch whose columns are not of the types of a file's columns: fields, as Arrow has them in want. Names
// are the caller's business.
func CheckBatch(fields []types.Field, want, got *arrow.Schema) error {
	if got.NumFields() != len(fields) {
		return fmt.Errorf("batch has %d columns, the file has %d", got.NumFields(), len(fields))
	}
	for i, f := range want.Fields() {
		if g := got.Field(i).Type; !sameShape(f.Type, g) {
			return fmt.Errorf("column %s: the batch has %s, the file's type %s takes %s", f.Name, g, fields[i].Type, f.Type)
		}
	}
	return nil
}

// sameShape reports whether arrays of two types are laid out alike and mean the same.
func sameShape(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	x, ok1 := a.(arrow.NestedType)
	y, ok2 := b.(arrow.NestedType)
	if !ok1 || !ok2 {
		return arrow.TypeEqual(a, b)
	}
	return slices.EqualFunc(x.Fields(), y.Fields(), func(f, g arrow.Field) bool { return sameShape(f.Type, g.Type) })
}
