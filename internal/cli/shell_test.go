//go:build duckdb_arrow && cgo

package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/term"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// Ctrl-C at the prompt drops the line, and what was typed before it of the statement.
func TestShellKeys(t *testing.T) {
	k := &keys{in: strings.NewReader("SELECT bro\x03SELECT 1;\r")}
	line := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{k, io.Discard}, "")
	got, err := line.ReadLine()
	if err != nil || got != "" || !k.interrupted.Swap(false) {
		t.Fatalf("%q, %v, want an empty line that was interrupted", got, err)
	}
	if got, err = line.ReadLine(); err != nil || got != "SELECT 1;" || k.interrupted.Load() {
		t.Fatalf("%q, %v", got, err)
	}
}

// A statement that is interrupted ends, and the shell goes on.
func TestShellInterrupt(t *testing.T) {
	cat, err := tarn.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := sql.NewSession(cat, sql.Options{Threads: 1})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var told bytes.Buffer
	out := &firstWrite{}
	a := newTestApp(out, &told)
	out.do = func() { (*a.interrupt.Load())() }
	a.statement(t.Context(), s, "SELECT range AS x FROM range(1000000000000);")
	if told.String() != "interrupted\n" {
		t.Errorf("told %q", told.String())
	}
	told.Reset()
	a.statement(context.Background(), s, "SELECT 42 AS x;")
	if !strings.Contains(out.String(), "42") {
		t.Errorf("after an interrupted statement: %q, %q", out.String(), told.String())
	}
}

// History is kept in a file that only its owner reads, without repetitions, and does not grow without end.
func TestShellHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history")
	h := openHistory(path)
	for _, l := range []string{"SELECT 1;", "SELECT 1;", " ", "SELECT 2;"} {
		h.Add(l)
	}
	h = openHistory(path)
	if h.Len() != 2 || h.At(0) != "SELECT 2;" || h.At(1) != "SELECT 1;" {
		t.Errorf("%q", h.lines)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for range historyLines {
		h.Add("SELECT 3;")
		h.Add("SELECT 4;")
	}
	if h = openHistory(path); h.Len() != historyLines || h.At(0) != "SELECT 4;" {
		t.Errorf("%d lines, the last is %q", h.Len(), h.At(0))
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != historyLines {
		t.Errorf("%d lines in the file, %v", strings.Count(string(text), "\n"), err)
	}
	openHistory("").Add("nowhere") // no home: no history, no error
}

func newTestApp(out, told io.Writer) *app {
	a := newApp(nil, out, told)
	a.output = "csv"
	return a
}

// firstWrite calls do when something is written to it for the first time.
type firstWrite struct {
	bytes.Buffer
	do func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return w.Buffer.Write(p)
}
