package cli

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/types"
)

// csvRows reads rows of text; an empty cell is NULL, but for text columns. Nested values are JSON.
type csvRows struct {
	r      *csv.Reader
	name   string
	fields []types.Field
	cols   []int // field by cell, -1 for the kind
	kinds  bool
	done   bool
	rows   []int // lines of the rows of the last batch
}

func newCSV(in io.Reader, name string, fields []types.Field, tabs bool) *csvRows {
	r := csv.NewReader(in)
	r.ReuseRecord = true
	if tabs {
		r.Comma = '\t'
	}
	return &csvRows{r: r, name: name, fields: fields}
}

// fail says where in the text an error is.
func (c *csvRows) fail(err error) error {
	if p := (*csv.ParseError)(nil); errors.As(err, &p) {
		if errors.Is(p.Err, csv.ErrFieldCount) {
			return fmt.Errorf("%s: line %d: the row has not as many cells as the header, %d", c.name, p.Line, len(c.cols))
		}
		return fmt.Errorf("%s: line %d: column %d: %w", c.name, p.Line, p.Column, p.Err)
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

func (c *csvRows) head() error {
	names, err := c.r.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: it is empty; the first line has to name the columns", c.name)
	}
	if err != nil {
		return c.fail(err)
	}
	seen := map[string]bool{}
	for i, n := range names {
		if i == 0 {
			n = strings.TrimPrefix(n, "\ufeff")
		}
		at := -2
		for k, f := range c.fields {
			if f.Name == n {
				at = k
			}
		}
		if at < 0 && n == kindColumn {
			at, c.kinds = -1, true
		}
		switch {
		case at == -2:
			return fmt.Errorf("%s: line 1: there is no column %q in the table; there are %s", c.name, n, fieldNames(c.fields))
		case seen[n]:
			return fmt.Errorf("%s: line 1: column %q comes twice", c.name, n)
		}
		seen[n] = true
		c.cols = append(c.cols, at)
	}
	return nil
}

// Next implements batch.Reader.
func (c *csvRows) Next(ctx context.Context) (batch.Batch, error) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(c.fields))
	nested := make([]*jsonrow.Decoder, len(c.fields))
	for i, f := range c.fields {
		if f.Type.IsNested() || f.Type.Kind == types.Variant {
			nested[i] = jsonrow.NewDecoder(c.fields[i : i+1])
		}
	}
	var kinds []types.RowKind
	c.rows = c.rows[:0]
	n := 0
	for ; n < 8192 && !c.done; n++ {
		if err := ctx.Err(); err != nil {
			return batch.Batch{}, err
		}
		cells, err := c.r.Read()
		if errors.Is(err, io.EOF) {
			c.done = true
			break
		}
		if err != nil {
			return batch.Batch{}, c.fail(err)
		}
		kind, err := c.row(b, nested, cells)
		if err != nil {
			line, _ := c.r.FieldPos(0)
			return batch.Batch{}, fmt.Errorf("%s: line %d: %w", c.name, line, err)
		}
		kinds = append(kinds, kind)
		line, _ := c.r.FieldPos(0)
		c.rows = append(c.rows, line)
	}
	if n == 0 {
		return batch.Batch{}, io.EOF
	}
	cols := make([]arrow.Array, len(c.fields))
	for i, d := range nested {
		if d != nil {
			cols[i] = d.Batch().Column(0)
		} else {
			cols[i] = b.Field(i).NewArray()
		}
	}
	out := batch.Batch{RecordBatch: array.NewRecordBatch(b.Schema(), cols, int64(n))}
	if c.kinds {
		out.Kinds = kinds
	}
	return out, nil
}

// row takes the cells of a line.
func (c *csvRows) row(b *array.RecordBuilder, nested []*jsonrow.Decoder, cells []string) (types.RowKind, error) {
	kind := types.Insert
	vals := make([]types.Datum, len(c.fields))
	text := make([]string, len(c.fields))
	for i, s := range cells {
		at := c.cols[i]
		if at < 0 {
			var err error
			if s != "" {
				if kind, err = parseKind(s); err != nil {
					return kind, fmt.Errorf("%s: %w", kindColumn, err)
				}
			}
			continue
		}
		f := c.fields[at]
		switch {
		case nested[at] != nil:
			text[at] = s
		case s == "" && f.Type.Kind != types.Char && f.Type.Kind != types.Varchar:
		case !utf8.ValidString(s):
			return kind, fmt.Errorf("column %s: the text is not UTF-8", f.Name)
		case f.Type.Kind == types.Binary || f.Type.Kind == types.Varbinary:
			v, err := hex.DecodeString(s)
			if err != nil {
				return kind, fmt.Errorf("column %s: %q is not hexadecimal", f.Name, s)
			}
			vals[at] = v
		default:
			var err error
			if vals[at], err = types.ParseDatum(f.Type, s); err == nil {
				err = exactly(f.Type.AsNullable(), s, vals[at])
			}
			if err != nil {
				return kind, fmt.Errorf("column %s: %w", f.Name, err)
			}
		}
	}
	for i, f := range c.fields {
		if d := nested[i]; d != nil {
			member := "{}"
			if text[i] != "" {
				if !json.Valid([]byte(text[i])) {
					return kind, fmt.Errorf("column %s: %q is not JSON, which values of %s are written as", f.Name, text[i], f.Type.AsNullable())
				}
				name, _ := json.Marshal(f.Name)
				member = "{" + string(name) + ":" + text[i] + "}"
			}
			if err := d.Decode([]byte(member)); err != nil {
				return kind, err
			}
			continue
		}
		if vals[i] == nil && f.Type.NotNull {
			return kind, fmt.Errorf("column %s is NOT NULL and has no value", f.Name)
		}
		if err := types.AppendDatum(b.Field(i), f.Type, vals[i]); err != nil {
			return kind, fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return kind, nil
}

// Place is where a row of the last batch stands.
func (c *csvRows) Place(row int) string { return fmt.Sprintf("%s: line %d", c.name, c.rows[row]) }

// Close implements batch.Reader.
func (c *csvRows) Close() error { return nil }
