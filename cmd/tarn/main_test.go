package main

import (
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tarnlake/tarn/internal/cli"
)

// TestMain lets the test binary be tarn as well: scripts run it as a command.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tarn":         func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"tarn-watched": watched,
	})
}

// TestScripts runs the scripts of testdata (those of testdata/sql need DuckDB: see sql_test.go). Each has a
// folder of its own, with the warehouse lake in it. `tarn …` has to succeed, `! tarn …` to fail, `code 3 tarn …` to
// end with that exit code; TARN_UPDATE=1 rewrites what `cmp stdout x` compares with.
func TestScripts(t *testing.T) { runScripts(t, "testdata") }

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TARN_WAREHOUSE", "lake")
			return nil
		},
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"code": code, "unhex": unhex},
		UpdateScripts:      os.Getenv("TARN_UPDATE") != "",
		RequireUniqueNames: true,
	})
}

// code runs a command that has to end with the exit code given.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		parts := strings.Split(strings.TrimSpace(line), ": ")
		for i := 1; i < len(parts); i++ {
			if parts[i] == parts[i-1] || strings.HasPrefix(parts[i], "table ") && slices.Contains(parts[:i], parts[i]) {
				ts.Fatalf("the error says %q twice: %s", parts[i], line)
			}
		}
	}
}

// unhex makes a file of the bytes that another one has in hexadecimal.
func unhex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unhex FROM TO")
	}
	b, err := hex.DecodeString(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o644))
}
