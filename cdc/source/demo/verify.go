package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// Result compares a table of the lake with what the shop has.
type Result struct {
	Table       string
	Rows        int      // in the shop
	Differences []string // the first few
}

// Verify reads the tables of a lake and compares them with what they have to hold, row by row. name
// gives the lake's table of a table of the shop.
func (s *Shop) Verify(ctx context.Context, cat *tarn.Catalog, name func(table string) string) ([]Result, error) {
	var out []Result
	for _, d := range s.Expected() {
		r := Result{Table: name(d.Name), Rows: len(d.Rows)}
		t, err := cat.Table(ctx, r.Table)
		if err != nil {
			r.Differences = append(r.Differences, err.Error())
			out = append(out, r)
			continue
		}
		if err := compare(ctx, t, &d, &r); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// most is how many differences of a table are told.
const most = 5

func (r *Result) differ(format string, args ...any) {
	if len(r.Differences) < most {
		r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
	}
}

func compare(ctx context.Context, t *tarn.Table, d *Dump, r *Result) error {
	fields, err := t.Fields()
	if err != nil {
		return err
	}
	at := make([]int, len(d.Columns)) // column of the lake
	var have []string
	for _, f := range fields {
		have = append(have, f.Name)
	}
	for i, c := range d.Columns {
		if at[i] = slices.Index(have, c); at[i] < 0 {
			r.differ("column %s is missing", c)
			return nil
		}
		if ft := fields[at[i]].Type.AsNullable(); !ft.EqualShape(d.Types[i].AsNullable()) {
			r.differ("column %s is %s, not %s", c, ft, d.Types[i])
		}
	}
	if len(have) != len(d.Columns) {
		r.differ("the lake has columns %s, the shop %s", strings.Join(have, ", "), strings.Join(d.Columns, ", "))
	}
	keys := make([]int, len(d.PrimaryKey))
	for i, k := range d.PrimaryKey {
		keys[i] = slices.Index(d.Columns, k)
	}
	key := func(row []types.Datum) string {
		var b strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&b, "%v/", row[k])
		}
		return b.String()
	}
	want := make(map[string][]types.Datum, len(d.Rows))
	for _, row := range d.Rows {
		want[key(row)] = row
	}
	row := make([]types.Datum, len(d.Columns))
	for b, err := range t.Scan(tarn.ScanOptions{}).Batches(ctx) {
		if err != nil {
			return err
		}
		for i := range int(b.NumRows()) {
			for c := range row {
				row[c] = types.DatumAt(b.Column(at[c]), i, fields[at[c]].Type)
			}
			k := key(row)
			w, ok := want[k]
			if !ok {
				r.differ("row %s is in the lake and not in the shop, or twice in the lake", k)
				continue
			}
			delete(want, k)
			for c := range row {
				if types.Compare(d.Types[c], row[c], w[c]) != 0 {
					r.differ("row %s, column %s: the lake has %s, the shop %s", k, d.Columns[c], types.FormatDatum(d.Types[c], row[c]), types.FormatDatum(d.Types[c], w[c]))
				}
			}
		}
	}
	for k := range want {
		r.differ("row %s is missing in the lake", k)
		if len(r.Differences) >= most {
			break
		}
	}
	return nil
}
