package cdc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// smallDisk has no room any more after some files were written. Snapshots and checkpoints, which are small, still find some:
// whether one was made is looked up for seconds when it fails.
type smallDisk struct {
	fileio.FS
	room atomic.Int64
}

func (d *smallDisk) full(path string) error {
	if d.room.Add(-1) < 0 {
		return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}
	return nil
}

func (d *smallDisk) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if err := d.full(path); err != nil {
		return nil, err
	}
	return d.FS.Create(ctx, path)
}

// A disk that gets full ends the job, whenever it does: no table is to blame for it. Nothing that was committed is
// lost, and with more room the job goes on to the same tables.
func TestFullDisk(t *testing.T) {
	var lines strings.Builder
	const n = 300
	for i := range n {
		fmt.Fprintf(&lines, `{"before":null,"after":{"id":"%d"},"source":{"db":"d","table":"t%d"},"op":"c"}`+"\n", i, i%3)
	}
	events := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(events, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for room := int64(0); ; room++ {
		disk := &smallDisk{FS: fileio.NewMem(fileio.MemOptions{})}
		name := fmt.Sprint("full-", room)
		unmount, err := open.Mount(name, disk, "")
		if err != nil {
			t.Fatal(err)
		}
		cfg := config(t, `
name: full
source: {type: files, path: %q, format: debezium-json}
sink: {warehouse: "memory://%s/lake", table: "ods.{table}", primary-key: [id], options: {bucket: 1}}
checkpoint: {every: 1h, rows: 100}
`, events, name)
		disk.room.Store(room)
		sum, err := cdc.Run(t.Context(), cfg, cdc.RunOptions{NoSync: true})
		done := err == nil
		switch {
		case err != nil && !errors.Is(err, syscall.ENOSPC):
			t.Errorf("room for %d: %v", room, err)
		case len(sum.FailedTables) > 0:
			t.Errorf("room for %d: set aside: %v", room, sum.FailedTables)
		case err != nil:
			failed++
		}
		disk.room.Store(1 << 30)
		if sum, err = cdc.Run(t.Context(), cfg, cdc.RunOptions{NoSync: true}); err != nil || len(sum.FailedTables) > 0 {
			t.Fatalf("room for %d, then for all: %v, %v", room, err, sum)
		}
		cat, err := tarn.Open(t.Context(), "memory://"+name+"/lake", nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			tab, err := cat.Table(t.Context(), fmt.Sprintf("ods.t%d", k))
			if err != nil {
				t.Fatal(err)
			}
			rows := int64(0)
			for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				rows += b.NumRows()
			}
			if rows != n/3 {
				t.Errorf("room for %d: %s has %d rows, want %d", room, tab.Name(), rows, n/3)
			}
			if c, err := tab.Check(t.Context()); err != nil || len(c.Problems) > 0 {
				t.Errorf("room for %d: %s: check: %+v, %v", room, tab.Name(), c, err)
			}
		}
		unmount()
		if done {
			break
		}
	}
	if failed < 5 {
		t.Errorf("%d runs ended early, want more", failed)
	}
}
