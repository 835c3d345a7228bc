package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/cli"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// process is tarn as a process of its own, which reads a pipe.
type process struct {
	*exec.Cmd
	in       io.WriteCloser
	out, err bytes.Buffer
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), self)}
	p.Args = append([]string{"tarn"}, args...) // TestMain goes by the name
	p.Stdout, p.Stderr = &p.out, &p.err
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	var exit *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// stream is change events of a table without a key: each row that is taken twice is there twice.
func stream(rows int) []byte {
	var b bytes.Buffer
	pad := strings.Repeat("x", 100)
	for i := range rows {
		fmt.Fprintf(&b, `{"before":null,"after":{"id":"%06d","pad":"%s"},"source":{"db":"app","table":"log"},"op":"c","ts_ms":1}`+"\n", i, pad)
	}
	return b.Bytes()
}

// pipeSize is more than a pipe holds: who has written as much knows that the other side reads.
const pipeSize = 1 << 20

func syncArgs(warehouse string, more ...string) []string {
	return append([]string{"sync", "run", "-w", warehouse, "--name", "piped", "--path", "-", "--format", "debezium-json", "--table", "ods.{table}"}, more...)
}

// exactly looks whether the table has each row of the stream once.
func exactly(t *testing.T, warehouse string, rows int) {
	t.Helper()
	code, out, errOut := run("", "read", "-w", warehouse, "ods.log", "--columns", "id", "--csv")
	got := strings.Fields(out)
	if code != 0 || len(got) == 0 {
		t.Fatalf("read: %d: %s", code, errOut)
	}
	got = got[1:]
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); len(got) != rows || n != rows {
		t.Errorf("%d rows, %d of them different, want %d", len(got), n, rows)
	}
	if code, out, _ := run("", "check", "-w", warehouse, "ods.log"); code != 0 || !strings.Contains(out, " 0 problems") {
		t.Errorf("check: %d: %s", code, out)
	}
}

// A signal lets a job make one more checkpoint and end well, although its input goes on. Given the same stream again
// it takes what it does not have.
func TestSignalsEndAJob(t *testing.T) {
	all := stream(20_000)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		wh := filepath.Join(t.TempDir(), "lake")
		p := start(t, syncArgs(wh, "--checkpoint-every", "1h")...)
		if _, err := p.in.Write(all[:pipeSize]); err != nil {
			t.Fatal(err)
		}
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 0 || !strings.Contains(p.err.String(), "stopping after one more checkpoint") || !strings.Contains(p.err.String(), "checkpoint 0") {
			t.Errorf("%s: exit code %d: %s", sig, code, p.err.String())
		}
		if code, out, errOut := run("", "read", "-w", wh, "ods.log", "--columns", "id", "--csv"); code != 0 || strings.Count(out, "\n") < 100 {
			t.Errorf("%s: the rows before the signal are not there: %d: %s", sig, code, errOut)
		}
		if code, _, errOut := run(string(all), syncArgs(wh)...); code != 0 {
			t.Errorf("%s: again: %d: %s", sig, code, errOut)
		}
		exactly(t, wh, 20_000)
	}
}

// A job that is killed wherever it stands goes on exactly when it is given the same stream again.
func TestKilledJobGoesOn(t *testing.T) {
	all := stream(20_000)
	wh := filepath.Join(t.TempDir(), "lake")
	for _, part := range []int{1, 2, 2} { // the rows up to there are taken at least in part
		p := start(t, syncArgs(wh, "--checkpoint-rows", "700")...)
		if _, err := p.in.Write(all[:part*pipeSize]); err != nil {
			t.Fatal(err)
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != -1 {
			t.Errorf("killed, and exit code %d: %s", code, p.err.String())
		}
	}
	if code, _, errOut := run(string(all), syncArgs(wh)...); code != 0 {
		t.Errorf("%d: %s", code, errOut)
	}
	exactly(t, wh, 20_000)
}

// Other commands end at the first signal, whatever they wait for, and leave nothing half done.
func TestSignalEndsAWrite(t *testing.T) {
	wh := filepath.Join(t.TempDir(), "lake")
	for _, args := range [][]string{{"db", "create", "ods"}, {"table", "create", "ods.t", "--column", "id BIGINT"}} {
		if code, _, errOut := run("", append([]string{"-w", wh}, args...)...); code != 0 {
			t.Fatal(errOut)
		}
	}
	var lines bytes.Buffer
	for i := 0; lines.Len() < pipeSize; i++ {
		fmt.Fprintf(&lines, "{\"id\":%d}\n", i)
	}
	before := tree(t, wh)
	for _, more := range [][]string{nil, {"--mode", "overwrite"}, {"--format", "csv"}, {"--format", "parquet"}} {
		p := start(t, append([]string{"-w", wh, "write", "ods.t", "-"}, more...)...)
		text := lines.Bytes()
		if slices.Contains(more, "csv") {
			text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(`{"id":`), nil), []byte("}"), nil)
			text = append([]byte("id\n"), text...)
		}
		if _, err := p.in.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 130 || strings.TrimSpace(p.err.String()) != "tarn: interrupted" {
			t.Errorf("%v: exit code %d: %s", more, code, p.err.String())
		}
		if after := tree(t, wh); after != before {
			t.Errorf("%v: files changed:\n%s\nbefore:\n%s", more, after, before)
		}
	}
}

// said is standard error that tells when something was said.
type said struct {
	mu   sync.Mutex
	text strings.Builder
	what string
	once sync.Once
	done chan struct{}
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if strings.Contains(s.text.String(), s.what) {
		s.once.Do(func() { close(s.done) })
	}
	return len(p), nil
}

// A signal that comes when all rows are there lets the commit be finished, in every mode.
func TestSignalInACommit(t *testing.T) {
	for mode, want := range map[string]string{"append": "{\"id\":1}\n{\"id\":2}\n", "upsert": "{\"id\":1}\n{\"id\":2}\n", "overwrite": "{\"id\":2}\n"} {
		fault := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
		unmount, err := open.Mount("signal-"+mode, fault, "")
		if err != nil {
			t.Fatal(err)
		}
		defer unmount()
		wh := "memory://signal-" + mode + "/lake"
		for _, c := range [][]string{{"", "db", "create", "ods"}, {"", "table", "create", "ods.t", "--column", "id INT"}, {`{"id":1}`, "write", "ods.t", "-"}} {
			if code, _, errOut := run(c[0], append(c[1:], "-w", wh)...); code != 0 {
				t.Fatal(errOut)
			}
		}
		e := &said{what: "the commit is finished first", done: make(chan struct{})}
		fault.Decide(func(c fileio.Call) fileio.Fate {
			if c.Op == "PutIfAbsent" && strings.Contains(c.Path, "/snapshot/") {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Signal(os.Interrupt)
				}
				if err != nil {
					t.Error(err)
				}
				select {
				case <-e.done:
				case <-time.After(20 * time.Second):
					t.Errorf("%s: nothing was said to the signal", mode)
				}
			}
			return fileio.Pass
		})
		code := cli.Main([]string{"-w", wh, "write", "ods.t", "-", "--mode", mode}, strings.NewReader(`{"id":2}`), io.Discard, e)
		fault.Decide(nil)
		if code != 0 || !strings.Contains(e.text.String(), "snapshot 2") {
			t.Errorf("%s: exit code %d: %s", mode, code, e.text.String())
		}
		if _, out, errOut := run("", "read", "ods.t", "--json", "-w", wh); out != want {
			t.Errorf("%s: rows %s, want %s: %s", mode, out, want, errOut)
		}
	}
}

// A signal ends a compaction that watches, without an error.
func TestSignalsEndWatching(t *testing.T) {
	wh := filepath.Join(t.TempDir(), "lake")
	for _, args := range [][]string{{"db", "create", "d"}, {"table", "create", "d.t", "--column", "id INT", "--primary-key", "id", "--option", "bucket=1", "--option", "write-only=true"}} {
		if code, _, errOut := run("", append(args, "-w", wh)...); code != 0 {
			t.Fatal(errOut)
		}
	}
	five := func() {
		for i := range 5 {
			if code, _, errOut := run(fmt.Sprintf(`{"id":%d}`, i), "write", "-w", wh, "d.t", "-"); code != 0 {
				t.Fatal(errOut)
			}
		}
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p := &process{Cmd: exec.CommandContext(t.Context(), self)}
		p.Args = []string{"tarn", "compact", "-w", wh, "--all", "--watch", "--interval", "10ms"}
		said, err := p.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		five()
		lines := bufio.NewReader(said)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "d.t: compacted, snapshot") {
			t.Fatalf("%s: %q, %v", sig, line, err)
		}
		if err := p.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		if code := p.end(t); code != 0 || !strings.Contains(string(rest), "stopped") {
			t.Errorf("%s: exit code %d: %s", sig, code, rest)
		}
	}
	if code, out, _ := run("", "check", "-w", wh, "d.t"); code != 0 || !strings.Contains(out, " 0 problems") {
		t.Errorf("check: %d: %s", code, out)
	}
}
