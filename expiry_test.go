package tarn_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn"
)

// Rows expire when a compaction reads their file: those of the highest level, too, file by file.
func TestRowsExpire(t *testing.T) {
	now := time.Unix(1000, 0)
	c, err := tarn.Open(t.Context(), t.TempDir(), &tarn.OpenOptions{NoSync: true, Clock: func() time.Time { return now }})
	if err == nil {
		err = c.CreateDatabase(t.Context(), "d", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := opts{"bucket": "1", "record-level.expire-time": "100 s", "record-level.time-field": "at", "target-file-size": "1 b", "num-sorted-run.compaction-trigger": "9"}
	tab := declare(t, c, "d.t", "k INT,at INT", "k", o)
	put(t, tab, []string{"[1,900]", "[2,899]", "[3,null]"}, []string{"[10,950]", "[11,1000]"}, []string{"[20,1000]"})
	same(t, tab, "k", "", "[1]", "[2]", "[3]", "[10]", "[11]", "[20]")
	compact(t, tab)
	same(t, tab, "k", "", "[1]", "[3]", "[10]", "[11]", "[20]")
	files := func() []string {
		names, err := tab.FileNames(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(names))
	}
	before := files()
	compact(t, tab)
	if after := files(); !slices.Equal(after, before) {
		t.Errorf("nothing has expired, and files were rewritten: %v, %v", before, after)
	}
	now = time.Unix(1075, 0) // 10 expires in the second file; 1 did in the first
	same(t, tab, "k", "", "[1]", "[3]", "[10]", "[11]", "[20]")
	compact(t, tab)
	same(t, tab, "k", "", "[3]", "[11]", "[20]")
	kept := slices.DeleteFunc(files(), func(f string) bool { return !slices.Contains(before, f) })
	if len(kept) != 1 || len(files()) != 3 {
		t.Errorf("of %v there are %v", before, files())
	}
	now = time.Unix(5000, 0)
	compact(t, tab)
	same(t, tab, "k", "", "[3]")

	// What is newest does not matter: a version that has not expired is there again.
	now = time.Unix(1000, 0)
	put(t, tab, []string{"[3,1000]"}, []string{"[3,5]"})
	compact(t, tab)
	same(t, tab, "k,at", "", "[3,1000]")
}

// What says when rows expire has to be a time.
func TestExpiryOptions(t *testing.T) {
	c := open(t)
	for i, x := range []struct {
		o    opts
		want string
	}{
		{opts{"record-level.expire-time": "1 d"}, "record-level.time-field"},
		{opts{"record-level.expire-time": "1 d", "record-level.time-field": "nope"}, `no column "nope"`},
		{opts{"record-level.expire-time": "1 d", "record-level.time-field": "v"}, "has to be INT, BIGINT or a TIMESTAMP"},
	} {
		x.o["bucket"] = "1"
		_, err := c.CreateTable(t.Context(), fmt.Sprint("d.t", i), tarn.TableDef{Fields: fields("k", "INT NOT NULL", "v", "DATE"), PrimaryKeys: []string{"k"}, Options: x.o})
		if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v", x.o, err)
		}
	}
}
