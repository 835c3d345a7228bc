package main

import (
	"context"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// badDisk refuses, after some calls, what changes it.
type badDisk struct {
	fileio.FS
	cause error        // nil: all is well
	room  atomic.Int64 // calls that still succeed
}

func (d *badDisk) refuse(op, path string) error {
	if d.cause == nil || d.room.Add(-1) >= 0 {
		return nil
	}
	return &iofs.PathError{Op: op, Path: path, Err: d.cause}
}

func (d *badDisk) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if err := d.refuse("create", path); err != nil {
		return nil, err
	}
	w, err := d.FS.Create(ctx, path)
	return &badWriter{w, d, path}, err
}

func (d *badDisk) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if err := d.refuse("write", path); err != nil {
		return err
	}
	return d.FS.PutIfAbsent(ctx, path, data)
}

func (d *badDisk) Put(ctx context.Context, path string, data []byte) error {
	if err := d.refuse("write", path); err != nil {
		return err
	}
	return d.FS.Put(ctx, path, data)
}

func (d *badDisk) Delete(ctx context.Context, paths ...string) error {
	if d.cause != syscall.ENOSPC && len(paths) > 0 {
		if err := d.refuse("delete", paths[0]); err != nil {
			return err
		}
	}
	return d.FS.Delete(ctx, paths...)
}

type badWriter struct {
	fileio.Writer
	d    *badDisk
	path string
}

func (w *badWriter) Write(p []byte) (int, error) {
	if err := w.d.refuse("write", w.path); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

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
				d := &badDisk{FS: fileio.NewMem(fileio.MemOptions{})}
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
				for room := range int64(200) {
					d.cause = cause
					d.room.Store(room)
					code, _, errOut := run(c.in, append([]string{"-w", wh}, c.args...)...)
					d.cause = nil
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
