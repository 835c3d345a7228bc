package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// unreachable is the exit code of commands whose storage does not answer.
const unreachable = 5

// vanishing is a file system that goes away with the answer to the create of a file.
type vanishing struct {
	fileio.FS
	with string
	gone atomic.Bool
}

func (v *vanishing) err() error {
	if v.gone.Load() {
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return nil
}

func (v *vanishing) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if strings.HasSuffix(path, v.with) {
		if err := v.FS.PutIfAbsent(ctx, path, data); err != nil {
			return err
		}
		v.gone.Store(true)
	}
	if err := v.err(); err != nil {
		return err
	}
	return v.FS.PutIfAbsent(ctx, path, data)
}

func (v *vanishing) Open(ctx context.Context, path string) (fileio.File, error) {
	if err := v.err(); err != nil {
		return nil, err
	}
	return v.FS.Open(ctx, path)
}

func (v *vanishing) Stat(ctx context.Context, path string) (fileio.Info, error) {
	if err := v.err(); err != nil {
		return fileio.Info{}, err
	}
	return v.FS.Stat(ctx, path)
}

// TestUnknownOutcome lets the storage go away when it has made the snapshot of a command, before it says so. Who may do
// the work twice by trying again is told; a job finds out by itself.
func TestUnknownOutcome(t *testing.T) {
	for i, c := range storageCommands {
		if c.name != "write" && c.name != "overwrite" && c.name != "sync" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // whether it was done is looked for over seconds
			v := &vanishing{FS: fileio.NewMem(fileio.MemOptions{}), with: "/t/snapshot/snapshot-2"}
			name := fmt.Sprint("vanishing-", i)
			unmount, err := open.Mount(name, v, "")
			if err != nil {
				t.Fatal(err)
			}
			defer unmount()
			tarn := func(in string, args ...string) (int, string, string) {
				return run(in, append([]string{"-w", "memory://" + name + "/lake"}, args...)...)
			}
			for _, s := range []struct {
				in   string
				args []string
			}{
				{"", []string{"db", "create", "ods"}},
				{"", []string{"table", "create", "ods.t", "--column", "id INT", "--column", "v STRING", "--primary-key", "id", "--option", "bucket=1"}},
				{strings.Join(oldRows, "\n"), []string{"write", "ods.t", "-"}},
			} {
				if code, _, said := tarn(s.in, s.args...); code != 0 {
					t.Fatal(said)
				}
			}
			code, _, said := tarn(c.in, c.args...)
			want, advice := 1, "before you try it again"
			if c.name == "sync" {
				want, advice = unreachable, ""
			}
			if code != want || !strings.Contains(said, "outcome of the commit is unknown") || !strings.Contains(said, advice) {
				t.Errorf("exit code %d: %s", code, said)
			}
			v.gone.Store(false)
			if c.name == "sync" {
				if code, _, said := tarn(c.in, c.args...); code != 0 {
					t.Errorf("again: exit code %d: %s", code, said)
				}
			}
			_, out, said := tarn("", "read", "ods.t", "--json")
			if got := strings.Fields(out); !slices.Equal(slices.Sorted(slices.Values(got)), c.rows) {
				t.Errorf("rows %v, want %v: %s", got, c.rows, said)
			}
		})
	}
}

// TestOutage kills the S3 server under commands and starts it again after a while: they wait for it, or end with an
// error that names the place and the exit code that says that trying again helps. Tried again they do the rest: nothing is
// lost, nothing there twice.
func TestOutage(t *testing.T) {
	seed, away := tarntest.Seed(t), tarntest.Size().Outage
	outage := func(t *testing.T) (l *lake, rnd *rand.Rand, out func(*os.Process)) {
		t.Parallel()
		srv, ok := s3test.StartOwn(t)
		if !ok {
			return nil, nil, nil
		}
		rnd = rand.New(rand.NewPCG(seed, 1))
		return &lake{srv.Root(), srv.Environ()}, rnd, func(*os.Process) { srv.Outage(t, away) }
	}
	// failed tells whether a command has to be tried again.
	failed := func(t *testing.T, code int, said string) bool {
		t.Helper()
		if code != 0 && code != unreachable || code != 0 && (!strings.Contains(said, "tarn: error: ") || !strings.Contains(said, "s3://") || !strings.Contains(said, "connect")) {
			t.Fatalf("exit code %d: %s", code, said)
		}
		t.Logf("exit code %d: %s", code, said)
		return code != 0
	}
	for _, source := range []string{"stdin", "files"} {
		t.Run("sync/"+source, func(t *testing.T) {
			l, rnd, out := outage(t)
			if l == nil {
				return
			}
			f := newFollowing(t, source, rnd)
			code, said := l.watch(t, f.in, 1+rnd.IntN(300), out, f.args...)
			if failed(t, code, said) {
				l.must(t, string(f.in), f.args...)
			}
			f.look(t, l)
		})
	}
	t.Run("write", func(t *testing.T) {
		l, rnd, out := outage(t)
		if l == nil {
			return
		}
		l.must(t, "", "db", "create", "ods")
		l.must(t, "", "table", "create", "ods.t", "--column", "id INT", "--option", "compaction.min.file-num=2")
		var want []string
		for n := range 4 {
			var in strings.Builder
			var rows []string
			for i := range 1000 {
				row := fmt.Sprintf("{\"id\":%d}\n", n*1000+i)
				rows = append(rows, row)
				in.WriteString(row)
			}
			at := 1 << 20 // only one of them meets an outage
			if n == 1 {
				at = 1 + rnd.IntN(25)
			}
			code, said := l.watch(t, []byte(in.String()), at, out, "write", "ods.t", "-")
			got := l.rows(t, "ods.t")
			whole := slices.Sorted(slices.Values(append(rows, want...)))
			unknown := code == 1 && strings.Contains(said, "outcome of the commit is unknown")
			switch again := !unknown && failed(t, code, said); {
			case slices.Equal(got, whole) && (unknown || !again):
				want = whole
			case !slices.Equal(got, want) || !unknown && !again:
				t.Errorf("write %d, exit code %d: %d rows, want %d: %s", n, code, len(got), len(whole), firstDifference(got, whole))
			}
		}
	})
	t.Run("compact", func(t *testing.T) {
		l, rnd, out := outage(t)
		if l == nil {
			return
		}
		l.must(t, "", "db", "create", "ods")
		l.must(t, "", "table", "create", "ods.t", "--column", "id INT", "--column", "v INT", "--primary-key", "id", "--option", "bucket=2", "--option", "write-only=true")
		for n := range 3 {
			var in strings.Builder
			for i := range 500 {
				fmt.Fprintf(&in, "{\"id\":%d,\"v\":%d}\n", i*(n+1), n)
			}
			l.must(t, in.String(), "write", "ods.t", "-")
		}
		want := l.rows(t, "ods.t")
		code, said := l.watch(t, nil, 1+rnd.IntN(30), out, "compact", "--full", "ods.t")
		if got := l.rows(t, "ods.t"); !slices.Equal(got, want) {
			t.Errorf("%d rows, want %d: %s", len(got), len(want), firstDifference(got, want))
		}
		if failed(t, code, said) {
			l.must(t, "", "compact", "--full", "ods.t")
		}
		if got := l.rows(t, "ods.t"); !slices.Equal(got, want) {
			t.Errorf("compacted: %d rows, want %d: %s", len(got), len(want), firstDifference(got, want))
		}
		if files := l.must(t, "", "table", "files", "ods.t", "--json"); strings.Count(files, "\n") != 2 {
			t.Errorf("files of two buckets that are compacted:\n%s", files)
		}
	})
}
