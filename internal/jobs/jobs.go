// Package jobs keeps the state of ingestion jobs in the warehouse itself: who may commit in the name
// of a job, and the checkpoints that it goes on from.
//
// The files of a job lie in _tarn/jobs/<job>/, outside every database:
//
//	incarnation-<k>            who the job is: its commit user; the largest k counts
//	<user>/checkpoint-<n>      source position and what was prepared for each table
//	<user>/floor               no checkpoint below this number will ever be made again
//	lease                      who runs the job now; a courtesy, nothing rests on it
//
// Each incarnation and each checkpoint is made by one atomic create. Of two processes that run the
// same job one fails to make the next checkpoint and stops: that is the fence.
package jobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
)

// ErrFenced means that another process runs this job, or that it was reset: stop at once, and leave
// everything as it is.
var ErrFenced = errors.New("another process has taken over this job")

// formatVersion is written into every file. A reader knows this one and the one before.
const formatVersion = 1

// Job is the right to go on with a job, until somebody else takes it. It is used by one goroutine.
type Job struct {
	fs          fileio.FS
	dir         string
	name        string
	user        string
	incarnation int64
	last        int64  // newest checkpoint seen or made; -1: none
	nonce       string // tells our files from others of the same content
	floor       int64
	holder      string // as it stands in the lease
	random      func([]byte)
}

// Options of Open.
type Options struct {
	// Random fills a slice with random bytes; nil is crypto/rand.
	Random func([]byte)
}

type incarnationFile struct {
	Version int    `json:"version"`
	User    string `json:"commitUser"`
	Nonce   string `json:"nonce"`
}

// CheckName reports whether a job may have this name.
func CheckName(name string) error {
	if name == "" || len(name) > 100 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return fmt.Errorf("jobs: %q is no name for a job: use letters, digits, - and _, at most 100", name)
	}
	return nil
}

// Dir is the folder of a job.
func Dir(warehouse, job string) string {
	return strings.TrimRight(warehouse, "/") + "/_tarn/jobs/" + job
}

// Open takes up a job, for the first time or again.
func Open(ctx context.Context, fs fileio.FS, warehouse, name string, o Options) (*Job, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	j := &Job{fs: fs, dir: Dir(warehouse, name), name: name, last: -1, random: o.Random}
	if j.random == nil {
		j.random = func(b []byte) { _, _ = rand.Read(b) } // never fails (crypto/rand)
	}
	j.nonce = j.hex(8)
	k, err := j.newestIncarnation(ctx)
	if err != nil {
		return nil, err
	}
	if k < 0 {
		return j, j.incarnate(ctx, 0)
	}
	if err := j.load(ctx, k); err != nil {
		return nil, err
	}
	if j.last, err = j.newestNumber(ctx); err != nil {
		return nil, err
	}
	return j, nil
}

func (j *Job) hex(n int) string {
	b := make([]byte, n)
	j.random(b)
	return hex.EncodeToString(b)
}

func (j *Job) incarnationPath(k int64) string {
	return j.dir + "/incarnation-" + strconv.FormatInt(k, 10)
}

// newestIncarnation is the largest number of an incarnation, -1 if there is none.
func (j *Job) newestIncarnation(ctx context.Context) (int64, error) {
	return j.newest(ctx, j.dir, "incarnation-")
}

func (j *Job) newest(ctx context.Context, dir, prefix string) (int64, error) {
	best := int64(-1)
	for info, err := range j.fs.List(ctx, dir) {
		if err != nil {
			return 0, fmt.Errorf("jobs: %w", err)
		}
		if s, ok := strings.CutPrefix(path.Base(info.Path), prefix); ok {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				best = max(best, n)
			}
		}
	}
	return best, nil
}

// incarnate makes an incarnation. If somebody else makes it at the same time, one of the two stops.
func (j *Job) incarnate(ctx context.Context, k int64) error {
	user := j.name + "-" + j.hex(4)
	data, err := json.MarshalIndent(incarnationFile{formatVersion, user, j.nonce}, "", "  ")
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	if err := j.create(ctx, j.incarnationPath(k), data); err != nil {
		return err
	}
	j.incarnation, j.user, j.last, j.floor = k, user, -1, 0
	return nil
}

func (j *Job) load(ctx context.Context, k int64) error {
	p := j.incarnationPath(k)
	data, err := fileio.ReadFile(ctx, j.fs, p)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	var f incarnationFile
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("jobs: %s: %w", p, err)
	}
	if f.Version > formatVersion || f.User == "" || strings.Contains(f.User, "/") {
		return fmt.Errorf("jobs: %s: version %d, user %q: written by a newer release or damaged", p, f.Version, f.User)
	}
	j.incarnation, j.user = k, f.User
	j.floor, err = j.readFloor(ctx)
	return err
}

// create makes a file that must not be there. If the outcome is unknown it is looked up: the nonce
// within tells whether it was us.
func (j *Job) create(ctx context.Context, p string, data []byte) error {
	err := j.fs.PutIfAbsent(ctx, p, data)
	if err == nil {
		return nil
	}
	have, rerr := fileio.ReadFile(context.WithoutCancel(ctx), j.fs, p)
	switch {
	case rerr == nil && bytes.Equal(have, data):
		return nil
	case rerr == nil:
		return fmt.Errorf("jobs: %s: %w", p, ErrFenced)
	case errors.Is(err, iofs.ErrExist):
		return fmt.Errorf("jobs: %s: %w", p, ErrFenced)
	}
	return fmt.Errorf("jobs: %w", err)
}

// Name is the name of the job.
func (j *Job) Name() string { return j.name }

// User is the commit user of the job in every table.
func (j *Job) User() string { return j.user }

// Last is the number of the newest checkpoint, -1 if there is none.
func (j *Job) Last() int64 { return j.last }

// Verify looks whether this process still holds the job: call it before every commit to a table. The
// error is ErrFenced if not.
func (j *Job) Verify(ctx context.Context) error {
	k, err := j.newestIncarnation(ctx)
	if err != nil {
		return err
	}
	if k != j.incarnation {
		return fmt.Errorf("jobs: %s: incarnation %d is newer than ours, %d: %w", j.name, k, j.incarnation, ErrFenced)
	}
	n, err := j.newestNumber(ctx)
	if err != nil {
		return err
	}
	if n != j.last {
		return fmt.Errorf("jobs: %s: checkpoint %d is there, ours is %d: %w", j.name, n, j.last, ErrFenced)
	}
	return nil
}

// Reset makes a new incarnation: the job starts from nothing, under another commit user. Whoever runs
// the old one stops at its next checkpoint or commit.
func (j *Job) Reset(ctx context.Context) error {
	k, err := j.newestIncarnation(ctx)
	if err != nil {
		return err
	}
	return j.incarnate(ctx, k+1)
}

// List names the jobs of a warehouse.
func List(ctx context.Context, fs fileio.FS, warehouse string) ([]string, error) {
	var out []string
	dir := strings.TrimRight(warehouse, "/") + "/_tarn/jobs"
	for info, err := range fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
		if info.IsDir {
			out = append(out, path.Base(info.Path))
		}
	}
	slices.Sort(out)
	return out, nil
}
