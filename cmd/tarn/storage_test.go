package main

import (
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/fstest"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// storageCommand is a command that writes, with what it makes of the table.
type storageCommand struct {
	name, in string
	args     []string
	rows     []string // after it
}

var (
	oldRows = []string{`{"id":1,"v":"a"}`, `{"id":2,"v":"b"}`, `{"id":3,"v":"c"}`}
	newRows = []string{`{"id":1,"v":"a"}`, `{"id":2,"v":"B"}`, `{"id":3,"v":"c"}`, `{"id":4,"v":"d"}`}
)

const update = `{"id":2,"v":"B"}` + "\n" + `{"id":4,"v":"d"}`

var storageCommands = []storageCommand{
	{"write", update, []string{"write", "ods.t", "-"}, newRows},
	{"overwrite", update, []string{"write", "ods.t", "-", "--mode", "overwrite"}, newRows[1:2:2]},
	{"compact", "", []string{"compact", "--full", "ods.t"}, oldRows},
	{"expire", "", []string{"snapshot", "expire", "ods.t", "--retain-max", "1", "--retain-min", "1"}, oldRows},
	{"alter", "", []string{"table", "alter", "ods.t", "--set", "snapshot.num-retained.max=20"}, oldRows},
	{
		"sync", `{"before":null,"after":{"id":2,"v":"B"},"source":{"db":"app","table":"t"},"op":"u","ts_ms":1}` + "\n" +
			`{"before":null,"after":{"id":4,"v":"d"},"source":{"db":"app","table":"t"},"op":"c","ts_ms":1}` + "\n",
		[]string{"sync", "run", "--name", "job", "--path", "-", "--format", "debezium-json", "--table", "ods.{table}"},
		newRows,
	},
}

func init() {
	storageCommands[1].rows = []string{newRows[1], newRows[3]}
}

// Commands whose storage is full, or may not be written, fail after any number of calls with an error that names path and
// cause; the table is as it was or as it should be, and can be written again when there is room.
func TestStorageThatRefuses(t *testing.T) {
	mounts := 0
	for _, cause := range []error{syscall.ENOSPC, iofs.ErrPermission} {
		for _, c := range storageCommands {
			t.Run(fmt.Sprintf("%s/%v", c.name, cause), func(t *testing.T) {
				d := &fstest.Refusing{FS: fileio.NewMem(fileio.MemOptions{})}
				mounts++
				name := fmt.Sprint("storage-", mounts)
				unmount, err := open.Mount(name, d, "")
				if err != nil {
					t.Fatal(err)
				}
				defer unmount()
				wh := "memory://" + name + "/lake"
				must := func(in string, args ...string) string {
					t.Helper()
					code, out, errOut := run(in, append([]string{"-w", wh}, args...)...)
					if code != 0 {
						t.Fatalf("%v: %d: %s", args, code, errOut)
					}
					return out
				}
				must("", "db", "create", "ods")
				must("", "table", "create", "ods.t", "--column", "id INT", "--column", "v STRING", "--primary-key", "id", "--option", "bucket=1")
				for _, r := range oldRows {
					must(r, "write", "ods.t", "-")
				}
				rows := func() []string {
					t.Helper()
					got := strings.Split(strings.TrimSpace(must("", "read", "ods.t", "--json")), "\n")
					slices.Sort(got)
					if out := must("", "check", "ods.t"); strings.Contains(out, "damage") {
						t.Errorf("check: %s", out)
					}
					return got
				}
				failed := 0
				for room := range 200 {
					d.Refuse(cause, room)
					code, _, errOut := run(c.in, append([]string{"-w", wh}, c.args...)...)
					d.Refuse(nil, 0)
					if code == 0 {
						break
					}
					failed++
					if code != 1 || !strings.Contains(errOut, "tarn: error: ") || !strings.Contains(errOut, "/lake/") || !strings.Contains(errOut, cause.Error()) {
						t.Fatalf("after %d calls: exit code %d: %s", room, code, errOut)
					}
					if got := rows(); !slices.Equal(got, oldRows) && !slices.Equal(got, c.rows) {
						t.Fatalf("after %d calls: %v", room, got)
					}
				}
				if failed == 0 {
					t.Error("nothing was refused")
				}
				must(c.in, c.args...)
				if got := rows(); !slices.Equal(got, c.rows) {
					t.Errorf("in the end: %v", got)
				}
			})
		}
	}
}
