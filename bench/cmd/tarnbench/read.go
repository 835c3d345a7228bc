package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// sink adds up every value of every row, as the Java kit does: numbers as they are, strings by their
// length, timestamps by milliseconds, decimals by their digits.
type sink struct {
	rows, sum int64
}

func (s *sink) add(rec arrow.RecordBatch) error {
	n := int(rec.NumRows())
	s.rows += rec.NumRows()
	for i, col := range rec.Columns() {
		var sum int64
		nulls := col.NullN() > 0
		each := func(value func(row int) int64) {
			for row := range n {
				if !nulls || col.IsValid(row) {
					sum += value(row)
				}
			}
		}
		switch c := col.(type) {
		case *array.Int64:
			v := c.Int64Values()
			each(func(r int) int64 { return v[r] })
		case *array.Int32:
			v := c.Int32Values()
			each(func(r int) int64 { return int64(v[r]) })
		case *array.Timestamp:
			v := c.TimestampValues()
			each(func(r int) int64 { return int64(v[r]) })
		case *array.Float64:
			v := c.Float64Values()
			each(func(r int) int64 { return int64(math.Trunc(v[r])) })
		case *array.String:
			each(func(r int) int64 { return int64(c.ValueLen(r)) })
		case *array.Decimal128:
			v := c.Values()
			each(func(r int) int64 { return int64(v[r].LowBits()) })
		default:
			return fmt.Errorf("column %s came as %s", rec.ColumnName(i), col.DataType())
		}
		s.sum += sum
	}
	return nil
}

func (b *bench) columns(t *tarn.Table) ([]string, error) {
	fields, err := t.Fields()
	if err != nil {
		return nil, err
	}
	var names []string
	if c := b.str("cols", ""); c != "" {
		for _, x := range strings.Split(c, ",") {
			i, err := strconv.Atoi(x)
			if err != nil || i < 0 || i >= len(fields) {
				return nil, fmt.Errorf("--cols=%s: columns are numbers from 0 to %d", c, len(fields)-1)
			}
			names = append(names, fields[i].Name)
		}
		return names, nil
	}
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names, nil
}

func (b *bench) scan(ctx context.Context, t *tarn.Table, o tarn.ScanOptions) (sink, error) {
	var s sink
	for rows, err := range t.Scan(o).Batches(ctx) {
		if err != nil {
			return s, err
		}
		if err := s.add(rows.RecordBatch); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (b *bench) read(ctx context.Context) error {
	t, err := b.table(ctx, b.str("table", "orders"))
	if err != nil {
		return err
	}
	cols, err := b.columns(t)
	if err != nil {
		return err
	}
	o := tarn.ScanOptions{Columns: cols, Parallel: b.threads()}
	if b.str("filter", "") == "price1pct" {
		o.Filter = &predicate.Leaf{Op: predicate.Lt, Column: "price", Type: types.MustParse("DOUBLE"), Values: []types.Datum{100.0}}
	}
	reps := int(b.num("reps", 5))
	walls, cpus := make([]float64, reps), make([]float64, reps)
	var s sink
	for i := range reps {
		walls[i], cpus[i], err = timed(func() (err error) {
			s, err = b.scan(ctx, t, o)
			return err
		})
		if err != nil {
			return err
		}
	}
	r := b.result("read", s.rows, median(warm(walls)))
	r.add("table", b.str("table", "orders"), "cols", len(cols), "filter", b.str("filter", ""))
	if err := r.addInput(ctx, t); err != nil {
		return err
	}
	r.add("cold_s", walls[0], "cpu_s", median(warm(cpus)), "sum", s.sum)
	return b.print(r)
}

// addInput adds what a full read of the table goes through.
func (r *result) addInput(ctx context.Context, t *tarn.Table) error {
	p, err := t.Scan(tarn.ScanOptions{}).Plan(ctx)
	if err != nil {
		return err
	}
	splits, err := p.Splits(ctx)
	if err != nil {
		return err
	}
	var rows, bytes, files, raw int64
	for _, s := range splits {
		rows, bytes, files = rows+s.Rows, bytes+s.Bytes, files+int64(len(s.Files))
		if s.Raw {
			raw++
		}
	}
	r.add("input_rows", rows, "input_files", files, "input_bytes", bytes, "splits", len(splits), "raw_splits", raw)
	return nil
}

// compactFull compacts copies of the table, and at last the table itself unless --docommit=false.
func (b *bench) compactFull(ctx context.Context) error {
	name := b.str("table", "orders")
	reps := int(b.num("reps", 1))
	commit := b.str("docommit", "true") == "true"
	walls, cpus := make([]float64, reps), make([]float64, reps)
	t, err := b.table(ctx, name)
	if err != nil {
		return err
	}
	in := &result{}
	if err := in.addInput(ctx, t); err != nil {
		return err
	}
	var outRows, outBytes int64
	for i := range reps {
		target := name
		if !commit || i < reps-1 {
			target = name + "_copy"
			if err := os.RemoveAll(b.path(target)); err != nil {
				return err
			}
			if err := os.CopyFS(b.path(target), os.DirFS(b.path(name))); err != nil {
				return err
			}
		}
		if t, err = b.cat.Table(ctx, "db."+target); err != nil {
			return err
		}
		if t, err = t.With(ctx, map[string]string{"write-only": "false"}); err != nil {
			return err
		}
		walls[i], cpus[i], err = timed(func() error {
			_, err := t.Compact(ctx, tarn.CompactOptions{Full: true})
			return err
		})
		if err != nil {
			return err
		}
		if t, err = b.cat.Table(ctx, "db."+target); err != nil {
			return err
		}
		p, err := t.Scan(tarn.ScanOptions{}).Plan(ctx)
		if err != nil {
			return err
		}
		splits, err := p.Splits(ctx)
		if err != nil {
			return err
		}
		outRows, outBytes = 0, 0
		for _, s := range splits {
			outRows, outBytes = outRows+s.Rows, outBytes+s.Bytes
		}
		if target != name {
			if err := b.cat.DropTable(ctx, "db."+target); err != nil {
				return err
			}
		}
	}
	r := b.result("compact-full", in.values[0].(int64), median(warm(walls)))
	r.add("table", name, "input_files", in.values[1], "input_bytes", in.values[2], "output_rows", outRows, "output_bytes", outBytes,
		"cpu_s", median(warm(cpus)), "cold_s", walls[0])
	return b.print(r)
}
