package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
)

// lease is who runs a job.
type lease struct {
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
	Nonce  string    `json:"nonce"`
	Host   string    `json:"host,omitempty"`
	PID    int       `json:"pid,omitempty"`
}

// held are the nonces of the leases that this process holds.
var held sync.Map

// Lease notes that this process runs the job until some time from now. If another process holds a
// lease that has not run out, its name is given and nothing changes. A holder that is known to be dead,
// as it ran on this machine, is not waited for. Nothing rests on it: it only makes a second start fail
// early. With holder "" the lease goes on under the name that it has.
func (j *Job) Lease(ctx context.Context, holder string, now time.Time, d time.Duration) (other string, err error) {
	p := j.dir + "/lease"
	data, err := fileio.ReadFile(ctx, j.fs, p)
	if err == nil {
		var l lease
		if json.Unmarshal(data, &l) == nil && l.Nonce != j.nonce && now.Before(l.Until) && !l.ended() {
			return l.Holder, nil
		}
	}
	if holder != "" {
		j.holder = holder
	}
	host, _ := os.Hostname()
	data, err = json.Marshal(lease{j.holder, now.Add(d), j.nonce, host, os.Getpid()})
	if err != nil {
		return "", fmt.Errorf("jobs: %w", err)
	}
	held.Store(j.nonce, true)
	if err := j.fs.Put(ctx, p, data); err != nil {
		return "", fmt.Errorf("jobs: lease: %w", err)
	}
	return "", nil
}

// Holder tells which process runs the job at some time, "" if none does as far as its lease says.
func (j *Job) Holder(ctx context.Context, now time.Time) (string, error) {
	data, err := fileio.ReadFile(ctx, j.fs, j.dir+"/lease")
	if errors.Is(err, iofs.ErrNotExist) {
		return "", nil
	}
	var l lease
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("jobs: lease: %w", err)
	case l.Holder == "" || !now.Before(l.Until) || l.ended():
		return "", nil
	}
	return l.Holder, nil
}

// ended reports whether the holder of a lease surely runs no more.
func (l *lease) ended() bool {
	host, err := os.Hostname()
	switch {
	case err != nil || host != l.Host || l.PID <= 0:
		return false
	case l.PID == os.Getpid():
		_, runs := held.Load(l.Nonce)
		return !runs
	}
	p, err := os.FindProcess(l.PID)
	if err != nil {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// Release gives the lease back.
func (j *Job) Release(ctx context.Context) error {
	held.Delete(j.nonce)
	data, err := fileio.ReadFile(ctx, j.fs, j.dir+"/lease")
	if err != nil {
		return nil // there is none, or it cannot be read: it runs out by itself
	}
	var l lease
	if json.Unmarshal(data, &l) == nil && l.Nonce == j.nonce {
		return j.fs.Delete(ctx, j.dir+"/lease")
	}
	return nil
}
