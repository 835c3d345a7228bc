package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// explainCast finds out which column and value an INSERT failed on: the engine tells the types only.
// It gives the error itself if that was no conversion, or if the query gives other rows each time.
func (s *Session) explainCast(ctx context.Context, script string, x *parse.Insert, cols []types.Field, table string, failed error) error {
	var e *EngineError
	if !errors.As(failed, &e) || e.Kind != "Conversion" && e.Kind != "Out of Range" {
		return failed
	}
	names := strings.Join(columnList(cols), ", ")
	for _, f := range cols {
		inner, err := s.rewrite(ctx, script, &x.Query)
		if err != nil {
			break
		}
		name := parse.Quote(f.Name)
		from := " FROM (" + inner.text + ") q(" + names + ")"
		bad, hint := "TRY_CAST("+name+" AS "+duckType(f.Type)+") IS NULL", "cast or filter it in the query: TRY_CAST(… AS …) gives NULL for what does not fit"
		if f.Type.Kind == types.Timestamp && types.IsNanos(f.Type) { // TRY_CAST fails, too
			bad = "coalesce(TRY_CAST(" + name + " AS TIMESTAMP) NOT BETWEEN '1677-09-21 00:12:43.145225' AND '2262-04-11 23:47:16.854775', true)"
			hint = "nanoseconds reach from 1677-09-21 to 2262-04-11 in the engine; tarn write takes all years"
		}
		value, err := s.text(ctx, "SELECT CAST("+name+" AS VARCHAR)"+from+" WHERE "+name+" IS NOT NULL AND "+bad+" LIMIT 1")
		s.dropScans()
		if err == nil && value != "" {
			return &Error{
				Msg:  fmt.Sprintf("insert into %s: column %s: value %s does not fit %s", table, f.Name, shortValue(value), f.Type.AsNullable()),
				Hint: hint,
				Err:  fmt.Errorf("%w: %w", tarn.ErrInvalid, failed),
			}
		}
	}
	return failed
}

// shortValue is a value as an error shows it.
func shortValue(v string) string {
	if r := []rune(v); len(r) > 60 {
		v = string(r[:59]) + "…"
	}
	return parse.QuoteString(v)
}
