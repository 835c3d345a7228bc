package cdc_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
)

// twoTables are changes of two tables, a row of each in turn, and what they make of a table: without a key, a row that
// is taken twice is there twice.
func twoTables(keyed bool, from, to int) (in string, rows []string) {
	key := "null"
	if keyed {
		key = `["v"]`
	}
	for i := from; i < to; i++ {
		for _, table := range []string{"a", "b"} {
			in += fmt.Sprintf(`{"database":"s","table":%q,"type":"INSERT","pkNames":%s,"data":[{"v":"%d"}],"mysqlType":{"v":"int"}}`, table, key, i) + "\n"
		}
		rows = append(rows, fmt.Sprintf(`{"v":%d}`, i))
	}
	return in, rows
}

// runTwo runs a job of two tables over standard input.
func runTwo(t *testing.T, wh, in string) *cdc.Summary {
	t.Helper()
	c := config(t, `
name: two
source: {type: files, path: "-", format: canal-json}
sink: {warehouse: %q, options: {compaction.min.file-num: 2, num-sorted-run.compaction-trigger: 2, file.compression: none, manifest.compression: none}} # zstd waits outside of synctest
checkpoint: {every: 1h, rows: 2}
`, wh)
	sum, err := cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: &lineByLine{lines: strings.SplitAfter(in, "\n")}, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// lineByLine gives a line at a time.
type lineByLine struct{ lines []string }

func (l *lineByLine) Read(p []byte) (int, error) {
	if len(l.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.lines[0])
	l.lines = l.lines[1:]
	return n, nil
}

// A table that cannot be written any more, for a cause of its own, from any call on: it alone is set aside. What of
// its last step was committed is found out by the next start, which goes on exactly.
func TestTableThatFailsAnywhere(t *testing.T) {
	mounts := 0
	for _, keyed := range []bool{false, true} {
		in, rows := twoTables(keyed, 0, 6)
		failed := 0
		for k, ended := 1, false; !ended; k += 17 {
			synctest.Test(t, func(t *testing.T) { // each start finds out for a while
				fault := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
				mounts++
				name := fmt.Sprint("held-", mounts)
				unmount, err := open.Mount(name, fault, "")
				if err != nil {
					t.Fatal(err)
				}
				defer unmount()
				var calls atomic.Int64
				fault.Decide(func(c fileio.Call) fileio.Fate {
					switch {
					case !strings.Contains(c.Path, "/s.db/a/") || calls.Load() == 0 && !strings.Contains(c.Path, "/a/snapshot/snapshot-"): // once it is there
						return fileio.Pass
					case int(calls.Add(1)) == k && c.Mutates:
						return fileio.FailAfter
					case int(calls.Load()) > k:
						return fileio.FailBefore
					}
					return fileio.Pass
				})
				wh := "memory://" + name + "/lake"
				what := fmt.Sprintf("keyed %t, from call %d on", keyed, k)
				sum := runTwo(t, wh, in)
				for name := range sum.FailedTables {
					if name != "s.a" {
						t.Fatalf("%s: %v", what, sum.FailedTables)
					}
				}
				fault.Decide(nil)
				if got := state(t, wh, "s.b"); !slices.Equal(got, rows) {
					t.Fatalf("%s: the other table has %v", what, got)
				}
				more, moreRows := twoTables(keyed, 6, 8)
				again := runTwo(t, wh, in+more)
				for _, table := range []string{"s.a", "s.b"} {
					if got := state(t, wh, table); len(again.FailedTables) > 0 || !slices.Equal(got, append(slices.Clone(rows), moreRows...)) {
						t.Fatalf("%s: set aside for %v, then %v: %s has %v", what, sum.FailedTables, again.FailedTables, table, got)
					}
				}
				ended = len(sum.FailedTables) == 0 && int(calls.Load()) < k
				failed += len(sum.FailedTables)
			})
		}
		if failed < 3 {
			t.Errorf("keyed %t: set aside %d times only", keyed, failed)
		}
	}
}

// A table that is damaged while the job is down is set aside, again and again, and the other goes on; repaired, it
// goes on where it was.
func TestDamagedWhileDown(t *testing.T) {
	for _, file := range []string{"schema/schema-0", "snapshot"} {
		wh := t.TempDir()
		in, rows := twoTables(false, 0, 2)
		runTwo(t, wh, in)
		path := filepath.Join(wh, "s.db", "a", file)
		away := filepath.Join(wh, "away")
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{damage"), 0o600); err != nil {
			t.Fatal(err)
		}
		for n := 2; n < 4; n++ {
			more, moreRows := twoTables(false, n, n+1)
			in, rows = in+more, append(rows, moreRows...)
			if sum := runTwo(t, wh, in); len(sum.FailedTables) != 1 || sum.FailedTables["s.a"] == nil || !strings.Contains(sum.FailedTables["s.a"].Error(), "s.a") {
				t.Errorf("%s: %v", file, sum.FailedTables)
			}
			want(t, wh, "s.b", rows...)
		}
		if err := os.Rename(away, path); err != nil {
			if err = os.Remove(path); err == nil {
				err = os.Rename(away, path)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if sum := runTwo(t, wh, in); len(sum.FailedTables) > 0 {
			t.Errorf("%s: repaired: %v", file, sum.FailedTables)
		}
		want(t, wh, "s.a", rows...)
	}
}

// A table that was dropped, and perhaps made anew, while the job was down lacks what the job took: it is not gone on
// with as if it was whole, until the job is reset.
func TestDroppedWhileDown(t *testing.T) {
	for _, again := range []bool{false, true} {
		wh := t.TempDir()
		in, _ := twoTables(true, 0, 2)
		runTwo(t, wh, in)
		cat, err := tarn.Open(t.Context(), wh, nil)
		if err != nil {
			t.Fatal(err)
		}
		tab, err := cat.Table(t.Context(), "s.a")
		if err != nil {
			t.Fatal(err)
		}
		fields, err := tab.Fields()
		if err != nil {
			t.Fatal(err)
		}
		if err := cat.DropTable(t.Context(), "s.a"); err != nil {
			t.Fatal(err)
		}
		if again {
			if _, err := cat.CreateTable(t.Context(), "s.a", tarn.TableDef{Fields: fields, PrimaryKeys: tab.PrimaryKeys(), Options: tab.Options()}); err != nil {
				t.Fatal(err)
			}
		}
		more, _ := twoTables(true, 2, 3)
		in += more
		for range 2 {
			if sum := runTwo(t, wh, in); len(sum.FailedTables) != 1 || !errors.Is(sum.FailedTables["s.a"], tarn.ErrNotExist) || !strings.Contains(sum.FailedTables["s.a"].Error(), "reset the job") {
				t.Errorf("made again: %t: %v", again, sum.FailedTables)
			}
			want(t, wh, "s.b", `{"v":0}`, `{"v":1}`, `{"v":2}`)
			if again {
				want(t, wh, "s.a")
			}
		}
		if _, _, err := cdc.Reset(t.Context(), cat, "two"); err != nil {
			t.Fatal(err)
		}
		if sum := runTwo(t, wh, in); len(sum.FailedTables) > 0 {
			t.Error(sum.FailedTables)
		}
		want(t, wh, "s.a", `{"v":0}`, `{"v":1}`, `{"v":2}`)
	}
}

// What is left out is counted over all runs of a job, for who asks where it stands.
func TestCounts(t *testing.T) {
	wh := t.TempDir()
	c := config(t, "name: n\nsource: {type: files, path: \"-\", format: debezium-json}\nsink: {warehouse: %q}\non-error: skip\n", wh)
	in := ""
	for _, more := range []string{
		event("a", "c", `{"id":1}`) + "{nonsense\n" + `{"op":"t","source":{"db":"s","table":"a"}}` + "\n" + event("a", "u", `{"id":1}`),
		`{"op":"t","source":{"db":"s","table":"a"}}` + "\n" + event("b", "d", `{"id":1}`) + event("b", "c", `{"id":1}`),
		"",
	} {
		in += more
		if _, err := cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: strings.NewReader(in), NoSync: true}); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := cdc.Counts(latest(t, wh, "n"))
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]cdc.Count{"": {LeftOut: 1}, "s.a": {LeftOut: 1, Truncates: 2, Rows: 1}, "s.b": {LeftOut: 1, Rows: 1}} {
		if got := counts[table]; got == nil || *got != want {
			t.Errorf("%s: %+v, want %+v", table, got, want)
		}
	}
	want(t, wh, "s.a", `{"id":"1"}`)
}
