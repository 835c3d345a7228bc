package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/source/demo"
	"github.com/tarnlake/tarn/internal/cli"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
	"github.com/tarnlake/tarn/internal/tarntest"
)

// watchedEnv names the warehouse of a watched tarn, which that knows as watchedRoot.
const (
	watchedEnv  = "TARN_TEST_WATCHED"
	watchedRoot = "memory://watched"
)

// watched is tarn that writes a byte to standard output for each call to the file system of its warehouse, right before
// it: who reads them knows where it stands.
func watched() {
	fs, root, err := open.FS(context.Background(), os.Getenv(watchedEnv), nil)
	if err == nil {
		f := fileio.NewFault(fs)
		f.Decide(func(fileio.Call) fileio.Fate {
			_, _ = os.Stdout.Write([]byte{'.'})
			return fileio.Pass
		})
		_, err = open.Mount("watched", f, root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdin, io.Discard, os.Stderr))
}

// lake is a warehouse that processes work on.
type lake struct {
	root string
	env  []string
}

// watch runs tarn on the lake and calls then after some calls to the file system, if it comes to that. It gives the exit
// code, -1 if it was killed, and what it said.
func (l *lake) watch(t *testing.T, in []byte, calls int, then func(*os.Process), args ...string) (code int, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errOut bytes.Buffer
	p := exec.CommandContext(t.Context(), self)
	p.Args = append([]string{"tarn-watched", "-w", watchedRoot}, args...) // TestMain goes by the name
	p.Env = append(append(os.Environ(), l.env...), watchedEnv+"="+l.root)
	p.Stdin, p.Stderr = bytes.NewReader(in), &errOut
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, out, int64(calls)); err == nil {
		go func() { _, _ = io.Copy(io.Discard, out) }()
		then(p.Process)
	}
	err = p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && p.ProcessState == nil {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode(), errOut.String()
}

// must runs tarn on the lake to a good end and gives its output.
func (l *lake) must(t *testing.T, in string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	p := exec.CommandContext(t.Context(), self)
	p.Args = append([]string{"tarn", "-w", l.root}, args...)
	p.Env = append(os.Environ(), l.env...)
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(in), &out, &errOut
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, &errOut)
	}
	return out.String()
}

// rows gives the rows of a table, sorted, after looking whether its files are whole.
func (l *lake) rows(t *testing.T, table string) []string {
	t.Helper()
	if out := l.must(t, "", "check", table); !strings.Contains(out, " 0 problems") {
		t.Errorf("check: %s", out)
	}
	return slices.Sorted(strings.Lines(l.must(t, "", "read", table, "--json")))
}

// changing is change events of two tables: each row of log, which has no key, comes once, those of kv are inserted,
// updated, get other keys and are deleted. It gives the rows that a lake has to have after them.
func changing(rnd *rand.Rand, n int) (events []byte, rows map[string][]string) {
	var b bytes.Buffer
	kv := map[int]int{}
	rows = map[string][]string{}
	put := func(table, op, before, after string) {
		fmt.Fprintf(&b, `{"before":%s,"after":%s,"source":{"db":"app","table":%q},"op":%q,"ts_ms":1}`+"\n", before, after, table, op)
	}
	row := func(id, v int) string { return fmt.Sprintf(`{"id":"%d","v":"%d"}`, id, v) }
	for i := range n {
		if i%3 == 0 {
			put("log", "c", "null", row(i, i))
			rows["log"] = append(rows["log"], row(i, i)+"\n")
			continue
		}
		id := rnd.IntN(n / 10)
		v, there := kv[id]
		switch {
		case !there:
			put("kv", "c", "null", row(id, i))
			kv[id] = i
		case i%7 == 0:
			put("kv", "d", row(id, v), "null")
			delete(kv, id)
		case i%11 == 0 && kv[n+id] == 0:
			put("kv", "u", row(id, v), row(n+id, i))
			delete(kv, id)
			kv[n+id] = i
		default:
			put("kv", "u", row(id, v), row(id, i))
			kv[id] = i
		}
	}
	for id, v := range kv {
		rows["kv"] = append(rows["kv"], row(id, v)+"\n")
	}
	slices.Sort(rows["kv"])
	slices.Sort(rows["log"])
	return b.Bytes(), rows
}

// following is a job, and how to tell whether it has done its work.
type following struct {
	args []string
	in   []byte
	look func(t *testing.T, l *lake)
}

// newFollowing makes a job of one of the sources.
func newFollowing(t *testing.T, source string, rnd *rand.Rand) *following {
	f := &following{args: []string{"sync", "run", "--name", "j", "--table", "ods.{table}", "--checkpoint-rows", "500"}}
	if source == "demo" {
		const events = 6000
		seed := rnd.Uint64N(1000)
		f.args = append(f.args, "--source", "demo", "--events", fmt.Sprint(events), "--seed", fmt.Sprint(seed))
		f.look = func(t *testing.T, l *lake) { lookAtShop(t, l, seed, events) }
		return f
	}
	events, rows := changing(rnd, 5000)
	path := "-"
	if f.in = events; source == "files" {
		f.in, path = nil, filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, events, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.args = append(f.args, "--path", path, "--format", "debezium-json", "--primary-key", "kv=id", "--option", "num-sorted-run.compaction-trigger=3")
	f.look = func(t *testing.T, l *lake) {
		for table, want := range rows {
			if got := l.rows(t, "ods."+table); !slices.Equal(got, want) {
				t.Errorf("%s has %d rows, want %d: %s", table, len(got), len(want), firstDifference(got, want))
			}
		}
	}
	return f
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	return "one of them goes on"
}

// lookAtShop compares a lake with the shop of the demo.
func lookAtShop(t *testing.T, l *lake, seed uint64, events int) {
	t.Helper()
	src := demo.NewSource(seed, events)
	for {
		if _, err := src.Fetch(t.Context()); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	cat, err := tarn.Open(t.Context(), l.root, &tarn.OpenOptions{FileIO: l.options()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := src.Shop().Verify(t.Context(), cat, func(n string) string { return "ods." + n })
	if err != nil || len(res) == 0 {
		t.Fatal(res, err)
	}
	for _, r := range res {
		if len(r.Differences) > 0 {
			t.Errorf("%s, %d rows: %s", r.Table, r.Rows, strings.Join(r.Differences, "; "))
		}
		if out := l.must(t, "", "check", r.Table); !strings.Contains(out, " 0 problems") {
			t.Errorf("check: %s", out)
		}
	}
}

// options are those of the lake's file system.
func (l *lake) options() map[string]string {
	out := map[string]string{}
	for name, option := range map[string]string{"AWS_ENDPOINT_URL": "s3.endpoint", "AWS_REGION": "s3.region", "AWS_ACCESS_KEY_ID": "s3.access-key", "AWS_SECRET_ACCESS_KEY": "s3.secret-key"} {
		for _, v := range l.env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				out[option] = value
			}
		}
	}
	return out
}

// TestKilled kills jobs (kill -9) at random moments, starts them again, and kills them again, until they are done: no
// event is lost, and none is taken twice.
func TestKilled(t *testing.T) {
	seed := tarntest.Seed(t)
	where := map[string]func(t *testing.T) *lake{
		"local": func(t *testing.T) *lake { return &lake{root: filepath.Join(t.TempDir(), "lake")} },
	}
	if srv, ok := s3test.Start(t); ok {
		where["s3"] = func(*testing.T) *lake { return &lake{srv.Root(), srv.Environ()} }
	}
	for name, newLake := range where {
		for i, source := range []string{"stdin", "files", "demo"} {
			t.Run(name+"/"+source, func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				for killed := 0; killed < tarntest.Size().Kills; {
					killed += killAndGoOn(t, newLake(t), newFollowing(t, source, rnd), rnd)
				}
			})
		}
	}
}

// killAndGoOn runs a job to its end and tells how often it was killed on the way.
func killAndGoOn(t *testing.T, l *lake, f *following, rnd *rand.Rand) (killed int) {
	kill := func(p *os.Process) {
		if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	for tries := range 200 {
		code, said := l.watch(t, f.in, 1+rnd.IntN(200+20*tries), kill, f.args...)
		switch code {
		case -1:
			killed++
			continue
		case 0:
			f.look(t, l)
		default:
			t.Errorf("after %d kills: exit code %d: %s", killed, code, said)
		}
		return killed
	}
	t.Errorf("killed %d times, and the job makes no progress", killed)
	return killed
}
