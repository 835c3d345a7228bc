package predicate

// The functions of this file make conditions. Values may be those of types.Datum or plain Go values that
// Bind turns into them: any integer, float64 for FLOAT and DECIMAL, time.Time for DATE and timestamps, and
// text, as a cast would read it.

// Equal is column = v.
func Equal(column string, v any) Predicate { return leaf(Eq, column, v) }

// NotEqual is column <> v: not for NULLs.
func NotEqual(column string, v any) Predicate { return leaf(NotEq, column, v) }

// Less is column < v.
func Less(column string, v any) Predicate { return leaf(Lt, column, v) }

// AtMost is column <= v.
func AtMost(column string, v any) Predicate { return leaf(LtEq, column, v) }

// Greater is column > v.
func Greater(column string, v any) Predicate { return leaf(Gt, column, v) }

// AtLeast is column >= v.
func AtLeast(column string, v any) Predicate { return leaf(GtEq, column, v) }

// Within is column BETWEEN low AND high, both included.
func Within(column string, low, high any) Predicate { return leaf(Between, column, low, high) }

// OneOf is column IN (vs); without values nothing matches.
func OneOf(column string, vs ...any) Predicate { return leaf(In, column, vs...) }

// NoneOf is column NOT IN (vs); without values everything matches.
func NoneOf(column string, vs ...any) Predicate { return leaf(NotIn, column, vs...) }

// Null is column IS NULL.
func Null(column string) Predicate { return leaf(IsNull, column) }

// NotNull is column IS NOT NULL.
func NotNull(column string) Predicate { return leaf(IsNotNull, column) }

// HasPrefix matches text that starts with s.
func HasPrefix(column, s string) Predicate { return leaf(StartsWith, column, s) }

// HasSuffix matches text that ends with s.
func HasSuffix(column, s string) Predicate { return leaf(EndsWith, column, s) }

// HasText matches text with s in it.
func HasText(column, s string) Predicate { return leaf(Contains, column, s) }

// Matches is column LIKE pattern: % is any text, _ one character, \ takes the meaning of the next one.
func Matches(column, pattern string) Predicate { return leaf(Like, column, pattern) }

// All matches if each part does; without parts everything matches.
func All(parts ...Predicate) Predicate { return &And{parts} }

// Any matches if one of the parts does; without parts nothing matches.
func Any(parts ...Predicate) Predicate { return &Or{parts} }

// Negate matches where p is false, not where it is unknown.
func Negate(p Predicate) Predicate { return &Not{p} }

func leaf(op Op, column string, vs ...any) Predicate {
	l := &Leaf{Op: op, Column: column}
	for _, v := range vs {
		l.Values = append(l.Values, v)
	}
	return l
}
