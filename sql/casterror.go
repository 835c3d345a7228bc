package sql

import (
	"context"
	"errors"
	"fmt"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// explainCast finds out which column and value a statement failed on: the engine tells the types only. values gives a
// query of the values that a column gets. The error stays as it is if that was no conversion, or if the query
// gives other rows each time.
func (s *Session) explainCast(ctx context.Context, what, table string, cols []types.Field, failed error, values func(i int) (engineText, error)) error {
	var e *EngineError
	if !errors.As(failed, &e) || !e.ofCast() {
		return failed
	}
	for i, f := range cols {
		text, err := values(i)
		if err != nil {
			s.dropScans()
			break
		}
		bad, hint := "TRY_CAST(x AS "+duckType(f.Type)+") IS NULL", "cast or filter it in the query: TRY_CAST(… AS …) gives NULL for what does not fit"
		if f.Type.Kind == types.Timestamp && types.IsNanos(f.Type) { // TRY_CAST fails, too
			bad = "coalesce(TRY_CAST(x AS TIMESTAMP) NOT BETWEEN '1677-09-21 00:12:43.145225' AND '2262-04-11 23:47:16.854775', true)"
			hint = "nanoseconds reach from 1677-09-21 to 2262-04-11 in the engine; tarn write takes all years"
		}
		value, err := s.text(ctx, "SELECT '=' || CAST(x AS VARCHAR) FROM ("+text.text+") q(x) WHERE x IS NOT NULL AND "+bad+" LIMIT 1")
		if err == nil && value == "" && isNestedType(types.ArrowType(f.Type)) { // TRY_CAST gives NULL for a part of it
			_, err = s.text(ctx, "SELECT CAST(count(CAST(x AS "+duckType(f.Type)+")) AS VARCHAR) FROM ("+text.text+") q(x)")
		}
		s.dropScans()
		if part := (*EngineError)(nil); errors.As(err, &part) && part.ofCast() {
			return &Error{Msg: fmt.Sprintf("%s %s: column %s: %s: it is %s", what, table, f.Name, part.Msg, f.Type.AsNullable()), Hint: hint, Err: fmt.Errorf("%w: %w", tarn.ErrInvalid, failed)}
		}
		if err == nil && value != "" {
			return &Error{
				Msg:  fmt.Sprintf("%s %s: column %s: value %s does not fit %s", what, table, f.Name, shortValue(value[1:]), f.Type.AsNullable()),
				Hint: hint,
				Err:  fmt.Errorf("%w: %w", tarn.ErrInvalid, failed),
			}
		}
	}
	return failed
}

// explainInsert is explainCast for an INSERT.
func (s *Session) explainInsert(ctx context.Context, script string, x *parse.Insert, table string, cols []types.Field, failed error) error {
	castValues(x, nil)
	return s.explainCast(ctx, "insert into", table, cols, failed, func(i int) (engineText, error) {
		inner, err := s.rewrite(ctx, script, &x.Query)
		return concat("SELECT "+position(i)+" FROM ", byPosition(inner, len(cols))), err
	})
}

// shortValue is a value as an error shows it.
func shortValue(v string) string {
	if r := []rune(v); len(r) > 60 {
		v = string(r[:59]) + "…"
	}
	return parse.QuoteString(v)
}
