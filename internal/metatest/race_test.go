package metatest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// racer is the task of one process.
type racer struct {
	URI     string
	Options map[string]string
	Index   int
	Commits int
	Seed    uint64
}

const racerEnv = "TARN_METATEST_RACER"

// TestMain is a process that writes, if it was started as one.
func TestMain(m *testing.M) {
	task := os.Getenv(racerEnv)
	if task == "" {
		os.Exit(m.Run())
	}
	var r racer
	err := json.Unmarshal([]byte(task), &r)
	if err == nil {
		err = r.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var raceCols = []column{{0, "k", types.MustParse("INT NOT NULL")}, {1, "v", types.MustParse("STRING")}}

// fates makes commits whose outcome nobody knows: the snapshot is there, the answer is an error, and
// sometimes it cannot even be looked at.
func (r *racer) fates() func(fileio.Call) fileio.Fate {
	rnd := rand.New(rand.NewPCG(r.Seed, uint64(r.Index)))
	return func(c fileio.Call) fileio.Fate {
		if !strings.Contains(c.Path, "/snapshot/snapshot-") {
			return fileio.Pass
		}
		switch n := rnd.IntN(100); {
		case c.Op == "PutIfAbsent" && n < 20:
			return fileio.FailAfter
		case c.Op == "PutIfAbsent" && n < 30:
			return fileio.FailBefore
		case !c.Mutates && n < 5:
			return fileio.FailBefore
		}
		return fileio.Pass
	}
}

func (r *racer) run(ctx context.Context) error {
	fs, root, err := open.FS(ctx, r.URI, r.Options)
	if err != nil {
		return err
	}
	fault := fileio.NewFault(fs)
	if _, err := open.Mount("race", fault, root); err != nil {
		return err
	}
	cat, err := tarn.Open(ctx, "memory://race", nil)
	if err != nil {
		return err
	}
	var tabs []*tarn.Table
	for _, name := range []string{"d.plain", "d.keyed"} {
		t, err := cat.Table(ctx, name)
		if err == nil {
			// Some processes compact, and lose that to each other.
			t, err = t.With(ctx, map[string]string{"write-only": fmt.Sprint(r.Index%2 == 0)})
		}
		if err != nil {
			return err
		}
		tabs = append(tabs, t)
	}
	fault.Decide(r.fates())
	for n := range r.Commits {
		for _, t := range tabs {
			if err := r.commit(ctx, t, n); err != nil {
				return fmt.Errorf("process %d, commit %d of %s: %w", r.Index, n, t.Name(), err)
			}
		}
	}
	return nil
}

// again repeats what failed by an injected fault, as one does by hand or a job does.
func again(do func() error) error {
	var err error
	for range 200 {
		if err = do(); err == nil {
			return nil
		}
		if !strings.Contains(err.Error(), fileio.ErrInjected.Error()) {
			return err
		}
	}
	return err
}

func (r *racer) commit(ctx context.Context, t *tarn.Table, n int) error {
	id := tarn.CommitID{User: fmt.Sprint("racer-", r.Index), Number: int64(n)}
	var p *tarn.Prepared
	err := again(func() error {
		w, err := t.NewWriter(ctx, &tarn.WriterOptions{User: id.User, Workers: 1})
		if err != nil {
			return err
		}
		defer w.Close()
		row := row{vals: map[int]string{0: fmt.Sprint(r.Index*1000 + n), 1: fmt.Sprint("v", n)}}
		if err := w.Write(ctx, raceBatch(row)); err != nil {
			return err
		}
		p, err = w.Prepare(ctx)
		return err
	})
	if err != nil {
		return err
	}
	return again(func() error {
		_, err := t.Commit(ctx, id, p)
		return err
	})
}

// raceBatch is a batch of one row.
func raceBatch(r row) tarn.Batch { return batchOf(stderr{}, raceCols, []row{r}) }

// stderr is a failer outside of a test.
type stderr struct{}

func (stderr) Helper()                   {}
func (stderr) Logf(f string, a ...any)   { fmt.Fprintf(os.Stderr, f+"\n", a...) }
func (stderr) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

// TestRace lets processes commit to the same tables: nothing is lost, nothing is there twice.
func TestRace(t *testing.T) {
	t.Run("local", func(t *testing.T) { race(t, t.TempDir(), nil) })
	t.Run("s3", func(t *testing.T) {
		srv, ok := s3test.Start(t)
		if !ok {
			return // the reason was logged; it fails where all is required
		}
		race(t, srv.Root(), srv.OptionMap())
	})
}

func race(t *testing.T, uri string, opts map[string]string) {
	size, ctx := tarntest.Size(), t.Context()
	cat, err := tarn.Open(ctx, uri, &tarn.OpenOptions{FileIO: opts})
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(ctx, "d", nil); err != nil {
		t.Fatal(err)
	}
	plain, err := cat.CreateTable(ctx, "d.plain", tarn.TableDef{Fields: fieldsOf(raceCols)})
	if err != nil {
		t.Fatal(err)
	}
	keyed, err := cat.CreateTable(ctx, "d.keyed", tarn.TableDef{Fields: fieldsOf(raceCols), PrimaryKeys: []string{"k"}, Options: map[string]string{"bucket": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	seed := tarntest.Seed(t)
	cmds, outs := make([]*exec.Cmd, size.Writers), make([]bytes.Buffer, size.Writers)
	for i := range cmds {
		task, err := json.Marshal(racer{URI: uri, Options: opts, Index: i, Commits: size.Commits, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		cmds[i] = exec.CommandContext(ctx, os.Args[0])
		cmds[i].Env = append(os.Environ(), racerEnv+"="+string(task))
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, &outs[i])
		}
	}
	var want []string
	for i := range size.Writers {
		for n := range size.Commits {
			want = append(want, row{vals: map[int]string{0: fmt.Sprint(i*1000 + n), 1: fmt.Sprint("v", n)}}.text(raceCols))
		}
	}
	slices.Sort(want)
	for _, tab := range []*tarn.Table{plain, keyed} {
		got, err := scan(t, tab, tarn.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %d rows, want %d:\n%s", tab.Name(), len(got), len(want), strings.Join(got, "\n"))
		}
		once(t, tab, size.Writers*size.Commits)
		r, err := tab.Check(ctx)
		if err != nil || len(r.Problems) > 0 {
			t.Errorf("check %s: %+v, %v", tab.Name(), r, err)
		}
	}
}

// once looks whether each commit made one snapshot: a key that is written twice hides it.
func once(t *testing.T, tab *tarn.Table, want int) {
	t.Helper()
	ids, err := tab.Snapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int64{}
	for _, id := range ids {
		s, err := tab.SnapshotAt(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		k := fmt.Sprint(s.CommitKind, " ", s.CommitUser, " ", s.CommitIdentifier)
		if first, ok := seen[k]; ok {
			t.Errorf("%s: snapshots %d and %d are both %s", tab.Name(), first, id, k)
		}
		seen[k] = id
	}
	n := 0
	for k := range seen {
		if strings.HasPrefix(k, "APPEND ") {
			n++
		}
	}
	if n != want {
		t.Errorf("%s: %d commits of rows, want %d", tab.Name(), n, want)
	}
}
