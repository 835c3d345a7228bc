package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	fsopen "github.com/tarnlake/tarn/internal/fileio/open"
)

// hanging is storage that does not answer from some call on: calls end when their context does.
type hanging struct {
	fileio.FS
	calls, from atomic.Int64 // from 0: it answers
}

func (h *hanging) hang(ctx context.Context) error {
	if n := h.calls.Add(1); h.from.Load() == 0 || n < h.from.Load() {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (h *hanging) Open(ctx context.Context, path string) (fileio.File, error) {
	if err := h.hang(ctx); err != nil {
		return nil, err
	}
	f, err := h.FS.Open(ctx, path)
	return f, err
}

func (h *hanging) Create(ctx context.Context, path string) (fileio.Writer, error) {
	if err := h.hang(ctx); err != nil {
		return nil, err
	}
	w, err := h.FS.Create(ctx, path)
	return &hangingWriter{w, h, ctx}, err
}

type hangingWriter struct {
	fileio.Writer
	h   *hanging
	ctx context.Context //nolint:containedctx // that of Create, as in S3
}

func (w *hangingWriter) Close() error {
	if err := w.h.hang(w.ctx); err != nil {
		return err
	}
	return w.Writer.Close()
}

func (w *hangingWriter) Abort() error {
	ctx, cancel := fileio.Outlast(w.ctx)
	defer cancel()
	if err := w.h.hang(ctx); err != nil {
		return err
	}
	return w.Writer.Abort()
}

func (h *hanging) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if err := h.hang(ctx); err != nil {
		return err
	}
	return h.FS.PutIfAbsent(ctx, path, data)
}

func (h *hanging) Put(ctx context.Context, path string, data []byte) error {
	if err := h.hang(ctx); err != nil {
		return err
	}
	return h.FS.Put(ctx, path, data)
}

func (h *hanging) Stat(ctx context.Context, path string) (fileio.Info, error) {
	if err := h.hang(ctx); err != nil {
		return fileio.Info{}, err
	}
	return h.FS.Stat(ctx, path)
}

func (h *hanging) List(ctx context.Context, dir string) iter.Seq2[fileio.Info, error] {
	if err := h.hang(ctx); err != nil {
		return func(yield func(fileio.Info, error) bool) { yield(fileio.Info{}, err) }
	}
	return h.FS.List(ctx, dir)
}

func (h *hanging) Delete(ctx context.Context, paths ...string) error {
	if err := h.hang(ctx); err != nil {
		return err
	}
	return h.FS.Delete(ctx, paths...)
}

func (h *hanging) Sync(ctx context.Context, paths ...string) error {
	if err := h.hang(ctx); err != nil {
		return err
	}
	return h.FS.Sync(ctx, paths...)
}

// Whoever gives up is let go soon, and so is who closes a Writer, wherever storage stops to answer.
func TestStorageThatHangs(t *testing.T) {
	const most = 3 * time.Minute
	for _, key := range []bool{true, false} {
		for name, do := range map[string]func(ctx context.Context, t *testing.T, tab *tarn.Table) error{
			"commit": func(ctx context.Context, t *testing.T, tab *tarn.Table) error {
				w, err := tab.NewWriter(ctx, &tarn.WriterOptions{WaitCompaction: true})
				if err != nil {
					return err
				}
				if err = w.Write(ctx, rows(t, tab, `{"id":3,"v":"c"}`, `{"id":4,"v":"d"}`)); err == nil {
					_, err = w.Commit(ctx)
				}
				_ = w.Close() // files may be left
				return err
			},
			"close": func(ctx context.Context, t *testing.T, tab *tarn.Table) error {
				w, err := tab.NewWriter(ctx, &tarn.WriterOptions{Memory: 1})
				if err != nil {
					return err
				}
				err = w.Write(ctx, rows(t, tab, `{"id":3,"v":"c"}`, `{"id":4,"v":"d"}`, `{"id":5,"v":"e"}`))
				_ = w.Close()
				return err
			},
			"overwrite": func(ctx context.Context, t *testing.T, tab *tarn.Table) error {
				b := rows(t, tab, `{"id":3,"v":"c"}`)
				_, err := tab.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(b, nil) })
				return err
			},
			"compact": func(ctx context.Context, _ *testing.T, tab *tarn.Table) error {
				_, err := tab.Compact(ctx, tarn.CompactOptions{Full: true})
				return err
			},
			"read": func(ctx context.Context, _ *testing.T, tab *tarn.Table) error {
				for _, err := range tab.Scan(tarn.ScanOptions{}).Batches(ctx) {
					if err != nil {
						return err
					}
				}
				return nil
			},
		} {
			t.Run(fmt.Sprintf("%s/key %v", name, key), func(t *testing.T) {
				for k := int64(1); ; k++ {
					done := false
					synctest.Test(t, func(t *testing.T) {
						h := &hanging{FS: fileio.NewMem(fileio.MemOptions{})}
						mount := fmt.Sprintf("hang-%s-%v-%d", name, key, k)
						unmount, err := fsopen.Mount(mount, h, "")
						if err != nil {
							t.Fatal(err)
						}
						defer unmount()
						c, err := tarn.Open(t.Context(), "memory://"+mount+"/lake", nil)
						if err != nil {
							t.Fatal(err)
						}
						if err := c.CreateDatabase(t.Context(), "d", nil); err != nil {
							t.Fatal(err)
						}
						o := opts{"file.compression": "none", "manifest.compression": "none", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1", "compaction.min.file-num": "2", "num-sorted-run.compaction-trigger": "2"}
						columns := "id! INT, v STRING"
						if key {
							o["bucket"] = "3"
						} else {
							columns = "id INT, v STRING"
						}
						tab := declare(t, c, "d.t", columns, "", o)
						quiet, err := tab.With(t.Context(), opts{"write-only": "true"})
						if err != nil {
							t.Fatal(err)
						}
						put(t, quiet, []string{`[1,"a"]`}, []string{`[2,"b"]`}, []string{`[7,"b"]`})
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						h.calls.Store(0)
						h.from.Store(k)
						start := time.Now()
						err = do(ctx, t, tab)
						took := time.Since(start)
						done = h.calls.Load() < k
						h.from.Store(0)
						if took > most {
							t.Errorf("storage hangs from call %d on: it took %s: %v", k, took, err)
						}
						if err == nil {
							return
						}
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("storage hangs from call %d on: %v", k, err)
						}
						got := read(t, tab, tarn.ScanOptions{})
						if !slices.Contains(got, `{"id":1,"v":"a"}`) && !strings.Contains(name, "overwrite") {
							t.Errorf("storage hangs from call %d on: rows %v", k, got)
						}
					})
					if done || t.Failed() {
						return
					}
				}
			})
		}
	}
}
