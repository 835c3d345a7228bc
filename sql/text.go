package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/sql/parse"
)

// engineText is a statement for the engine. Pieces of it stand in the script in the same form, so that the engine's
// errors can be shown where the user wrote what they are about.
type engineText struct {
	text   string
	pieces []parse.Piece
	script string
}

// concat joins strings and engineTexts.
func concat(parts ...any) engineText {
	var b strings.Builder
	var out engineText
	for _, p := range parts {
		switch x := p.(type) {
		case string:
			b.WriteString(x)
		case engineText:
			for _, piece := range x.pieces {
				piece.Out += b.Len()
				out.pieces = append(out.pieces, piece)
			}
			b.WriteString(x.text)
			if x.script != "" {
				out.script = x.script
			}
		}
	}
	out.text = b.String()
	return out
}

func rewritten(q *parse.Query, script string, replace func(i int) (string, bool), extra ...parse.TableName) engineText {
	text, pieces := q.RewriteMapped(script, replace, extra...)
	return engineText{text, pieces, script}
}

// locate gives an error of the engine its place in the script.
func (t engineText) locate(err error) error {
	var e *EngineError
	if t.script == "" || !errors.As(err, &e) || e.pos < 0 || e.Place != nil {
		return err
	}
	for _, p := range t.pieces {
		if e.pos >= p.Out && e.pos <= p.Out+p.Len {
			at := p.In
			if !p.Replaced {
				at += e.pos - p.Out
			}
			e.Place = &parse.Error{Msg: e.Msg, Text: t.script, Pos: at}
			return err
		}
	}
	return err
}

// locatedRows are the rows of a statement whose errors are shown in the script.
type locatedRows struct {
	rows
	text engineText
}

func (r *locatedRows) next(ctx context.Context) (arrow.RecordBatch, error) {
	rec, err := r.rows.next(ctx)
	if err != nil {
		return nil, r.text.locate(err)
	}
	return rec, nil
}

// byPosition is a query as a table q of n columns that go by their position, whatever their names are: see position.
func byPosition(query engineText, n int) engineText {
	names := make([]string, n)
	for i := range names {
		names[i] = position(i)
	}
	// VALUES has to stand in a query of its own.
	return concat("(SELECT * FROM (", query, ") v) q("+strings.Join(names, ", ")+")")
}

func position(i int) string { return fmt.Sprint("c", i) }

// castColumns wraps a query so that its columns have these names, and are what cast makes of them.
func castColumns(query engineText, names []string, cast func(i int, column string) string) engineText {
	columns := make([]string, len(names))
	for i, n := range names {
		columns[i] = cast(i, position(i)) + " AS " + parse.Quote(n)
	}
	return concat("SELECT "+strings.Join(columns, ", ")+" FROM ", byPosition(query, len(names)))
}
