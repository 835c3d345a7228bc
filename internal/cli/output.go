package cli

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// rowWriter writes rows in one of the forms of --output.
type rowWriter interface {
	rows(b tarn.Batch) error
	end() error
}

var outputs = []string{"table", "json", "jsonl", "csv", "tsv", "md", "arrow", "parquet"}

// outputName is the form that flags ask for: a table on a terminal, TSV elsewhere.
func (a *app) outputName() (string, error) {
	switch {
	case a.json:
		return "jsonl", nil
	case a.csv:
		return "csv", nil
	case a.output == "" && a.tty:
		return "table", nil
	case a.output == "":
		return "tsv", nil
	}
	for _, o := range outputs {
		if o == a.output {
			return o, nil
		}
	}
	return "", usage(fmt.Errorf("--output %q is not known; there are %s", a.output, strings.Join(outputs, ", ")))
}

// rowWriter starts an output. kinds puts the row kind into each row.
func (a *app) rowWriter(fields []types.Field, kinds bool) (rowWriter, error) {
	name, err := a.outputName()
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(a.out, 1<<16)
	if kinds && (name == "arrow" || name == "parquet") {
		all := append([]types.Field{{ID: len(fields), Name: kindColumn, Type: types.VarcharType(types.MaxLength)}}, fields...)
		inner, err := a.rowWriter(all, false)
		return &kindRows{inner}, err
	}
	switch name {
	case "json", "jsonl":
		return &jsonRows{w: w, e: jsonrow.NewEncoder(fields), kinds: kinds, array: name == "json"}, nil
	case "arrow":
		schema := types.ArrowSchema(fields)
		return &arrowRows{buf: w, fields: fields, schema: schema, w: ipc.NewWriter(w, ipc.WithSchema(schema))}, nil
	case "parquet":
		pw, err := parquet.Format{}.NewWriter(w, fields, format.WriteOptions{})
		if err != nil {
			return nil, err
		}
		return &parquetRows{buf: w, fields: fields, schema: types.WideArrowSchema(fields), w: pw}, nil
	}
	t := &textRows{a: a, buf: w, fields: fields, kinds: kinds, form: name}
	if name == "csv" || name == "tsv" {
		t.csv = csv.NewWriter(w)
		if name == "tsv" {
			t.csv.Comma = '\t'
		}
	}
	return t, t.head()
}

type jsonRows struct {
	w     *bufio.Writer
	e     *jsonrow.Encoder
	kinds bool
	array bool
	n     int
	buf   []byte
}

func kindOf(b tarn.Batch, i int) types.RowKind {
	if b.Kinds == nil {
		return types.Insert
	}
	return b.Kinds[i]
}

func (j *jsonRows) rows(b tarn.Batch) error {
	for i := range int(b.NumRows()) {
		j.buf = j.buf[:0]
		if j.array {
			if j.n == 0 {
				j.buf = append(j.buf, "[\n"...)
			} else {
				j.buf = append(j.buf, ",\n"...)
			}
		}
		j.buf = append(j.buf, '{')
		if j.kinds {
			j.buf = append(j.buf, `"_kind":"`+kindOf(b, i).String()+`"`...)
			if b.NumCols() > 0 {
				j.buf = append(j.buf, ',')
			}
		}
		j.buf = j.e.AppendMembers(j.buf, b.RecordBatch, i)
		j.buf = append(j.buf, '}')
		if !j.array {
			j.buf = append(j.buf, '\n')
		}
		j.n++
		if _, err := j.w.Write(j.buf); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonRows) end() error {
	if j.array {
		s := "\n]\n"
		if j.n == 0 {
			s = "[]\n"
		}
		if _, err := j.w.WriteString(s); err != nil {
			return err
		}
	}
	return j.w.Flush()
}

// kindRows puts the kinds of rows into a column.
type kindRows struct{ rowWriter }

func (k *kindRows) rows(b tarn.Batch) error {
	col := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range int(b.NumRows()) {
		col.Append(kindOf(b, i).String())
	}
	cols := append([]arrow.Array{col.NewArray()}, b.Columns()...)
	head := []arrow.Field{{Name: kindColumn, Type: arrow.BinaryTypes.String, Nullable: true}}
	schema := arrow.NewSchema(append(head, b.Schema().Fields()...), nil)
	return k.rowWriter.rows(tarn.Batch{RecordBatch: array.NewRecordBatch(schema, cols, b.NumRows())})
}

type arrowRows struct {
	buf    *bufio.Writer
	fields []types.Field
	schema *arrow.Schema
	w      *ipc.Writer
}

// rows writes timestamps of nanoseconds as Arrow has them, for the sake of those who read them.
func (r *arrowRows) rows(b tarn.Batch) error {
	rec, err := cast.LayoutBatch(b.RecordBatch, r.fields, r.schema)
	if errors.Is(err, cast.ErrBeyond) {
		return fmt.Errorf("%w; --output parquet and --json hold all years", err)
	}
	if err != nil {
		return err
	}
	return r.w.Write(rec)
}

func (r *arrowRows) end() error {
	if err := r.w.Close(); err != nil {
		return err
	}
	return r.buf.Flush()
}

type parquetRows struct {
	buf    *bufio.Writer
	fields []types.Field
	schema *arrow.Schema
	w      format.Writer
}

func (r *parquetRows) rows(b tarn.Batch) error {
	rec, err := cast.LayoutBatch(b.RecordBatch, r.fields, r.schema)
	if err != nil {
		return err
	}
	return r.w.Write(rec)
}

func (r *parquetRows) end() error {
	if _, err := r.w.Close(); err != nil {
		return err
	}
	return r.buf.Flush()
}

// mostShown is how many rows a table on the screen has.
const mostShown = 40

type textRows struct {
	a      *app
	buf    *bufio.Writer
	fields []types.Field
	kinds  bool
	form   string
	csv    *csv.Writer
	lines  [][]string
	n      int64
}

func (t *textRows) names() []string {
	var out []string
	if t.kinds {
		out = append(out, "_kind")
	}
	for _, f := range t.fields {
		out = append(out, f.Name)
	}
	return out
}

func (t *textRows) head() error {
	if t.csv != nil {
		return t.csv.Write(t.names())
	}
	return nil
}

// cell writes a value for people: nested ones as JSON.
func cell(b tarn.Batch, col, row int, t types.Type, null string) string {
	a := b.Column(col)
	if a.IsNull(row) {
		return null
	}
	if t.IsNested() || t.Kind == types.Variant {
		return string(jsonrow.AppendValue(nil, a, row, t))
	}
	if t.Kind == types.Timestamp || t.Kind == types.TimestampLTZ {
		s := strings.Replace(types.FormatDatum(t, types.DatumAt(a, row, t)), " ", "T", 1)
		if t.Kind == types.TimestampLTZ {
			s += "Z"
		}
		return s
	}
	switch v := types.DatumAt(a, row, t).(type) { // FLOAT and DOUBLE with the digits of JSON
	case float32:
		return string(types.AppendFloat(nil, float64(v), 32))
	case float64:
		return string(types.AppendFloat(nil, v, 64))
	default:
		return types.FormatDatum(t, v)
	}
}

func (t *textRows) rows(b tarn.Batch) error {
	null := ""
	if t.csv == nil {
		null = "NULL"
	}
	for i := range int(b.NumRows()) {
		t.n++
		if t.form == "table" && t.a.tty && len(t.lines) >= mostShown {
			continue
		}
		var line []string
		if t.kinds {
			line = append(line, kindOf(b, i).String())
		}
		for c, f := range t.fields {
			line = append(line, cell(b, c, i, f.Type, null))
		}
		if t.csv != nil {
			if err := t.csv.Write(line); err != nil {
				return err
			}
			continue
		}
		t.lines = append(t.lines, line)
	}
	return nil
}

func (t *textRows) end() error {
	if t.csv != nil {
		t.csv.Flush()
		if err := t.csv.Error(); err != nil {
			return err
		}
		return t.buf.Flush()
	}
	w := table.NewWriter()
	head, kinds := table.Row{}, table.Row{}
	for _, n := range t.names() {
		head = append(head, n)
	}
	if t.kinds {
		kinds = append(kinds, "")
	}
	for _, f := range t.fields {
		kinds = append(kinds, strings.ToLower(f.Type.AsNullable().String()))
	}
	w.AppendHeader(head)
	if t.form == "table" {
		w.AppendHeader(kinds)
	}
	for _, l := range t.lines {
		r := make(table.Row, len(l))
		for i, c := range l {
			r[i] = c
		}
		w.AppendRow(r)
	}
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = text.FormatDefault
	out := w.Render
	if t.form == "md" {
		out = w.RenderMarkdown
	}
	if _, err := io.WriteString(t.buf, out()+"\n"); err != nil {
		return err
	}
	if int64(len(t.lines)) < t.n {
		fmt.Fprintf(t.buf, "… %d of %s rows\n", len(t.lines), thousands(t.n))
	}
	return t.buf.Flush()
}
