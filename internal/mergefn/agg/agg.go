// Package agg holds aggregate functions: each folds the versions of one column of a key into one value.
// A new function is one file and one line in the table of this file.
//
// Functions work on many keys at once. They see references to rows, in the order in which they are to be
// folded, and give either references, where the result is one of the values, or a new column.
package agg

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// funcs are the functions by the value of `fields.<column>.aggregate-function`.
var funcs = map[string]func(Config) (Func, error){
	"sum":                    newSum,
	"product":                newProduct,
	"max":                    newExtreme("max", -1),
	"min":                    newExtreme("min", 1),
	"bool_and":               newBool("bool_and", 1),
	"bool_or":                newBool("bool_or", -1),
	"listagg":                newListagg,
	"nested_update":          newNested("nested_update", false),
	"nested_partial_update":  newNested("nested_partial_update", true),
	"rbm32":                  newSets("rbm32", "Roaring bitmap", func() set { return &ints{} }),
	"rbm64":                  newSets("rbm64", "Roaring bitmap", func() set { return longs{} }),
	"hll_sketch":             newSets("hll_sketch", "HLL sketch", func() set { return &hllSketch{} }),
	"theta_sketch":           newSets("theta_sketch", "theta sketch", func() set { return &thetaSketch{} }),
	"collect":                newCollect,
	"merge_map":              newMergeMap,
	"merge_map_with_keytime": newMergeMapWithKeyTime,
	"last_value":             pick(picking{true, lastValue}),
	"last_non_null_value":    pick(picking{true, lastNonNullValue}),
	"first_value":            pick(picking{false, firstValue}),
	"first_non_null_value":   pick(picking{false, firstNonNullValue}),
	"first_not_null_value":   pick(picking{false, firstNonNullValue}), // its name in some releases
}

// Config is what a function knows of its column.
type Config struct {
	Field types.Field
	// Option gives the table option fields.<column>.<name>.
	Option func(name string) (string, bool)
}

// Func is an aggregate function of a column. It is immutable and safe for concurrent use.
type Func interface {
	// Fold gives the value of each group of the input.
	Fold(in *Input) (Result, error)
	// Retracts reports whether rows may be taken back. If not, no Op of an input is Retract.
	Retracts() bool
}

// Op says how a row is folded into the value that its group has so far.
type Op uint8

// Ops.
const (
	Add      Op = iota
	AddOlder    // the row is older than those folded so far, as in sequence groups: as if it had come before them
	Retract     // the row takes its value back (-U, -D)
	Base        // only the first of a group: its value is what the others are folded into, of a row that was deleted
)

// Input is versions of keys. A group without rows gives NULL.
type Input struct {
	Column []arrow.Array // the column in each batch of the window, in types of types.WideArrowType
	Refs   []batch.Ref   // rows of the window, group after group, in the order to fold them
	Ends   []int32       // for each group the end of its part of Refs
	Ops    []Op          // for each of Refs; nil: all are Add
}

// Result is one value for each group.
type Result struct {
	Rows   []batch.Ref // where the value is copied from, batch.NullRef for NULL; nil if Values is set
	Values arrow.Array // the values themselves
}

// New makes the function of a column. Errors name what is wrong with its name, type or options; they do not
// name the column.
func New(name string, c Config) (Func, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	f, ok := funcs[name]
	switch {
	case name == "count": // releases 0.7 and 0.8 had it
		return nil, errors.New("there is no aggregate function count: take sum, and write 1 into each row that is to be counted")
	case !ok:
		return nil, fmt.Errorf("unknown aggregate function %q (known: %s)", name, strings.Join(slices.Sorted(maps.Keys(funcs)), ", "))
	}
	fn, err := f(c)
	if err != nil {
		return nil, err
	}
	if flag(c, "ignore-retract") {
		fn = ignoring{fn}
	}
	return fn, nil
}

// ignoring is a function to which rows that are taken back are as if they were not there.
type ignoring struct{ Func }

func (ignoring) Retracts() bool { return true }

func (f ignoring) Fold(in *Input) (Result, error) {
	if !slices.Contains(in.Ops, Retract) {
		return f.Func.Fold(in)
	}
	left := &Input{Column: in.Column, Ends: make([]int32, len(in.Ends))}
	from := int32(0)
	for i, end := range in.Ends {
		for k := from; k < end; k++ {
			if in.Ops[k] != Retract {
				left.Refs, left.Ops = append(left.Refs, in.Refs[k]), append(left.Ops, in.Ops[k])
			}
		}
		from, left.Ends[i] = end, int32(len(left.Refs))
	}
	return f.Func.Fold(left)
}
