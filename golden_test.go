package tarn_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// externalRoot is where the manifests of the case files/external say that its data files are.
const externalRoot = "/tmp/paimon-golden-external"

// TestGolden reads through the public API everything that was recorded of real Paimon. A read that
// testdata/golden/not-covered.txt lists as not covered has to fail with ErrUnsupported; one listed as a
// difference must not give Paimon's rows. The list has nothing else on it.
func TestGolden(t *testing.T) {
	root := tarntest.Root(t)
	list := golden.Exceptions(t, filepath.Join(root, "testdata", "golden", "not-covered.txt"))
	var same, unsupported, different, all int
	for _, c := range golden.Cases(t, root) {
		for _, r := range c.Reads {
			if goldenRead(r) {
				all++
			}
		}
		t.Run(c.ID, func(t *testing.T) {
			warehouse := c.Unpack(t)
			if c.ID == "tables/files/external" {
				t.Cleanup(func() { os.RemoveAll(externalRoot) })
				c.UnpackFolder(t, "warehouse/external", filepath.Join(externalRoot, "external"))
			}
			cat, err := tarn.Open(t.Context(), warehouse, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.Reads {
				if !goldenRead(r) {
					continue
				}
				t.Run(r.Name, func(t *testing.T) {
					e := golden.Find(t, list, c, r)
					problem, err := askGolden(t, cat, r)
					switch {
					case e == nil && problem != "":
						t.Error(problem)
					case e == nil:
						same++
					case problem == "":
						t.Errorf("is read as by Paimon, but listed as %q (%s)", e.Pattern, e.Reason)
					case e.Difference:
						different++
					case err == nil:
						t.Errorf("listed as not covered (%s): wrong rows instead of an error: %s", e.Reason, problem)
					case !errors.Is(err, tarn.ErrUnsupported):
						t.Errorf("listed as not covered (%s): not an ErrUnsupported: %v", e.Reason, err)
					default:
						unsupported++
					}
				})
			}
		})
	}
	for _, e := range list {
		if e.Matches == 0 && !t.Failed() {
			t.Errorf("not-covered.txt: %s matches nothing", e.Pattern)
		}
	}
	if same+unsupported+different == all { // not only some of them were asked for
		readme, err := os.ReadFile(filepath.Join(root, "README.md"))
		if want := fmt.Sprintf("%d of %d reads give the rows that Paimon gives, %d are not covered and refused by name, %d differ on purpose", same, all, unsupported, different); err != nil || !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), want) {
			t.Errorf("README.md does not say: %s (%v)", want, err)
		}
	}
	t.Logf("%d reads as Paimon reads them, %d not covered (refused by name), %d deliberate differences", same, unsupported, different)
}

// goldenRows is what was read: rows as JSON, and their kinds.
type goldenRows struct {
	fields []types.Field
	rows   [][]byte
	kinds  []types.RowKind
}

// goldenRead tells which of the recorded reads are asked for: not those that show what is left of a filter.
func goldenRead(r *golden.Read) bool {
	return (r.Op == "read" || r.Op == "streamread") && !r.PushOnly
}

// askGolden reads and says how that differs from what Paimon said, "" if it does not.
func askGolden(t *testing.T, cat *tarn.Catalog, r *golden.Read) (string, error) {
	if r.Op == "streamread" {
		got, err := followGolden(t, cat, r)
		return compareStream(r, got, err), err
	}
	got, err := readGolden(t, cat, r)
	return compareGolden(r, got, err), err
}

func readGolden(t *testing.T, cat *tarn.Catalog, r *golden.Read) (got goldenRows, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	tab, o, err := goldenScan(t, cat, r)
	if err != nil {
		return got, err
	}
	p, err := tab.Scan(o).Plan(t.Context())
	if err != nil {
		return got, err
	}
	return readPlan(t, p)
}

// goldenScan opens the table of a read and says what to read of it.
func goldenScan(t *testing.T, cat *tarn.Catalog, r *golden.Read) (*tarn.Table, tarn.ScanOptions, error) {
	o := tarn.ScanOptions{Columns: r.Columns, Limit: r.Limit, WideTimestamps: true}
	tab, err := cat.Table(t.Context(), r.Table)
	if err != nil {
		return nil, o, err
	}
	if tab, err = tab.With(t.Context(), r.Options); err != nil {
		return nil, o, err
	}
	fields, err := tab.Fields()
	if err != nil {
		return nil, o, err
	}
	if r.Filter != nil {
		if o.Filter, err = goldenFilter(r.Filter, fields); err != nil {
			return nil, o, err
		}
	}
	if len(r.Partition) > 0 {
		t.Fatal("reads of one partition are not translated")
	}
	return tab, o, nil
}

func readPlan(t *testing.T, p *tarn.Plan) (got goldenRows, err error) {
	got.fields = p.Fields()
	enc := jsonrow.NewEncoder(got.fields)
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			return got, err
		}
		for i := range int(b.NumRows()) {
			got.rows = append(got.rows, enc.Append(nil, b.RecordBatch, i))
			kind := types.Insert
			if b.Kinds != nil {
				kind = b.Kinds[i]
			}
			got.kinds = append(got.kinds, kind)
		}
	}
	return got, nil
}

// compareGolden says how a read differs from what Paimon said, "" if it does not. Rows have no order.
func compareGolden(r *golden.Read, got goldenRows, err error) string {
	switch {
	case r.Fails() && err == nil:
		return fmt.Sprintf("read %d rows; Paimon fails: %s", len(got.rows), r.JavaError)
	case r.Fails():
		return ""
	case err != nil:
		return err.Error()
	case len(got.rows) != len(r.Want):
		return fmt.Sprintf("%d rows, want %d", len(got.rows), len(r.Want))
	}
	// A batch read gives the rows of a state, which have no history: Java's reader gives the kind of the
	// newest version, +I or +U, where it had to merge.
	got.kinds = slices.Clone(got.kinds)
	for i := range got.kinds {
		if got.kinds[i] == types.UpdateAfter {
			got.kinds[i] = types.Insert
		}
	}
	// Most rows are equal as text once it is in one form; the others are compared by value.
	left := map[string][]int{}
	for i, row := range got.rows {
		k := got.kinds[i].String() + oneForm(row)
		left[k] = append(left[k], i)
	}
	var rest []golden.Line
	for _, w := range r.Want {
		k := batchKind(w.Kind) + oneForm(w.Row)
		if at := left[k]; len(at) > 1 {
			left[k] = at[1:]
		} else if len(at) == 1 {
			delete(left, k)
		} else {
			rest = append(rest, w)
		}
	}
	for _, w := range rest {
		found := ""
		why := "nothing is left"
		for k, at := range left {
			i := at[0]
			if err := jsonrow.Equal(got.fields, got.rows[i], w.Row); err != nil {
				why = err.Error()
			} else if got.kinds[i].String() != batchKind(w.Kind) {
				why = "its kind is " + got.kinds[i].String()
			} else {
				found = k
				break
			}
		}
		if found == "" {
			var have strings.Builder
			for _, at := range left {
				fmt.Fprintf(&have, "\n  %s", got.rows[at[0]])
			}
			return fmt.Sprintf("no row %s %s (one of the others: %s); left are%s", w.Kind, w.Row, why, clipped(have.String()))
		}
		if left[found] = left[found][1:]; len(left[found]) == 0 {
			delete(left, found)
		}
	}
	return ""
}

func batchKind(kind string) string {
	if kind == "+U" {
		return "+I"
	}
	return kind
}

func clipped(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}

// oneForm writes JSON in one form: members in the order of their names, no spaces, numbers as they are.
func oneForm(text []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return string(text)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(b)
}

var goldenOps = map[string]predicate.Op{
	"=": predicate.Eq, "<>": predicate.NotEq, "<": predicate.Lt, "<=": predicate.LtEq, ">": predicate.Gt, ">=": predicate.GtEq,
	"startsWith": predicate.StartsWith, "endsWith": predicate.EndsWith, "contains": predicate.Contains, "like": predicate.Like,
	"isNull": predicate.IsNull, "isNotNull": predicate.IsNotNull, "in": predicate.In, "notIn": predicate.NotIn,
}

// goldenFilter makes a filter of columns.
func goldenFilter(f *golden.Filter, fields []types.Field) (predicate.Predicate, error) {
	var args []predicate.Predicate
	for _, a := range f.Args {
		p, err := goldenFilter(a, fields)
		if err != nil {
			return nil, err
		}
		args = append(args, p)
	}
	switch f.Op {
	case "and":
		return &predicate.And{Args: args}, nil
	case "or":
		return &predicate.Or{Args: args}, nil
	}
	op, ok := goldenOps[f.Op]
	if !ok {
		return nil, fmt.Errorf("unknown operator %q", f.Op)
	}
	values := f.Values
	if f.Value != nil {
		values = []any{f.Value}
	}
	l := &predicate.Leaf{Op: op, Column: f.Field}
	for _, x := range fields {
		if x.Name != f.Field {
			continue
		}
		x.Type.NotNull = false
		for _, v := range values {
			text, err := json.Marshal(map[string]any{x.Name: v})
			if err != nil {
				return nil, err
			}
			d := jsonrow.NewDecoder([]types.Field{x})
			if err := d.Decode(text); err != nil {
				return nil, err
			}
			l.Values = append(l.Values, types.DatumAt(d.Batch().Column(0), 0, x.Type))
		}
	}
	return l, nil
}
