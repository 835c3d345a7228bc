package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// kindColumn is the member or column with the kind of a row.
const kindColumn = "_kind"

// inputs are the formats of rows that are written.
var inputs = []string{"json", "jsonl", "csv", "tsv", "parquet"}

// rowsOf reads the rows of a file, or of standard input.
func (a *app) rowsOf(ctx context.Context, file, form string, fields []types.Field) (rowReader, error) {
	assumed := form == "" && file != "-"
	if form == "" {
		form = "json"
		for _, f := range inputs {
			if strings.HasSuffix(strings.ToLower(file), "."+f) {
				form, assumed = f, false
			}
		}
	}
	if !slices.Contains(inputs, form) {
		return nil, usage(fmt.Errorf("--format %q is not known; there are %s", form, strings.Join(inputs, ", ")))
	}
	var in io.ReadCloser = newStoppable(ctx, a.in)
	name := "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, missingFile(err)
		}
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, errors.Join(usage(fmt.Errorf("%s is a folder; name a file of rows", file)), f.Close())
		}
		in, name = f, file
	}
	switch form {
	case "parquet":
		r, err := readParquet(ctx, in, name, fields)
		if err != nil {
			return nil, errors.Join(usage(fmt.Errorf("%s: %w", name, err)), in.Close())
		}
		return &closing{r, in}, nil
	case "csv", "tsv":
		c := newCSV(in, name, fields, form == "tsv")
		if err := c.head(); err != nil {
			return nil, errors.Join(usage(err), in.Close())
		}
		return &closing{c, in}, nil
	}
	lines := &closing{jsonrow.Lines(in, name, fields, 0), in}
	if assumed {
		return &assumedJSON{lines, name}, nil
	}
	return lines, nil
}

// assumedJSON is a file that is read as JSON for want of a name that says more.
type assumedJSON struct {
	rowReader
	name string
}

func (r *assumedJSON) Next(ctx context.Context) (tarn.Batch, error) {
	b, err := r.rowReader.Next(ctx)
	if err != nil && !errors.Is(err, io.EOF) {
		err = hint(err, "the name of "+r.name+" tells no format, so it is read as JSON: --format names another; what is compressed is unpacked before, as by gzip -dc FILE | tarn write TABLE - --format csv")
	}
	return b, err
}

// rowReader reads rows and knows where they stand.
type rowReader = jsonrow.Placed

// placed tells where a row stands that the table does not take.
func placed(in rowReader, err error) error {
	var r *tarn.RowError
	if !errors.As(err, &r) {
		return err
	}
	return usage(fmt.Errorf("%s: %w", in.Place(r.Row), r.Err))
}

// closing closes a file with its reader.
type closing struct {
	rowReader
	c io.Closer
}

func (c *closing) Close() error { return errors.Join(c.rowReader.Close(), c.c.Close()) }

// content is a file in memory.
type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

func (c content) ReadRanges(_ context.Context, ranges []fileio.Range) ([][]byte, error) {
	out := make([][]byte, len(ranges))
	for i, r := range ranges {
		out[i] = make([]byte, r.Length)
		if _, err := c.ReadAt(out[i], r.Offset); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parquetInput reads a file of Parquet; its last column is the kind of rows if the file has that.
type parquetInput struct {
	format.Reader
	name  string
	n     int // columns of the table
	kinds bool
	row   int64 // the first one of the last batch
	rows  int64 // of the last batch
}

func readParquet(ctx context.Context, in io.Reader, name string, fields []types.Field) (rowReader, error) {
	var f fileio.File
	if file, ok := in.(*os.File); ok {
		var err error
		if f, err = fileio.NewLocal(fileio.LocalOptions{}).Open(ctx, file.Name()); err != nil {
			return nil, err
		}
	} else { // the end of a Parquet file says where its parts are
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		f = content{bytes.NewReader(data)}
	}
	d, err := parquet.Describe(ctx, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &parquetInput{name: name, n: len(fields)}
	for _, c := range d.Columns {
		switch {
		case c.Depth > 0 || slices.ContainsFunc(fields, func(x types.Field) bool { return x.Name == c.Name }):
		case c.Name == kindColumn:
			r.kinds = true
		default:
			return nil, errors.Join(fmt.Errorf("there is no column %q in the table; there are %s", c.Name, fieldNames(fields)), f.Close())
		}
	}
	want := slices.Clone(fields)
	for i := range want { // a column that the file lacks is NULL; which of them must not be is checked row by row
		want[i].Type.NotNull = false
	}
	if r.kinds {
		want = append(want, types.Field{Name: kindColumn, Type: types.VarcharType(types.MaxLength)})
	}
	if r.Reader, err = (parquet.Format{}).NewReader(ctx, f, format.ReadOptions{Fields: want}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Place is where a row of the last batch stands.
func (r *parquetInput) Place(row int) string {
	return fmt.Sprintf("%s: row %d", r.name, r.row+int64(row)+1)
}

// Next implements batch.Reader.
func (r *parquetInput) Next(ctx context.Context) (batch.Batch, error) {
	b, err := r.Reader.Next(ctx)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: %w", r.name, err)
		}
		return b, err
	}
	r.row, r.rows = r.row+r.rows, b.NumRows()
	if !r.kinds {
		return b, nil
	}
	col := b.Column(r.n).(*array.String)
	out := batch.Batch{Kinds: make([]types.RowKind, col.Len())}
	for i := range col.Len() {
		if col.IsNull(i) {
			continue
		}
		if out.Kinds[i], err = parseKind(col.Value(i)); err != nil {
			return out, fmt.Errorf("%s: %s: %w", r.Place(i), kindColumn, err)
		}
	}
	cols := b.Columns()[:r.n]
	fields := b.Schema().Fields()[:r.n]
	out.RecordBatch = array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, b.NumRows())
	return out, nil
}

func fieldNames(fields []types.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func parseKind(s string) (types.RowKind, error) {
	for k := types.Insert; k <= types.Delete; k++ {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is none of +I, -U, +U, -D", s)
}
