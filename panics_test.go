package tarn_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn"
)

// lockedBuffer is written by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Handlers of events that panic harm neither the work that they are told of nor the process; the log tells.
func TestHandlersThatPanic(t *testing.T) {
	for _, keys := range [][]string{{"id"}, nil} {
		log := &lockedBuffer{}
		cat, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{
			Log: slog.New(slog.NewTextHandler(log, nil)),
			Events: &tarn.Events{
				Committed: func(tarn.CommitEvent) { panic("mine") }, Compacted: func(tarn.CompactEvent) { panic("mine") },
				Paused: func(tarn.PauseEvent) { panic("mine") }, Resumed: func(tarn.PauseEvent) { panic("mine") }, Expired: func(tarn.ExpireEvent) { panic("mine") },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := cat.CreateDatabase(t.Context(), "d", nil); err != nil {
			t.Fatal(err)
		}
		o := map[string]string{"num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "2", "compaction.min.file-num": "2", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
		if keys != nil {
			o["bucket"] = "1"
		}
		tab, err := cat.CreateTable(t.Context(), "d.t", tarn.TableDef{Fields: fields("id", "INT"), PrimaryKeys: keys, Options: o})
		if err != nil {
			t.Fatal(err)
		}
		w, err := tab.NewWriter(t.Context(), &tarn.WriterOptions{WaitCompaction: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			if err := w.Write(t.Context(), rows(t, tab, fmt.Sprintf(`{"id":%d}`, i))); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, tab, tarn.ScanOptions{}); len(got) != 8 {
			t.Errorf("%v: %v", keys, got)
		}
		for _, e := range []string{"Committed", "Compacted", "Expired"} {
			if !strings.Contains(log.b.String(), "handler of the event "+e) {
				t.Errorf("%v: nothing is logged of %s: %s", keys, e, log.b.String())
			}
		}
	}
}
