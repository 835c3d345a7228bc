package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Checkpoint is one step of a job: the source up to Position is in what the tables hold and what is
// prepared for them here.
type Checkpoint struct {
	Version  int             `json:"version"`
	Number   int64           `json:"number"`
	Position json.RawMessage `json:"position,omitempty"` // of the source, in its own form
	Events   int64           `json:"events"`             // that the source gave up to Position: the order of positions
	Millis   int64           `json:"timeMillis"`
	Tables   []TableState    `json:"tables"`
	Nonce    string          `json:"nonce"`
	// Extra is what the job keeps besides (the schemas seen in the source, for example).
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Status of a table within a job.
type Status string

const (
	Running     Status = ""
	Failed      Status = "failed"       // set aside; Reason says why
	Undecided   Status = "undecided"    // nobody can tell whether its last step was committed
	NeedsResync Status = "needs-resync" // the source no longer has what the table lacks
)

// TableState is a table's part of a checkpoint.
type TableState struct {
	Table    string `json:"table"`              // db.name
	Base     int64  `json:"base"`               // newest snapshot when the files were prepared; 0: none
	Prepared []byte `json:"prepared,omitempty"` // what is to be committed, nil: nothing
	// Position is the source position up to which the table held everything when Prepared was not yet
	// committed, and At the number of the checkpoint of that position, -1 for the beginning: what the
	// table goes back to if Prepared cannot be committed, or if it was set aside.
	Position json.RawMessage `json:"position,omitempty"`
	At       int64           `json:"at"`
	Events   int64           `json:"events"` // that the source gave up to Position
	// Ahead is a position behind that of the checkpoint, up to which the table has everything already: the job
	// reads again what another table lacks.
	Ahead json.RawMessage `json:"ahead,omitempty"`
	// Incarnation is that of the table when it was last written to.
	Incarnation string `json:"incarnation,omitempty"`
	// Pending is where Prepared leads to if that is of an earlier checkpoint: its commit failed, and the next start
	// tries again.
	Pending *Step  `json:"pending,omitempty"`
	Status  Status `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Step is what a checkpoint says of all tables: its number and its place in the source.
type Step struct {
	Number   int64           `json:"number"`
	Position json.RawMessage `json:"position,omitempty"`
	Events   int64           `json:"events"`
}

func (j *Job) checkpointPath(n int64) string {
	return j.dir + "/" + j.user + "/checkpoint-" + strconv.FormatInt(n, 10)
}

func (j *Job) newestNumber(ctx context.Context) (int64, error) {
	return j.newest(ctx, j.dir+"/"+j.user, "checkpoint-")
}

// Latest reads the newest checkpoint, nil if the job has none.
func (j *Job) Latest(ctx context.Context) (*Checkpoint, error) {
	if j.last < 0 {
		return nil, nil
	}
	p := j.checkpointPath(j.last)
	data, err := fileio.ReadFile(ctx, j.fs, p)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	var c Checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("jobs: %s: %w", p, err)
	}
	if c.Version > formatVersion {
		return nil, fmt.Errorf("jobs: %s: version %d is newer than this program knows (%d): use the release that wrote it, or a newer one", p, c.Version, formatVersion)
	}
	return &c, nil
}

// Write makes the next checkpoint. Its Number is given by this call. The error is ErrFenced if another
// process made one of that number.
func (j *Job) Write(ctx context.Context, c *Checkpoint) error {
	if c == nil {
		return fmt.Errorf("jobs: %s: there is no checkpoint to write (nil)", j.name)
	}
	n := j.last + 1
	if n < j.floor {
		return fmt.Errorf("jobs: %s: checkpoint %d is below the floor %d: %w", j.name, n, j.floor, ErrFenced)
	}
	out := *c
	out.Version, out.Number, out.Nonce = formatVersion, n, j.nonce
	data, err := json.Marshal(&out)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	// A process that slept through a clean-up would find its number free again: the floor tells.
	floor, err := j.readFloor(ctx)
	if err != nil {
		return err
	}
	if n < floor {
		return fmt.Errorf("jobs: %s: checkpoint %d is below the floor %d: %w", j.name, n, floor, ErrFenced)
	}
	if err := j.create(ctx, j.checkpointPath(n), data); err != nil {
		return err
	}
	c.Version, c.Number, c.Nonce = out.Version, out.Number, out.Nonce
	j.last = n
	return nil
}

func (j *Job) readFloor(ctx context.Context) (int64, error) {
	data, err := fileio.ReadFile(ctx, j.fs, j.dir+"/"+j.user+"/floor")
	if errors.Is(err, iofs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("jobs: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("jobs: %s/%s/floor: %w", j.dir, j.user, err)
	}
	return n, nil
}

// Trim removes checkpoints before the newest keep ones. The floor is raised first, and stays below a
// number that exists, so that nobody who slept can make an old number anew.
func (j *Job) Trim(ctx context.Context, keep int64) error {
	floor := j.last - max(keep, 1) + 1
	if floor <= j.floor {
		return nil
	}
	dir := j.dir + "/" + j.user
	if err := j.fs.Put(ctx, dir+"/floor", []byte(strconv.FormatInt(floor, 10))); err != nil {
		return fmt.Errorf("jobs: floor: %w", err)
	}
	j.floor = floor
	var old []string
	for info, err := range j.fs.List(ctx, dir) {
		if err != nil {
			return fmt.Errorf("jobs: %w", err)
		}
		if s, ok := strings.CutPrefix(path.Base(info.Path), "checkpoint-"); ok {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil && n < floor {
				old = append(old, info.Path)
			}
		}
	}
	if err := j.fs.Delete(ctx, old...); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}

// Checkpoints that other processes must not clean away: every file that a live checkpoint of any job
// has prepared belongs to it. Prepared gives the prepared parts for a table of all jobs of a
// warehouse.
func Prepared(ctx context.Context, fs fileio.FS, warehouse, table string) ([][]byte, error) {
	names, err := List(ctx, fs, warehouse)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, name := range names {
		j := &Job{fs: fs, dir: Dir(warehouse, name), name: name, last: -1}
		k, err := j.newestIncarnation(ctx)
		if err != nil {
			return nil, err
		}
		if k < 0 {
			continue
		}
		if err := j.load(ctx, k); err != nil {
			return nil, err
		}
		if j.last, err = j.newestNumber(ctx); err != nil {
			return nil, err
		}
		c, err := j.Latest(ctx)
		if err != nil {
			return nil, err
		}
		if c == nil {
			continue
		}
		for _, t := range c.Tables {
			if t.Table == table && t.Prepared != nil {
				out = append(out, t.Prepared)
			}
		}
	}
	return out, nil
}
