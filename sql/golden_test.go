//go:build duckdb_arrow && cgo

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
	"github.com/tarnlake/tarn/sql"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// jsonRows runs a query and gives its rows without loss, sorted, and the types of its columns.
func jsonRows(ctx context.Context, s *sql.Session, query string) (rows, columns []string, err error) {
	err = s.Run(ctx, query, func(r *sql.Result) error {
		for _, f := range r.Fields {
			columns = append(columns, f.Name+" "+f.Type.String())
		}
		enc := jsonrow.NewEncoder(r.Fields)
		for {
			rec, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for i := range int(rec.NumRows()) {
				rows = append(rows, string(enc.Append(nil, rec, i)))
			}
		}
	})
	slices.Sort(rows)
	return rows, columns, err
}

// TestGoldenTablesReadBothWays reads the tables of the reference by SQL: files read by the engine and by the library
// give the same rows of the same types, which are those of the public API.
func TestGoldenTablesReadBothWays(t *testing.T) {
	read, seed := 0, tarntest.Seed(t)
	for i, c := range golden.Cases(t, tarntest.Root(t)) {
		if strings.HasPrefix(c.ID, "bad/") || c.ID == "tables/files/external" {
			continue
		}
		// All types each time, of the rest a fourth, another one with each seed.
		if !tarntest.Size().Product && !strings.HasPrefix(c.ID, "tables/types/") && uint64(i)%4 != seed%4 {
			continue
		}
		cat, err := tarn.Open(t.Context(), c.Unpack(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, own := sql.NewSession(cat, sql.Options{Threads: 1}), sql.NewSession(cat, sql.Options{Threads: 1, NoRaw: true})
		for _, r := range c.Reads {
			if r.Op != "read" || r.PushOnly || r.Filter != nil || r.Columns != nil || r.Limit > 0 || len(r.Partition) > 0 {
				continue
			}
			name := c.ID + " " + r.Name
			fields, want, err := apiRows(t.Context(), cat, r)
			from := goldenName(r)
			byEngine, types1, err1 := jsonRows(t.Context(), raw, "SELECT * FROM "+from)
			byLibrary, types2, err2 := jsonRows(t.Context(), own, "SELECT * FROM "+from)
			if err != nil {
				if err1 == nil || err2 == nil {
					t.Errorf("%s: the API says %v, SQL %v and %v", name, err, err1, err2)
				}
				continue
			}
			read++
			if err1 != nil || err2 != nil {
				t.Errorf("%s: %v, %v", name, err1, err2)
				continue
			}
			if d := cmp.Diff(types2, types1); d != "" {
				t.Errorf("%s: types: -library +engine\n%s", name, d)
			}
			if d := cmp.Diff(byLibrary, byEngine); d != "" {
				t.Errorf("%s: -library +engine\n%s", name, d)
			}
			if !slices.ContainsFunc(fields, func(f types.Field) bool { return otherInSQL(f.Type) }) {
				if d := cmp.Diff(want, byLibrary); d != "" {
					t.Errorf("%s: -API +SQL\n%s", name, d)
				}
			}
			if strings.HasPrefix(c.ID, "tables/types/") {
				columnsBothWays(t, raw, own, from, fields)
			}
		}
		if err := errors.Join(raw.Close(), own.Close()); err != nil {
			t.Error(err)
		}
	}
	if t.Logf("%d reads", read); read < 20 {
		t.Errorf("only %d reads: the cases are gone", read)
	}
}

// columnsBothWays reads columns alone, with conditions on them.
func columnsBothWays(t *testing.T, raw, own *sql.Session, from string, fields []types.Field) {
	t.Helper()
	for i, f := range fields {
		q := fmt.Sprintf("SELECT %s AS x, typeof(x) AS t, count(*) AS n FROM %s WHERE %[1]s IS NOT NULL GROUP BY ALL", parse.Quote(f.Name), from)
		if i%2 == 1 {
			q = fmt.Sprintf("SELECT a.%s AS x FROM %s a WHERE a.%[1]s = (SELECT max(b.%[1]s) FROM %[2]s b)", parse.Quote(f.Name), from)
		}
		a, _, err1 := jsonRows(t.Context(), raw, q)
		b, _, err2 := jsonRows(t.Context(), own, q)
		if (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %v, %v", q, err1, err2)
		}
		if d := cmp.Diff(b, a); d != "" {
			t.Errorf("%s: -library +engine\n%s", q, d)
		}
	}
}

// otherInSQL says whether DuckDB has less of a type: TIMESTAMP_LTZ has microseconds there, VARIANT is what is stored.
func otherInSQL(t types.Type) bool {
	if t.Kind == types.Variant || t.Kind == types.TimestampLTZ && t.Precision > 6 {
		return true
	}
	return t.Key != nil && otherInSQL(*t.Key) || t.Elem != nil && otherInSQL(*t.Elem) || slices.ContainsFunc(t.Fields, func(f types.Field) bool { return otherInSQL(f.Type) })
}

func goldenName(r *golden.Read) string {
	db, tab, _ := strings.Cut(r.Table, ".")
	from := parse.Quote(db) + "." + parse.Quote(tab)
	var o []string
	for k, v := range r.Options {
		o = append(o, parse.QuoteString(k)+" = "+parse.QuoteString(v))
	}
	if len(o) > 0 {
		from += " /*+ OPTIONS(" + strings.Join(o, ", ") + ") */"
	}
	return from
}

func apiRows(ctx context.Context, cat *tarn.Catalog, r *golden.Read) (fields []types.Field, rows []string, err error) {
	tab, err := cat.Table(ctx, r.Table)
	if err != nil {
		return nil, nil, err
	}
	if tab, err = tab.With(ctx, r.Options); err != nil {
		return nil, nil, err
	}
	p, err := tab.Scan(tarn.ScanOptions{WideTimestamps: true, Inserts: true}).Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	enc := jsonrow.NewEncoder(p.Fields())
	for b, err := range p.Batches(ctx) {
		if err != nil {
			return nil, nil, err
		}
		for i := range int(b.NumRows()) {
			rows = append(rows, string(enc.Append(nil, b.RecordBatch, i)))
		}
	}
	slices.Sort(rows)
	return p.Fields(), rows, nil
}
