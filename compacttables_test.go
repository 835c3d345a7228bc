package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
)

// compactTable makes a write-only table of the columns p, id with some commits in partition 0.
func compactTable(t *testing.T, cat *tarn.Catalog, name string, commits int) *tarn.Table {
	t.Helper()
	tab, err := cat.CreateTable(t.Context(), name, tarn.TableDef{
		Fields: fields("p", "INT", "id", "INT"), PrimaryKeys: []string{"p", "id"}, PartitionKeys: []string{"p"},
		Options: map[string]string{"bucket": "1", "write-only": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range commits {
		write(t, tab, []string{fmt.Sprintf(`{"p":0,"id":%d}`, i)})
	}
	return tab
}

// Tables are chosen by patterns that match their whole names; one that fails does not stop the others, and is told of at the
// end; the worst come first.
func TestCompactTables(t *testing.T) {
	root := t.TempDir()
	var order []string
	cat, err := tarn.Open(t.Context(), root, &tarn.OpenOptions{Events: &tarn.Events{Compacted: func(e tarn.CompactEvent) { order = append(order, e.Table) }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range []string{"ods", "ods2", "shop"} {
		if err := cat.CreateDatabase(t.Context(), db, nil); err != nil {
			t.Fatal(err)
		}
	}
	compactTable(t, cat, "ods.few", 5)
	compactTable(t, cat, "ods.many", 9)
	compactTable(t, cat, "ods.none", 0)
	compactTable(t, cat, "ods.bad", 7)
	compactTable(t, cat, "ods.x_tmp", 7)
	compactTable(t, cat, "ods2.other", 7)
	compactTable(t, cat, "shop.orders", 8)
	files, err := filepath.Glob(filepath.Join(root, "ods.db/bad/p=0/bucket-0/*"))
	if err != nil || len(files) != 7 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	told := map[string]tarn.TableCompacted{}
	err = cat.CompactTables(t.Context(), tarn.TablesCompactOptions{
		Databases: "ods|shop", Exclude: `.*_tmp`, Done: func(c tarn.TableCompacted) { told[c.Table] = c },
	})
	var failed *tarn.FailedTablesError
	if !errors.As(err, &failed) || !slices.Equal(failed.Tables, []string{"ods.bad"}) || failed.Of != 5 || !strings.Contains(err.Error(), "ods.bad") {
		t.Errorf("%v", err)
	}
	bad, err := cat.Table(t.Context(), "ods.bad")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarn.CompactTables(t.Context(), []*tarn.Table{bad}, tarn.TablesCompactOptions{}); !errors.As(err, &failed) || !slices.Equal(failed.Tables, []string{"ods.bad"}) {
		t.Errorf("opened before: %v", err)
	}
	if want := []string{"ods.many", "shop.orders", "ods.few"}; !slices.Equal(order, want) {
		t.Errorf("compacted in the order %v, want %v", order, want)
	}
	for name, commits := range map[string]int64{"ods.few": 5, "ods.many": 9, "ods.none": -1, "shop.orders": 8} {
		if c := told[name]; c.Err != nil || c.Result.SnapshotID != commits+1 || c.Buckets != int(min(commits+1, 1)) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if len(told) != 5 || told["ods.bad"].Err == nil {
		t.Errorf("told of %v", told)
	}

	err = cat.CompactTables(t.Context(), tarn.TablesCompactOptions{Include: `o.*\.other`, Options: map[string]string{"num-sorted-run.compaction-trigger": "8"}})
	if err != nil || order[len(order)-1] != "ods.few" {
		t.Errorf("below the trigger: %v, %v", order, err)
	}
	err = cat.CompactTables(t.Context(), tarn.TablesCompactOptions{Include: `o.*\.other`})
	if err != nil || order[len(order)-1] != "ods2.other" {
		t.Errorf("%v, %v", order, err)
	}
	for _, o := range []tarn.TablesCompactOptions{{Databases: "("}, {Include: "["}, {Watch: true, CompactOptions: tarn.CompactOptions{Full: true}}, {CompactOptions: tarn.CompactOptions{IdleTime: -1}, Include: ".*other"}} {
		if err := cat.CompactTables(t.Context(), o); !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := cat.CompactTables(t.Context(), tarn.TablesCompactOptions{Include: "few"}); !errors.Is(err, tarn.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
}

// Only partitions into which nothing was written lately are compacted.
func TestCompactIdlePartitions(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.FixedZone("", 3600*5))
	cat, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(t.Context(), "d", nil); err != nil {
		t.Fatal(err)
	}
	tab := compactTable(t, cat, "d.t", 0)
	for i := range 3 {
		write(t, tab, []string{fmt.Sprintf(`{"p":0,"id":%d}`, i), fmt.Sprintf(`{"p":1,"id":%d}`, i)})
	}
	now = now.Add(time.Hour)
	write(t, tab, []string{`{"p":1,"id":9}`})
	count := func(idle time.Duration) int {
		t.Helper()
		if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true, IdleTime: idle}); err != nil {
			t.Fatal(err)
		}
		names, err := tab.FileNames(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	for _, c := range []struct {
		idle  time.Duration
		files int
	}{{2 * time.Hour, 7}, {time.Hour, 1 + 4}, {time.Second, 5}, {0, 2}} {
		if got := count(c.idle); got != c.files {
			t.Errorf("idle for %v: %d files, want %d", c.idle, got, c.files)
		}
	}
	// Two of three partitions.
	for p := range 3 {
		write(t, tab, []string{fmt.Sprintf(`{"p":%d,"id":77}`, p)}, []string{fmt.Sprintf(`{"p":%d,"id":78}`, p)})
	}
	zero, two := "0", "2"
	if _, err := tab.Compact(t.Context(), tarn.CompactOptions{Full: true, Partitions: []map[string]*string{{"p": &zero}, {"p": &two}}}); err != nil {
		t.Fatal(err)
	}
	if got := count(time.Hour); got != 1+3+1 {
		t.Errorf("partitions 0 and 2: %d files", got)
	}
}

// A table that somebody drops while others are compacted is no failure.
func TestCompactDropped(t *testing.T) {
	for _, watch := range []bool{false, true} {
		cat := open(t)
		names := []string{"d.a", "d.b", "d.c"}
		for _, n := range names {
			compactTable(t, cat, n, 5)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var told []string
		err := cat.CompactTables(ctx, tarn.TablesCompactOptions{Watch: watch, Interval: time.Millisecond, Done: func(c tarn.TableCompacted) {
			if c.Err != nil {
				t.Errorf("watch %v: %s failed: %v", watch, c.Table, c.Err)
			}
			if told = append(told, c.Table); len(told) > 1 {
				if watch {
					cancel()
				}
				return
			}
			for _, other := range names {
				if other != c.Table {
					if err := cat.DropTable(t.Context(), other); err != nil {
						t.Error(err)
					}
				}
			}
			if watch {
				compactTable(t, cat, "d.e", 5)
			}
		}})
		if watch && !errors.Is(err, context.Canceled) || !watch && err != nil {
			t.Error(err)
		}
		if watch && told[1] != "d.e" {
			t.Errorf("told of %v", told)
		}
	}
}

// Watching compacts what others write, tables that come later too, tells of failures once, and ends with its context.
func TestCompactWatch(t *testing.T) {
	cat := open(t)
	a := compactTable(t, cat, "d.a", 5)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan tarn.TableCompacted)
	done := make(chan error)
	go func() {
		done <- cat.CompactTables(ctx, tarn.TablesCompactOptions{Watch: true, Interval: time.Millisecond, Done: func(c tarn.TableCompacted) { told <- c }})
	}()
	next := func(table string) tarn.TableCompacted {
		t.Helper()
		select {
		case c := <-told:
			if c.Table != table {
				t.Fatalf("told of %+v, not of %s", c, table)
			}
			return c
		case err := <-done:
			t.Fatal(err)
		}
		panic("not reached")
	}
	if c := next("d.a"); c.Err != nil || c.Result.SnapshotID != 6 {
		t.Errorf("%+v", c)
	}
	for i := range 3 {
		for j := range 5 {
			write(t, a, []string{fmt.Sprintf(`{"p":%d,"id":%d}`, i+1, j)})
		}
		if c := next("d.a"); c.Err != nil || c.Result.SnapshotID == 0 {
			t.Errorf("%+v", c)
		}
	}
	compactTable(t, cat, "d.b", 5)
	if c := next("d.b"); c.Err != nil {
		t.Errorf("%+v", c)
	}
	if err := cat.DropTable(t.Context(), "d.b"); err != nil {
		t.Fatal(err)
	}
	compactTable(t, cat, "d.b", 0)
	for j := range 5 {
		write(t, a, []string{fmt.Sprintf(`{"p":9,"id":%d}`, j)})
	}
	if c := next("d.a"); c.Err != nil {
		t.Errorf("%+v", c)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if got := len(read(t, a, tarn.ScanOptions{})); got != 5+15+5 {
		t.Errorf("%d rows", got)
	}
}
