package tarn

import (
	"context"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/jobs"
	"github.com/tarnlake/tarn/internal/paths"
)

// Job is the right to go on with an ingestion job, kept in the warehouse beside the tables. See
// OpenJob.
type Job = jobs.Job

// Checkpoint is one step of a Job.
type Checkpoint = jobs.Checkpoint

// TableState is a table's part of a Checkpoint.
type TableState = jobs.TableState

// CheckpointStep is the number and the place of a Checkpoint.
type CheckpointStep = jobs.Step

// TableStatus is the status of a table within a job.
type TableStatus = jobs.Status

// The statuses of a table within a job.
const (
	TableRunning     = jobs.Running
	TableFailed      = jobs.Failed
	TableUndecided   = jobs.Undecided
	TableNeedsResync = jobs.NeedsResync
)

// ErrFenced: another process has taken over the job. Stop at once.
var ErrFenced = jobs.ErrFenced

// OpenJob takes up a job, for the first time or again. Of two processes that run the same job one stops
// with ErrFenced at its next checkpoint.
func (c *Catalog) OpenJob(ctx context.Context, name string) (*Job, error) {
	return jobs.Open(ctx, c.env.fs, c.warehouse, name, jobs.Options{})
}

// Jobs names the jobs of the warehouse.
func (c *Catalog) Jobs(ctx context.Context) ([]string, error) {
	return jobs.List(ctx, c.env.fs, c.warehouse)
}

// PreparedByJobs gives what live checkpoints of all jobs have prepared for a table: files that nobody
// may clean away.
func (c *Catalog) PreparedByJobs(ctx context.Context, table string) ([]*Prepared, error) {
	return preparedByJobs(ctx, c.env.fs, c.warehouse, table)
}

// preparedByJobs does the same for this table, which lies two folders below its warehouse.
func (t *Table) preparedByJobs(ctx context.Context) ([]*Prepared, error) {
	p, err := preparedByJobs(ctx, t.env.fs, paths.Parent(paths.Parent(t.path)), Ident{Database: t.id.Database, Table: t.id.Table}.String())
	if err != nil {
		return nil, t.wrap(err)
	}
	return p, nil
}

func preparedByJobs(ctx context.Context, fs fileio.FS, warehouse, table string) ([]*Prepared, error) {
	raw, err := jobs.Prepared(ctx, fs, warehouse, table)
	if err != nil {
		return nil, err
	}
	var out []*Prepared
	for _, b := range raw {
		p, err := UnmarshalPrepared(b)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
