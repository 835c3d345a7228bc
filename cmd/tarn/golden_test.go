package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/cli"
	"github.com/tarnlake/tarn/internal/jsonrow"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/internal/tarntest/golden"
	"github.com/tarnlake/tarn/types"
)

// run runs a command line in this process.
func run(in string, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = cli.Main(args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// badTables says how the broken tables of the reference end: the exit codes of read and of check, and what the
// error of the read has to name. A table that is not here is read.
var badTables = map[string]struct {
	read, check int
	names       []string
}{
	"cut-schema":          {1, 6, []string{"schema/schema-0", "cut off"}},
	"cut-snapshot":        {1, 6, []string{"snapshot/snapshot-3", "incomplete"}},
	"empty-snapshot":      {1, 6, []string{"snapshot/snapshot-3", "incomplete"}},
	"unknown-commit-kind": {1, 6, []string{"snapshot/snapshot-3", "unknown kind of commit", "newer release"}},
	"empty-data":          {1, 6, []string{"bucket-0/data-", "0 bytes"}},
	"missing-data":        {1, 6, []string{"bucket-0/data-", "no such file"}},
	"truncated-parquet":   {1, 6, []string{"bucket-0/data-", "truncated"}},
	"truncated-avro":      {1, 6, []string{"bucket-0/data-", "avro"}},
	"truncated-orc":       {2, 6, []string{"bucket-0/data-", "orc"}},
	"garbage-manifest":    {1, 6, []string{"manifest/manifest-", "corrupt"}},
	"missing-manifest":    {1, 6, []string{"manifest/manifest-", "no such file"}},
	"truncated-manifest":  {1, 6, []string{"manifest/manifest-", "corrupt"}},
	"missing-schema":      {3, 3, []string{"does not exist", "no schema in"}},
}

// readable are broken tables that are read all the same, in which check finds damage.
var readable = map[string]bool{"missing-snapshot": true, "snapshot-wrong-schema": true}

// Broken tables of the reference: the error names table and file and says what to do, no rows come out, check
// finds the damage, and a write that cannot be made whole leaves everything as it was.
func TestBrokenTables(t *testing.T) {
	fields := []types.Field{{Name: "id", Type: types.MustParse("INT")}, {Name: "s", Type: types.MustParse("STRING")}}
	seen := 0
	for _, c := range golden.Cases(t, tarntest.Root(t)) {
		name, ok := strings.CutPrefix(c.ID, "bad/")
		if !ok {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			wh := c.Unpack(t)
			want, broken := badTables[name]
			for _, r := range c.Reads {
				args := []string{"read", "-w", wh, r.Table, "--json"}
				for k, v := range r.Options {
					args = append(args, "--option", k+"="+v)
				}
				code, out, errOut := run("", args...)
				if r.Fails() && broken {
					if code != want.read || out != "" {
						t.Errorf("%s: exit code %d, want %d, output %q", r.Name, code, want.read, out)
					}
					for _, s := range append([]string{"tarn: error: ", "bad.t"}, want.names...) {
						if !strings.Contains(errOut, s) {
							t.Errorf("%s: the error does not name %q: %s", r.Name, s, errOut)
						}
					}
					if want.read == 1 && !strings.Contains(errOut, "tarn: hint: ") {
						t.Errorf("%s: no hint: %s", r.Name, errOut)
					}
					continue
				}
				if code != 0 || errOut != "" {
					t.Errorf("%s: exit code %d: %s", r.Name, code, errOut)
				}
				lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
				if r.Fails() { // deliberately read: what is there of it
					if len(lines) != 10 {
						t.Errorf("%s: %d rows, want those of the newest snapshot that is there", r.Name, len(lines))
					}
					continue
				}
				if len(lines) != len(r.Want) {
					t.Fatalf("%s: %d rows, want %d", r.Name, len(lines), len(r.Want))
				}
				slices.Sort(lines) // as the reference's are
				for i, l := range r.Want {
					if err := jsonrow.Equal(fields, l.Row, []byte(lines[i])); err != nil {
						t.Errorf("%s: row %d: %v", r.Name, i, err)
					}
				}
			}
			if readable[name] {
				want.check = 6
			}
			if code, out, errOut := run("", "check", "-w", wh, "bad.t", "--explain"); code != want.check {
				t.Errorf("check: exit code %d, want %d: %s%s", code, want.check, out, errOut)
			}
			before := tree(t, wh)
			code, _, errOut := run(`{"id":100,"s":"new"}`, "write", "-w", wh, "bad.t", "-")
			if code != 0 {
				if after := tree(t, wh); after != before {
					t.Errorf("a write that failed (%s) changed files:\n%s\nbefore:\n%s", errOut, after, before)
				}
			}
			if !broken && code != 0 {
				t.Errorf("write: exit code %d: %s", code, errOut)
			}
		})
	}
	if seen < len(badTables) {
		t.Errorf("%d broken tables, %d are known", seen, len(badTables))
	}
}

// tree is all files of a folder with their sizes and contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + " " + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
