package tarn

import (
	"context"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/jobs"
	"github.com/tarnlake/tarn/internal/paths"
)

// Job is the right to go on with an ingestion job, kept in the warehouse beside the tables. See OpenJob. It is
// used by one goroutine. Its methods:
//
//	Name() string                                  of the job
//	User() string                                  the commit user of the job in every table
//	Last() int64                                   number of the newest checkpoint, -1: none
//	Latest(ctx) (*Checkpoint, error)               the newest checkpoint, nil: none
//	Write(ctx, *Checkpoint) error                  makes the next one and numbers it; ErrFenced if another process did
//	Verify(ctx) error                              to be called before each commit; ErrFenced if another process took over
//	Trim(ctx, keep int64) error                    removes all checkpoints but the newest ones
//	Reset(ctx) error                               starts from nothing, under another commit user
//	Lease(ctx, holder string, now time.Time, d time.Duration) (other string, err error)
//	                                               notes who runs the job, or tells who does: a courtesy
//	Holder(ctx, now time.Time) (string, error)     who runs the job now, "": nobody
//	Release(ctx) error                             gives the lease back
type Job = jobs.Job

// Checkpoint is one step of a Job: the source up to Position (json.RawMessage, in the source's own form) is in what
// the tables hold, and in what is prepared for them in Tables ([]TableState). Events int64 counts those up to there,
// Millis int64 is when it was made, Extra (json.RawMessage) is the job's own; Job.Write sets the other fields.
type Checkpoint = jobs.Checkpoint

// TableState is a table's part of a Checkpoint: Table is its name, Prepared what Prepared.MarshalBinary gave (nil:
// nothing), Base that of Prepared.Base, Position, At and Events the place of the source up to which the table has
// everything already, Status and Reason how it is with the table.
type TableState = jobs.TableState

// CheckpointStep is the Number and the place (Position, Events) of a Checkpoint.
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
