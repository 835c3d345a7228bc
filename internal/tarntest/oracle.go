package tarntest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// OracleVersion is the release of Paimon that decides what is right.
const OracleVersion = "1.4.2"

// oracleTimeout bounds one command, so that a JVM that hangs fails the test that asked.
const oracleTimeout = 5 * time.Minute

// Command is one command of the oracle; interop/oracle/README.md lists them. Rows that are there as
// text are best given as json.RawMessage: that keeps -0.0 and big numbers.
type Command = map[string]any

// Answer is what the oracle says to one command.
type Answer struct {
	Op string `json:"op"`
	// OK: the command succeeded, or failed as expectError demanded.
	OK bool `json:"ok"`
	// Error and RootCause are the Java exceptions of a command that failed.
	Error     string `json:"error"`
	RootCause string `json:"rootCause"`
	// Rows of a read, one object each as Java printed it; Count is their number.
	Rows  []json.RawMessage `json:"rows"`
	Count int               `json:"count"`
	// Snapshot is the newest one after a command that commits.
	Snapshot int64 `json:"snapshot"`
	// Raw is the whole line.
	Raw json.RawMessage `json:"-"`
}

// Oracle is the real Paimon, bound to one warehouse. Several tests may use theirs at the same time;
// their commands are run one after the other by one JVM, which lives as long as the test process.
type Oracle struct {
	warehouse string
	jvm       *jvm
}

// jvms are the running ones by release.
var jvms = struct {
	sync.Mutex
	byVersion map[string]*jvm
}{byVersion: map[string]*jvm{}}

// StartOracle gives the oracle of a release ("" is OracleVersion) for the warehouse in a folder, which
// is made if it is missing. If the oracle is not built, or the tests are the short ones (which do
// without a JVM), the test fails where everything is required; else ok is false and the test is to return.
func StartOracle(t testing.TB, version, warehouse string) (o *Oracle, ok bool) {
	t.Helper()
	if version == "" {
		version = OracleVersion
	}
	if testing.Short() && !Required() {
		t.Log("not tested: the short tests do without the oracle")
		return nil, false
	}
	warehouse, err := filepath.Abs(warehouse)
	if err != nil {
		t.Fatal(err)
	}
	jvms.Lock()
	defer jvms.Unlock()
	j := jvms.byVersion[version]
	if j == nil || j.broken.Load() {
		if j, err = startJVM(Root(t), version); err != nil {
			Missing(t, "the oracle for Paimon %s: %v", version, err)
			return nil, false
		}
		jvms.byVersion[version] = j
	}
	return &Oracle{warehouse, j}, true
}

// Warehouse is the folder of the warehouse.
func (o *Oracle) Warehouse() string { return o.warehouse }

// Do runs commands and gives their answers. A command that fails, other than by expectError, fails the
// test; with TryDo it does not.
func (o *Oracle) Do(t testing.TB, cmds ...Command) []Answer {
	t.Helper()
	answers := o.TryDo(t, cmds...)
	for i, a := range answers {
		if !a.OK {
			line, _ := json.Marshal(cmds[i])
			t.Fatalf("oracle: %s\nanswered %s\n%s", clip(line), a.Error, a.RootCause)
		}
	}
	return answers
}

// TryDo is Do for commands that may fail.
func (o *Oracle) TryDo(t testing.TB, cmds ...Command) []Answer {
	t.Helper()
	answers, err := o.jvm.run(o.warehouse, cmds)
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	return answers
}

// Read gives the rows of a table: the lines of the oracle, sorted by their bytes.
func (o *Oracle) Read(t testing.TB, table string, more ...Command) []json.RawMessage {
	t.Helper()
	cmd := Command{"op": "read", "table": table, "sort": true}
	for _, m := range more {
		maps.Copy(cmd, m)
	}
	return o.Do(t, cmd)[0].Rows
}

// Script reads a file of commands, one a line. $CASE in it becomes dir.
func Script(t testing.TB, path, dir string) []Command {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cmds []Command
	for line := range bytes.Lines(bytes.ReplaceAll(text, []byte("$CASE"), []byte(dir))) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		var c Command
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber() // 64-bit integers, -0.0
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		cmds = append(cmds, c)
	}
	return cmds
}

func clip(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "…"
	}
	return string(b)
}

// errClosed: the JVM has gone.
var errClosed = errors.New("the JVM ended")

func (j *jvm) run(warehouse string, cmds []Command) ([]Answer, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.warehouse != warehouse {
		if _, err := j.one(Command{"op": "warehouse", "path": warehouse}); err != nil {
			return nil, err
		}
		j.warehouse = warehouse
	}
	answers := make([]Answer, 0, len(cmds))
	for _, c := range cmds {
		a, err := j.one(c)
		if err != nil {
			return nil, err
		}
		if c["op"] == "warehouse" {
			j.warehouse = ""
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// one sends a command and waits for its answer.
func (j *jvm) one(c Command) (Answer, error) {
	line, err := json.Marshal(c)
	if err != nil {
		return Answer{}, fmt.Errorf("command %v: %w", c["op"], err)
	}
	text, err := j.exchange(append(line, '\n'))
	if err != nil {
		j.broken.Store(true)
		return Answer{}, fmt.Errorf("%s: %w%s", clip(line), err, j.complaints())
	}
	a := Answer{Raw: text}
	if err := json.Unmarshal(text, &a); err != nil {
		return Answer{}, fmt.Errorf("%s: answer %s: %w", clip(line), clip(text), err)
	}
	return a, nil
}

func (j *jvm) exchange(line []byte) ([]byte, error) {
	if err := j.out.SetReadDeadline(time.Now().Add(oracleTimeout)); err != nil {
		return nil, err
	}
	// A command is sent when the answer to the one before has been read, so neither side waits for
	// the other with a full pipe.
	if _, err := j.in.Write(line); err != nil {
		return nil, errClosed
	}
	text, err := j.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return nil, errClosed
	}
	return bytes.TrimSpace(text), err
}

// complaints is the end of what the JVM wrote to standard error.
func (j *jvm) complaints() string {
	info, err := j.stderr.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	text := make([]byte, min(info.Size(), 4000))
	n, _ := j.stderr.ReadAt(text, info.Size()-int64(len(text)))
	return "\n" + string(text[:n])
}

func oracleCommand(root, version string) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(root, "interop", "oracle", "paimon-oracle"), "run", "-")
	cmd.Env = append(os.Environ(), "PAIMON_VERSION="+version)
	if _, err := exec.LookPath("java"); err != nil {
		return nil, errors.New("java is not on the PATH: run scripts/install")
	}
	return cmd, nil
}
