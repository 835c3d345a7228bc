package metatest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/types"
)

// failer is what tests and rapid's checks have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

var mounts atomic.Int64

// mount gives a file system a URI, and a function that takes it back.
func mount(fs fileio.FS) (uri string, unmount func()) {
	name := fmt.Sprint("metatest-", mounts.Add(1))
	unmount, err := open.Mount(name, fs, "")
	if err != nil {
		panic(err) // the name is new
	}
	return "memory://" + name + "/lake", unmount
}

// column is a column of the model. Its id is its own: a column that is dropped and added again under
// the same name is another one.
type column struct {
	id   int
	name string
	typ  types.Type
}

// row holds the text of values by the id of the column; what is missing is NULL.
type row struct {
	kind types.RowKind
	vals map[int]string
}

func (r row) get(c column) types.Datum {
	s, ok := r.vals[c.id]
	if !ok {
		return nil
	}
	d, err := types.ParseDatum(c.typ, s)
	if err != nil {
		panic(err)
	}
	return d
}

// text is a row as scans are compared by.
func (r row) text(cols []column) string {
	var b strings.Builder
	for _, c := range cols {
		fmt.Fprintf(&b, "%s=%s ", c.name, show(c.typ, r.get(c)))
	}
	return b.String()
}

func show(t types.Type, d types.Datum) string {
	if d == nil {
		return "NULL"
	}
	return fmt.Sprintf("%q", types.FormatDatum(t, d))
}

// fieldsOf gives the columns as those of a table.
func fieldsOf(cols []column) []types.Field {
	out := make([]types.Field, len(cols))
	for i, c := range cols {
		out[i] = types.Field{Name: c.name, Type: c.typ}
	}
	return out
}

// batchOf makes a batch of rows.
func batchOf(f failer, cols []column, rows []row) tarn.Batch {
	f.Helper()
	fields := fieldsOf(cols)
	for i := range fields {
		fields[i].Type.NotNull = false // a delete may leave columns out
	}
	s := types.WideArrowSchema(fields)
	arrs := make([]arrow.Array, len(cols))
	for i, c := range cols {
		b := array.NewBuilder(memory.DefaultAllocator, s.Field(i).Type)
		for _, r := range rows {
			if err := types.AppendDatum(b, c.typ, r.get(c)); err != nil {
				f.Fatalf("column %s: %v", c.name, err)
			}
		}
		arrs[i] = b.NewArray()
	}
	out := tarn.Batch{RecordBatch: array.NewRecordBatch(s, arrs, int64(len(rows)))}
	if slices.ContainsFunc(rows, func(r row) bool { return r.kind != types.Insert }) {
		for _, r := range rows {
			out.Kinds = append(out.Kinds, r.kind)
		}
	}
	return out
}

// textsOf gives the rows of a batch as row.text does.
func textsOf(b tarn.Batch, fields []types.Field) []string {
	out := make([]string, b.NumRows())
	for k, x := range fields {
		for i := range out {
			out[i] += fmt.Sprintf("%s=%s ", x.Name, show(x.Type, types.DatumAt(b.Column(k), i, x.Type)))
		}
	}
	return out
}

// scan reads rows as sorted texts.
func scan(t testing.TB, tab *tarn.Table, o tarn.ScanOptions) ([]string, error) {
	var out []string
	o.WideTimestamps = true
	p, err := tab.Scan(o).Plan(t.Context())
	if err != nil {
		return nil, err
	}
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			return nil, err
		}
		out = append(out, textsOf(b, p.Fields())...)
	}
	slices.Sort(out)
	return out, nil
}
