// Package predicate holds filters over rows: built by users, bound to columns by name, and tested
// against statistics (which files can match) and against batches (which rows do).
package predicate

import "github.com/tarnlake/tarn/types"

// Predicate is a condition on a row. It is one of *Leaf, *And, *Or, *Not. SQL's three-valued logic
// holds: a comparison with NULL is unknown, and unknown does not match.
type Predicate interface{ isPredicate() }

// Op is the operation of a Leaf.
type Op uint8

const (
	Eq Op = iota + 1
	NotEq
	Lt
	LtEq
	Gt
	GtEq
	In
	NotIn
	IsNull
	IsNotNull
	StartsWith
	EndsWith
	Contains
	Like    // SQL LIKE; the second value, if there, is the escape character (default '\')
	Between // two values, both included
)

// Leaf compares one top-level column with constants. The constants have the column's type; see
// types.Datum; those that a user gives may also be other values that Bind turns into it.
type Leaf struct {
	Op     Op
	Column string
	Type   types.Type    // of the column as the user sees it; Bind sets it
	Values []types.Datum // none for IsNull and IsNotNull, two for Between, any number for In and NotIn, else one
}

// And matches if all of its parts match; empty matches everything.
type And struct{ Args []Predicate }

// Or matches if one of its parts matches; empty matches nothing.
type Or struct{ Args []Predicate }

// Not matches if its part is false (not if it is unknown).
type Not struct{ Arg Predicate }

func (*Leaf) isPredicate() {}
func (*And) isPredicate()  {}
func (*Or) isPredicate()   {}
func (*Not) isPredicate()  {}
