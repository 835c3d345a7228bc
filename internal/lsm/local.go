package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tarnlake/tarn/internal/batch"
)

// Local merges the versions of each key before rows go to their buckets: where few keys change often, that is less to
// distribute, to sort and to write. It is used by one goroutine.
type Local struct {
	t     *Table
	buf   *sortBuffer
	limit int64 // bytes
}

// NewLocal makes a Local that holds so many bytes. The table's keys are those that rows are merged by, of all partitions. It is nil
// for engines that need all versions of a key at once.
func (t *Table) NewLocal(limit int64) (*Local, error) {
	if !t.c.Engine.PreMerge() {
		return nil, nil
	}
	b, err := t.bufferOf(want{out: t.c.Fields, kinds: true, give: true})
	if err != nil {
		return nil, err
	}
	return &Local{t: t, buf: b, limit: limit}, nil
}

// Add takes a batch in the columns of the table. Full says that it is time to Flush.
func (l *Local) Add(b batch.Batch) (full bool, err error) {
	for _, k := range l.buf.job.layout.Keys {
		col := b.Column(l.buf.cols[k])
		if col.NullN() == 0 {
			continue
		}
		for row := range col.Len() {
			if col.IsNull(row) {
				return false, fmt.Errorf("lsm: row %d has NULL in primary key column %q", row, l.buf.job.in[k].Name)
			}
		}
	}
	if err := l.buf.add(b, nil, 0); err != nil {
		return false, fmt.Errorf("lsm: local merge: %w", err)
	}
	return l.buf.bytes >= l.limit, nil
}

// Flush gives what is left of the rows, in the columns of the table, in key order, and is empty then.
func (l *Local) Flush(ctx context.Context, give func(batch.Batch) error) (err error) {
	if l.buf.len() == 0 {
		return nil
	}
	defer l.buf.reset()
	rows, err := l.buf.sorted()
	if err != nil {
		return fmt.Errorf("lsm: local merge: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		g, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lsm: local merge: %w", err)
		}
		merged, err := l.buf.job.merge(g, nil)
		if err != nil {
			return fmt.Errorf("lsm: local merge: %w", err)
		}
		for _, b := range merged {
			if err := give(b); err != nil {
				return err
			}
		}
	}
}
