package lsm

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
)

// SpillOptions say how sort buffers and merges with too many runs use temporary files.
type SpillOptions struct {
	Buffer      bool   // write-buffer-spillable: a full sort buffer goes to a temporary file, not to level 0
	MaxDisk     int64  // write-buffer-spill.max-disk-size of a bucket; 0: no limit
	Dir         string // "" is the system's folder for temporary files
	Compression string // spill-compression: zstd, lz4 or none; "" is zstd
}

// mergeTemp writes the rows of a merge to a temporary run. It closes the merge.
func (t *Table) mergeTemp(ctx context.Context, in grouped, j *job) (x *kv.Temp, err error) {
	defer func() { err = errors.Join(err, in.Close()) }()
	r := &rawReader{in: in, job: j.raw()}
	if x, err = kv.NewTemp(t.c.Spill.Dir); err != nil {
		return nil, fmt.Errorf("lsm: %w", err)
	}
	if err = x.Fill(r.job.outSchema, t.c.Spill.Compression, kv.TempBytes, func() (arrow.RecordBatch, error) {
		b, err := r.Next(ctx)
		return b.RecordBatch, err
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("lsm: %w", err), x.Remove())
	}
	return x, nil
}

// rawReader gives the rows of a merge as the input of another one.
type rawReader struct {
	in    grouped
	job   *job
	queue []batch.Batch
}

func (r *rawReader) Close() error { return r.in.Close() }

func (r *rawReader) Next(ctx context.Context) (batch.Batch, error) {
	for len(r.queue) == 0 {
		g, err := r.in.Next(ctx)
		if err != nil {
			return batch.Batch{}, err
		}
		if r.queue, err = r.job.keep(g); err != nil {
			return batch.Batch{}, err
		}
	}
	b := r.queue[0]
	r.queue = r.queue[1:]
	return b, nil
}

// reduce merges neighbouring temporary runs until there are at most fan of them, in batches of target rows. After an error it
// gives those that are left, to be removed.
func (t *Table) reduce(ctx context.Context, temp []*kv.Temp, j *job, fan, target int) ([]*kv.Temp, error) {
	for len(temp) > fan {
		var next []*kv.Temp
		for len(temp) > 0 {
			n := min(len(temp), fan)
			x, err := t.mergeTemp(ctx, kv.NewMerger(kv.TempRuns(temp[:n]), j.layout, target), j)
			if err != nil {
				return append(next, temp...), err
			}
			next = append(next, x)
			for _, old := range temp[:n] {
				err = errors.Join(err, old.Remove())
			}
			temp = temp[n:]
			if err != nil {
				return append(next, temp...), err
			}
		}
		temp = next
	}
	return temp, nil
}

// tempMerge is a merge that removes its temporary runs when it is closed.
type tempMerge struct {
	*kv.Merger
	temp []*kv.Temp
}

func (m *tempMerge) Close() error {
	err := m.Merger.Close()
	for _, x := range m.temp {
		err = errors.Join(err, x.Remove())
	}
	m.temp = nil
	return err
}
