// Package mergefn holds the merge engines of primary-key tables: what becomes of the versions of a
// key. A new engine is one file and one line in the table of this file.
//
// Engines work on many keys at once and on references only: they say for each row of the result
// from which row of the input its columns are taken, and the caller gathers column by column.
package mergefn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/types"
)

// engines are the merge engines by the value of the table option `merge-engine`.
var engines = map[string]func(Config) (Engine, error){
	"aggregation":    newAggregation,
	"deduplicate":    newDeduplicate,
	"first-row":      newFirstRow,
	"partial-update": newPartialUpdate,
}

// Config is what engines know of the table.
type Config struct {
	Fields             []types.Field // value columns
	Keys               []string      // trimmed primary key
	Sequence           []string      // sequence.field
	IgnoreDelete       bool          // ignore-delete: -D (and -U) are as if they were not there
	IgnoreUpdateBefore bool          // ignore-update-before
	Options            map[string]string
}

// Engine is a merge engine. It is immutable and safe for concurrent use.
type Engine interface {
	// Needs says which value columns have to be in the input for the wanted ones to be right; nil if
	// each column depends on itself only.
	Needs(wanted []string) []string
	// NeedsKinds reports whether Input.Kinds has to be set even if the result keeps deletes.
	NeedsKinds() bool
	// Identity reports whether a -D or -U that is alone is the result, as it is. (A +I or +U that is
	// alone always is: files hold what was merged already.) Files without overlap may then be moved to
	// another level as they are, unless it is the highest.
	Identity() bool
	// PreMerge reports whether a part of a key's versions, neighbours in order, may be merged before
	// the others are known.
	PreMerge() bool
	// Merge makes the result rows of all keys of the input.
	Merge(in *Input) (*Output, error)
}

// Input is versions of keys, oldest first, in a window of batches.
type Input struct {
	*kv.Groups
	// Columns says where value columns are in the batches of the window; absent: not read.
	Columns map[string]int
	// Kinds has the row kinds of each batch of the window. Nil: all rows are +I or +U.
	Kinds [][]int8
	// Whole: nothing older of the keys is elsewhere. What is to be taken from older versions, and has none, is taken from
	// nothing.
	Whole bool
}

// Kind is the kind of a row of the window.
func (in *Input) Kind(r batch.Ref) types.RowKind {
	if in.Kinds == nil {
		return types.Insert
	}
	return types.RowKind(in.Kinds[r.Src][r.Row])
}

// column is a column in each batch of the window.
func (in *Input) column(c int) []arrow.Array {
	out := make([]arrow.Array, len(in.Window))
	for i, rec := range in.Window {
		out[i] = rec.Column(c)
	}
	return out
}

// Output is the rows that came out, at most one for each key, in key order.
type Output struct {
	// Rows says for each row from where its columns are taken: key, sequence number, kind and all
	// value columns that are not in Parts or Computed. It may share memory with the input's Refs.
	Rows []batch.Ref
	// Kinds of the rows; nil: as in the input.
	Kinds []int8
	// Parts are groups of columns with rows of their own, such as sequence groups; batch.NullRef is
	// NULL.
	Parts []Part
	// Computed are columns that are not copied from the input.
	Computed []Computed
}

// Part is some columns, by name, and where their values come from.
type Part struct {
	Columns []string
	Rows    []batch.Ref // one for each of Output.Rows
}

// Computed is a column of values that an engine made.
type Computed struct {
	Column string
	Values arrow.Array
	// Rows say for each of Output.Rows where its value is: in the window or, where Src is the number of batches of the window, in
	// Values. Nil: Values has one for each of them.
	Rows []batch.Ref
}

// New makes the engine of a table; name is the value of `merge-engine`, "" for deduplicate.
func New(name string, c Config) (Engine, error) {
	if name == "" {
		name = "deduplicate"
	}
	if f, ok := engines[strings.ToLower(name)]; ok {
		return f(c)
	}
	known := strings.Join(slices.Sorted(maps.Keys(engines)), ", ")
	return nil, fmt.Errorf("unknown merge-engine %q (known: %s)", name, known)
}
