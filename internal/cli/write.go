package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

type writeOptions struct {
	format    string
	mode      string
	partition []string
	options   []string
}

func (a *app) writeCommand() *cobra.Command {
	o := &writeOptions{}
	cmd := &cobra.Command{
		Use: "write TABLE [FILE|-]", Short: "Write rows into a table, in one commit", Args: cobra.RangeArgs(1, 2),
		Long: `Writes the rows of a file, or of standard input, into a table: all of them in one commit, or none.
JSON rows may have a row kind in _kind (+I, -U, +U, -D).`,
		Example: "  tarn write shop.orders orders.jsonl\n  tarn read a.t --json | tarn write b.t -\n  tarn write shop.orders day.csv --mode overwrite --partition dt=2024-02-29",
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "-"
			if len(args) > 1 {
				file = args[1]
			}
			return a.write(cmd.Context(), args[0], file, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "json, csv, parquet; default by the file's name, json for standard input")
	f.StringVar(&o.mode, "mode", "upsert", "append, upsert, overwrite")
	f.StringArrayVar(&o.partition, "partition", nil, "column=value of the partition that is overwritten")
	f.StringArrayVar(&o.options, "option", nil, "table option, key=value")
	return cmd
}

func (a *app) write(ctx context.Context, name, file string, o *writeOptions) error {
	opts, err := keyValues("option", o.options)
	if err != nil {
		return err
	}
	t, err := a.table(ctx, name, opts)
	if err != nil {
		return err
	}
	fields, err := t.Fields()
	if err != nil {
		return err
	}
	switch o.mode {
	case "append", "upsert", "overwrite":
	default:
		return usage(fmt.Errorf("--mode %q is not known; there are append, upsert, overwrite", o.mode))
	}
	in, err := a.rowsOf(ctx, file, o.format, fields)
	if err != nil {
		return err
	}
	defer in.Close()
	if o.mode == "overwrite" {
		return a.overwrite(ctx, t, in, o)
	}
	w, err := t.NewWriter(ctx, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	var rows int64
	for {
		b, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return usage(err)
		}
		if o.mode == "append" {
			b.Kinds = nil
		}
		rows += b.NumRows()
		if err := w.Write(ctx, b); err != nil {
			return err
		}
	}
	r, err := w.Commit(ctx)
	if err != nil {
		return err
	}
	a.say("%s rows written to %s, snapshot %d\n", thousands(rows), t.Name(), r.SnapshotID)
	return nil
}

func (a *app) overwrite(ctx context.Context, t *tarn.Table, in batch.Reader, o *writeOptions) error {
	spec, err := keyValues("partition", o.partition)
	if err != nil {
		return err
	}
	ow := tarn.OverwriteOptions{Partition: map[string]*string{}}
	for k, v := range spec {
		ow.Partition[k] = &v
	}
	var rows int64
	r, err := t.Overwrite(ctx, ow, func(yield func(tarn.Batch, error) bool) {
		for {
			b, err := in.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = usage(err)
			} else {
				rows += b.NumRows()
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	a.say("%s rows replaced what %s had, snapshot %d\n", thousands(rows), t.Name(), r.SnapshotID)
	return nil
}

// rowsOf reads the rows of a file.
func (a *app) rowsOf(ctx context.Context, file, form string, fields []types.Field) (batch.Reader, error) {
	if form == "" {
		form = "json"
		for ext, f := range map[string]string{".csv": "csv", ".parquet": "parquet", ".tsv": "tsv"} {
			if strings.HasSuffix(strings.ToLower(file), ext) {
				form = f
			}
		}
	}
	if form == "parquet" {
		return openParquet(ctx, file, fields)
	}
	in := io.NopCloser(a.in)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		in = f
	}
	name := file
	if file == "-" {
		name = "standard input"
	}
	switch form {
	case "json", "jsonl":
		return &closing{jsonrow.Lines(in, name, fields, 0), in}, nil
	case "csv", "tsv":
		r := csv.NewReader(in)
		r.ReuseRecord = true
		if form == "tsv" {
			r.Comma = '\t'
		}
		c := &csvRows{r: r, name: name, fields: fields}
		return &closing{c, in}, c.head()
	}
	return nil, usage(fmt.Errorf("--format %q is not known; there are json, csv, tsv, parquet", form))
}

// closing closes a file with its reader.
type closing struct {
	batch.Reader
	c io.Closer
}

func (c *closing) Close() error { return errors.Join(c.Reader.Close(), c.c.Close()) }

func openParquet(ctx context.Context, file string, fields []types.Field) (batch.Reader, error) {
	f, err := fileio.NewLocal(fileio.LocalOptions{}).Open(ctx, file)
	if err != nil {
		return nil, err
	}
	r, err := parquet.Format{}.NewReader(ctx, f, format.ReadOptions{Fields: fields})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), f.Close())
	}
	return &closing{r, f}, nil
}

// csvRows reads rows of text; an empty cell is NULL, but for text columns.
type csvRows struct {
	r      *csv.Reader
	name   string
	fields []types.Field
	cols   []int // field by cell
	done   bool
}

func (c *csvRows) head() error {
	names, err := c.r.Read()
	if err != nil {
		return usage(fmt.Errorf("%s: header: %w", c.name, err))
	}
	for _, n := range names {
		at := -1
		for i, f := range c.fields {
			if f.Name == n {
				at = i
			}
		}
		if at < 0 {
			return usage(fmt.Errorf("%s: line 1: there is no column %q", c.name, n))
		}
		c.cols = append(c.cols, at)
	}
	return nil
}

func (c *csvRows) Next(context.Context) (batch.Batch, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.ArrowSchema(c.fields))
	n := 0
	for ; n < 8192 && !c.done; n++ {
		cells, err := c.r.Read()
		if errors.Is(err, io.EOF) {
			c.done = true
			break
		}
		if err != nil {
			return batch.Batch{}, fmt.Errorf("%s: %w", c.name, err)
		}
		row := make([]types.Datum, len(c.fields))
		for i, s := range cells {
			f := c.fields[c.cols[i]]
			if s == "" && f.Type.Kind != types.Char && f.Type.Kind != types.Varchar {
				continue
			}
			if row[c.cols[i]], err = types.ParseDatum(f.Type, s); err != nil {
				line, _ := c.r.FieldPos(i)
				return batch.Batch{}, fmt.Errorf("%s: line %d: column %s: %w", c.name, line, f.Name, err)
			}
		}
		for i, f := range c.fields {
			if err := types.AppendDatum(b.Field(i), f.Type, row[i]); err != nil {
				return batch.Batch{}, fmt.Errorf("%s: column %s: %w", c.name, f.Name, err)
			}
		}
	}
	if n == 0 {
		return batch.Batch{}, io.EOF
	}
	return batch.Batch{RecordBatch: b.NewRecordBatch()}, nil
}

func (c *csvRows) Close() error { return nil }
