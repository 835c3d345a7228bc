package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/fileio"
	fsopen "github.com/tarnlake/tarn/internal/fileio/open"
)

// underFault opens a warehouse in memory behind a fault-injecting file system.
func underFault(t testing.TB, name string) (*tarn.Catalog, *fileio.Fault) {
	t.Helper()
	fault := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
	unmount, err := fsopen.Mount(name, fault, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmount)
	c, err := tarn.Open(t.Context(), "memory://"+name+"/lake", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	return c, fault
}

// Whoever loses patience at any moment learns the truth: what returns an error has not happened, what
// returns none has, and nothing is left of what has not.
func TestCancelledAtEachMoment(t *testing.T) {
	old := []string{`{"id":1,"v":"a"}`, `{"id":2,"v":"b"}`}
	type op struct {
		name string
		rows []string // of the table when it is done
		do   func(ctx context.Context, t *testing.T, c *tarn.Catalog, tab *tarn.Table) error
	}
	batch := func(t *testing.T, tab *tarn.Table) tarn.Batch { return rows(t, tab, `{"id":3,"v":"c"}`) }
	ops := []op{
		{"commit", []string{old[0], old[1], `{"id":3,"v":"c"}`}, func(ctx context.Context, t *testing.T, _ *tarn.Catalog, tab *tarn.Table) error {
			w, err := tab.NewWriter(ctx, &tarn.WriterOptions{WaitCompaction: true})
			if err != nil {
				return err
			}
			if err = w.Write(ctx, batch(t, tab)); err == nil {
				_, err = w.Commit(ctx)
			}
			if cerr := w.Close(); cerr != nil {
				t.Errorf("close: %v", cerr)
			}
			return err
		}},
		{"overwrite", []string{`{"id":3,"v":"c"}`}, func(ctx context.Context, t *testing.T, _ *tarn.Catalog, tab *tarn.Table) error {
			_, err := tab.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(batch(t, tab), nil) })
			return err
		}},
		{"truncate", nil, func(ctx context.Context, _ *testing.T, _ *tarn.Catalog, tab *tarn.Table) error {
			_, err := tab.Truncate(ctx)
			return err
		}},
		{"compact", old, func(ctx context.Context, _ *testing.T, _ *tarn.Catalog, tab *tarn.Table) error {
			_, err := tab.Compact(ctx, tarn.CompactOptions{Full: true})
			return err
		}},
		{"alter", []string{`{"id":1,"v":"a","n":null}`, `{"id":2,"v":"b","n":null}`}, func(ctx context.Context, _ *testing.T, _ *tarn.Catalog, tab *tarn.Table) error {
			return tab.Alter(ctx, add("n", "INT"))
		}},
	}
	for _, key := range []bool{true, false} {
		for _, o := range ops {
			t.Run(fmt.Sprintf("%s/key %v", o.name, key), func(t *testing.T) {
				for k := 1; ; k++ {
					c, fault := underFault(t, fmt.Sprintf("cancel-%s-%v-%d", o.name, key, k))
					columns := "id INT, v STRING"
					if key {
						columns = "id! INT, v STRING"
					}
					tab := declare(t, c, "d.t", columns, "", opts{"num-sorted-run.compaction-trigger": "2", "compaction.min.file-num": "2"})
					quiet, err := tab.With(t.Context(), opts{"write-only": "true"})
					if err != nil {
						t.Fatal(err)
					}
					put(t, quiet, []string{`[1,"a"]`}, []string{`[2,"b"]`})
					if tab, err = c.Table(t.Context(), "d.t"); err != nil {
						t.Fatal(err)
					}
					before, err := tab.Snapshots(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					n, at := 0, ""
					fault.Decide(func(c fileio.Call) fileio.Fate {
						if n++; n == k {
							cancel()
							at = c.Op + " " + c.Path
						}
						return fileio.Pass
					})
					err = o.do(ctx, t, c, tab)
					fault.Decide(nil)
					cancel()
					if n < k {
						if err != nil {
							t.Errorf("never cancelled: %v", err)
						}
						return
					}
					want := o.rows
					if err != nil {
						want = old
						if !errors.Is(err, context.Canceled) {
							t.Errorf("cancelled at %s: %v", at, err)
						}
						if after, serr := tab.Snapshots(t.Context()); serr != nil || !slices.Equal(after, before) {
							t.Errorf("cancelled at %s: %v, and snapshots %v, %v; before %v", at, err, after, serr, before)
						}
					}
					if tab, err = tab.Refresh(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got := read(t, tab, tarn.ScanOptions{}); !slices.Equal(got, want) {
						t.Errorf("cancelled at %s: rows %v, want %v", at, got, want)
					}
					left, err := tab.Orphans(t.Context(), time.Now().Add(time.Hour), true)
					if err != nil || len(left) > 0 {
						t.Errorf("cancelled at %s: files are left: %v, %v", at, left, err)
					}
				}
			})
		}
	}
}

// Storage that makes the snapshot and goes away before it says so leaves the outcome open: the error tells, and
// nothing that may have been committed is removed when the storage is back.
func TestStorageGoesAwayAtTheCommit(t *testing.T) {
	for _, key := range []bool{true, false} {
		for _, how := range []string{"commit", "overwrite"} {
			for _, fate := range []fileio.Fate{fileio.StopAfter, fileio.StopBefore} {
				t.Run(fmt.Sprintf("%s/key %v/%v", how, key, fate), func(t *testing.T) {
					ctx := t.Context()
					c, fault := underFault(t, fmt.Sprintf("away-%s-%v-%v", how, key, fate))
					columns := "id INT, v STRING"
					if key {
						columns = "id! INT, v STRING"
					}
					tab := declare(t, c, "d.t", columns, "", opts{"commit.max-retries": "1"})
					put(t, tab, []string{`[1,"a"]`})
					b := rows(t, tab, `{"id":2,"v":"b"}`)
					fault.Decide(func(c fileio.Call) fileio.Fate {
						if c.Op == "PutIfAbsent" && strings.Contains(c.Path, "/snapshot/") {
							return fate
						}
						return fileio.Pass
					})
					var err error
					want := []string{`[1,"a"]`}
					if how == "overwrite" {
						_, err = tab.Overwrite(ctx, tarn.OverwriteOptions{}, func(yield func(tarn.Batch, error) bool) { yield(b, nil) })
						fault.Reset()
						if fate == fileio.StopAfter {
							want = []string{`[2,"b"]`}
						}
					} else {
						var w *tarn.Writer
						if w, err = tab.NewWriter(ctx, nil); err != nil {
							t.Fatal(err)
						}
						if err = w.Write(ctx, b); err != nil {
							t.Fatal(err)
						}
						_, err = w.Commit(ctx)
						fault.Reset()
						if err := w.Close(); err != nil {
							t.Error(err)
						}
						if fate == fileio.StopAfter {
							want = append(want, `[2,"b"]`)
						}
					}
					if !errors.Is(err, tarn.ErrUnknownOutcome) {
						t.Errorf("%v, want ErrUnknownOutcome", err)
					}
					same(t, tab, "", "", want...)
				})
			}
		}
	}
}
