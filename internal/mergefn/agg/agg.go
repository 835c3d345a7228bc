// Package agg holds aggregate functions: each folds the versions of one column of a key into one value.
// A new function is one file and one line in the table of this file.
//
// Functions work on many keys at once. They see references to rows, in the order in which they are to be
// folded, and give either references, where the result is one of the values, or a new column.
package agg

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// funcs are the functions by the value of `fields.<column>.aggregate-function`.
var funcs = map[string]func(Config) (Func, error){}

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
	// Retracts reports whether rows may be taken back. If not, Input.Retract is nil.
	Retracts() bool
	// Reversible reports whether a version that is older than those folded already may be folded before
	// them, as sequence groups need it: the engine then passes references in that order.
	Reversible() bool
}

// Input is versions of keys. Groups are not empty.
type Input struct {
	Column []arrow.Array // the column in each batch of the window, in types of types.WideArrowType
	Refs   []batch.Ref   // rows of the window, group after group, in the order to fold them
	Ends   []int32       // for each group the end of its part of Refs
	// Retract says for each of Refs whether it takes its value back (-U, -D); nil: none does.
	Retract []bool
}

// Result is one value for each group.
type Result struct {
	Rows   []batch.Ref // where the value is copied from, batch.NullRef for NULL; nil if Values is set
	Values arrow.Array // the values themselves
}

// New makes the function of a column. Errors name what is wrong with its name, type or options; they do not
// name the column.
func New(name string, c Config) (Func, error) {
	if f, ok := funcs[strings.ToLower(strings.TrimSpace(name))]; ok {
		return f(c)
	}
	return nil, fmt.Errorf("unknown aggregate function %q (known: %s)", name, strings.Join(slices.Sorted(maps.Keys(funcs)), ", "))
}
