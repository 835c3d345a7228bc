//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A warehouse that belongs to somebody else is read; what would change it fails with an error that names the path and
// the user, and changes nothing.
func TestReadOnlyWarehouse(t *testing.T) {
	dir := t.TempDir()
	wh := filepath.Join(dir, "lake")
	for _, args := range [][]string{
		{"db", "create", "ods"}, {"table", "create", "ods.t", "--column", "id INT", "--primary-key", "id", "--option", "bucket=1"}, {"write", "ods.t", "-"}, {"write", "ods.t", "-"},
	} {
		if code, _, errOut := run(`{"id":1}`, append([]string{"-w", wh}, args...)...); code != 0 {
			t.Fatal(errOut)
		}
	}
	// Another user has to be able to reach the program and the warehouse.
	prog := filepath.Join(dir, "tarn")
	copyProgram(t, prog)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		err := filepath.WalkDir(wh, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o555)
				t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	other := func(in string, args ...string) (int, string, string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), prog, append([]string{"-w", wh}, args...)...)
		if os.Getuid() == 0 {
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		var out, errOut bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(in), &out, &errOut, "/"
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
	}
	before := tree(t, wh)
	for _, args := range [][]string{{"read", "ods.t", "--json"}, {"check", "ods.t"}, {"table", "list"}, {"snapshot", "list", "ods.t"}} {
		if code, out, errOut := other("", args...); code != 0 || out == "" || errOut != "" {
			t.Errorf("%v: exit code %d: %s", args, code, errOut)
		}
	}
	event := `{"before":null,"after":{"id":2},"source":{"db":"app","table":"t"},"op":"c","ts_ms":1}` + "\n"
	for _, c := range []struct {
		in   string
		args []string
	}{
		{`{"id":2}`, []string{"write", "ods.t", "-"}},
		{`{"id":2}`, []string{"write", "ods.t", "-", "--mode", "overwrite"}},
		{"", []string{"compact", "--full", "ods.t"}},
		{"", []string{"snapshot", "expire", "ods.t", "--retain-max", "1", "--retain-min", "1"}},
		{"", []string{"table", "alter", "ods.t", "--add", "v STRING"}},
		{"", []string{"table", "create", "ods.u", "--column", "id INT"}},
		{"", []string{"table", "drop", "ods.t", "--yes"}},
		{"", []string{"table", "rename", "ods.t", "ods.v"}},
		{"", []string{"db", "create", "more"}},
		{event, []string{"sync", "run", "--name", "job", "--path", "-", "--format", "debezium-json", "--table", "ods.{table}"}},
	} {
		code, _, errOut := other(c.in, c.args...)
		if code != 1 || !strings.Contains(errOut, "tarn: error: ") || !strings.Contains(errOut, wh) || !strings.Contains(errOut, "permission denied for user id ") {
			t.Errorf("%v: exit code %d: %s", c.args, code, errOut)
		}
		if after := tree(t, wh); after != before {
			t.Fatalf("%v: files changed", c.args)
		}
	}
}

// copyProgram copies this test's program, which is tarn under that name.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
