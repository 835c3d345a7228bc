package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
)

func open(t *testing.T, fs fileio.FS) *Job {
	t.Helper()
	j, err := Open(t.Context(), fs, "/wh", "shop", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestGoesOnFromTheNewestCheckpoint(t *testing.T) {
	fs := fileio.NewMem(fileio.MemOptions{})
	j := open(t, fs)
	if c, err := j.Latest(t.Context()); c != nil || err != nil {
		t.Fatalf("new job has checkpoint %v, %v", c, err)
	}
	for i := range 5 {
		c := &Checkpoint{Position: json.RawMessage(`{"offset":` + string(rune('0'+i)) + `}`), Tables: []TableState{{Table: "s.a", Base: int64(i), Prepared: []byte{byte(i)}}}}
		if err := j.Write(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if c.Number != int64(i) {
			t.Fatalf("checkpoint %d has number %d", i, c.Number)
		}
	}
	again := open(t, fs)
	if again.User() != j.User() {
		t.Fatalf("commit user changed from %s to %s", j.User(), again.User())
	}
	c, err := again.Latest(t.Context())
	if err != nil || c.Number != 4 || string(c.Position) != `{"offset":4}` || c.Tables[0].Prepared[0] != 4 {
		t.Fatalf("latest is %+v, %v", c, err)
	}
}

// Two processes run the same job: the second to make a checkpoint stops, and may not commit.
func TestFence(t *testing.T) {
	fs := fileio.NewMem(fileio.MemOptions{})
	a, b := open(t, fs), open(t, fs)
	if err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(t.Context(), &Checkpoint{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("verify of the slower process: %v", err)
	}
	if err := a.Write(t.Context(), &Checkpoint{}); !errors.Is(err, ErrFenced) {
		t.Errorf("checkpoint of the slower process: %v", err)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Errorf("verify of the faster process: %v", err)
	}
}

// A process that slept while another made and removed many checkpoints cannot make an old number.
func TestFloor(t *testing.T) {
	fs := fileio.NewMem(fileio.MemOptions{})
	slow, fast := open(t, fs), open(t, fs)
	for range 10 {
		if err := fast.Write(t.Context(), &Checkpoint{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := fast.Trim(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := slow.Verify(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("verify: %v", err)
	}
	if err := slow.Write(t.Context(), &Checkpoint{}); !errors.Is(err, ErrFenced) {
		t.Errorf("checkpoint 0 after the floor was raised to 8: %v", err)
	}
	if err := fast.Write(t.Context(), &Checkpoint{}); err != nil {
		t.Errorf("next checkpoint of the running process: %v", err)
	}
	if c, err := open(t, fs).Latest(t.Context()); err != nil || c.Number != 10 {
		t.Errorf("latest %+v, %v", c, err)
	}
}

func TestReset(t *testing.T) {
	fs := fileio.NewMem(fileio.MemOptions{})
	old := open(t, fs)
	if err := old.Write(t.Context(), &Checkpoint{}); err != nil {
		t.Fatal(err)
	}
	fresh := open(t, fs)
	if err := fresh.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fresh.User() == old.User() {
		t.Error("commit user is the same after a reset")
	}
	if c, err := fresh.Latest(t.Context()); c != nil || err != nil {
		t.Errorf("checkpoint after a reset: %v, %v", c, err)
	}
	if err := old.Verify(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("verify of the process that was reset: %v", err)
	}
}

// Of many first starts all end up with one identity or stop.
func TestFirstStarts(t *testing.T) {
	fs := fileio.NewMem(fileio.MemOptions{})
	var mu sync.Mutex
	users := map[string]int{}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			j, err := Open(context.Background(), fs, "/wh", "shop", Options{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if !errors.Is(err, ErrFenced) {
					t.Error(err)
				}
				return
			}
			users[j.User()]++
		})
	}
	wg.Wait()
	if len(users) != 1 {
		t.Errorf("identities %v, want one", users)
	}
}

// A create whose answer is lost is found out by reading.
func TestUnknownOutcome(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	j := open(t, lostAnswers{mem})
	if err := j.Write(t.Context(), &Checkpoint{}); err != nil {
		t.Fatalf("checkpoint that was written but not acknowledged: %v", err)
	}
	if c, err := open(t, mem).Latest(t.Context()); err != nil || c.Number != 0 {
		t.Fatalf("latest %+v, %v", c, err)
	}
}

// lostAnswers writes, then says that it does not know.
type lostAnswers struct{ fileio.FS }

func (l lostAnswers) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if err := l.FS.PutIfAbsent(ctx, path, data); err != nil {
		return err
	}
	return errors.New("timeout")
}

func TestLease(t *testing.T) {
	fs := fileio.NewMem(fileio.MemOptions{})
	a, b := open(t, fs), open(t, fs)
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	if other, err := a.Lease(t.Context(), "host a", now, time.Minute); other != "" || err != nil {
		t.Fatal(other, err)
	}
	if other, _ := b.Lease(t.Context(), "host b", now, time.Minute); other != "host a" {
		t.Errorf("second start sees holder %q", other)
	}
	for _, c := range []struct {
		at   time.Duration
		want string
	}{{0, "host a"}, {2 * time.Minute, ""}} {
		if holder, err := b.Holder(t.Context(), now.Add(c.at)); holder != c.want || err != nil {
			t.Errorf("after %s the job is run by %q, %v; want %q", c.at, holder, err, c.want)
		}
	}
	if other, _ := b.Lease(t.Context(), "host b", now.Add(2*time.Minute), time.Minute); other != "" {
		t.Errorf("lease that ran out is still held by %q", other)
	}
	if err := a.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if other, _ := a.Lease(t.Context(), "host a", now.Add(2*time.Minute), time.Minute); other != "host b" {
		t.Errorf("release of a lost lease gave it away: holder %q", other)
	}
}

// Whoever died on this machine is not waited for.
func TestLeaseOfTheDead(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	fault := fileio.NewFault(mem)
	a := open(t, fault)
	if other, err := a.Lease(t.Context(), "host a", now, time.Minute); other != "" || err != nil {
		t.Fatal(other, err)
	}
	if other, err := a.Lease(t.Context(), "", now, time.Minute); other != "" || err != nil {
		t.Fatal(other, err)
	}
	if other, _ := open(t, mem).Lease(t.Context(), "host b", now, time.Minute); other != "host a" {
		t.Errorf("second start in the same process sees holder %q", other)
	}
	fault.FailAt(fault.Mutations()+1, fileio.StopBefore)
	if err := a.Release(t.Context()); err == nil {
		t.Error("the lease was given back, although the file system is gone")
	}
	if other, err := open(t, mem).Lease(t.Context(), "host b", now, time.Minute); other != "" || err != nil {
		t.Errorf("the lease of a run that ended is held by %q, %v", other, err)
	}
	// A process that has ended.
	c := exec.Command(os.Args[0], "-test.run=^$") //nolint:gosec,noctx // this test itself
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	for _, l := range []struct {
		lease
		ended bool
	}{
		{lease{Host: host, PID: c.Process.Pid}, true},
		{lease{Host: host, PID: os.Getppid()}, false},
		{lease{Host: host + "x", PID: c.Process.Pid}, false},
		{lease{}, false},
	} {
		if l.lease.ended() != l.ended {
			t.Errorf("%+v: ended %v, want %v", l.lease, !l.ended, l.ended)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "a/b", "..", "a b", "ä"} {
		if _, err := Open(t.Context(), fileio.NewMem(fileio.MemOptions{}), "/wh", name, Options{}); err == nil {
			t.Errorf("job name %q was taken", name)
		}
	}
}
