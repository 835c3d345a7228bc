package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/tarntest"
)

// TestDynamicBuckets: both sides write to a table with dynamic buckets in turn: each goes on with the hash indexes of the
// other, no key gets into two buckets and none gets more keys than it may have (BUGS B098, B099). What is overwritten,
// truncated and compacted is included, and an index that is lost is made anew.
func TestDynamicBuckets(t *testing.T) {
	t.Parallel()
	l, ok := newLake(t)
	if !ok {
		return
	}
	for kind, x := range map[string]struct {
		key, partitions []string
		options         map[string]string
	}{
		"plain":     {[]string{"k"}, nil, map[string]string{"dynamic-bucket.target-row-num": "7"}},
		"partition": {[]string{"s", "p", "k"}, []string{"p"}, map[string]string{"dynamic-bucket.target-row-num": "4", "index-file-in-data-file-dir": "true", "data-file.thin-mode": "true"}},
		"limit":     {[]string{"p", "k"}, []string{"p"}, map[string]string{"dynamic-bucket.target-row-num": "3", "dynamic-bucket.max-buckets": "2"}},
	} {
		d := definition{
			columns: []column{{name: "v", typ: "INT"}, {name: "k", typ: "INT NOT NULL"}, {name: "p", typ: "STRING NOT NULL"}, {name: "s", typ: "STRING NOT NULL"}},
			key:     x.key, partitions: x.partitions, options: x.options,
		}
		d.options["bucket"] = "-1"
		tab := l.create(t, side(kind == "limit"), "d.dynamic_"+kind, d)
		want := map[int]string{}
		rows := func(from, to, v int) (out []row) {
			for k := from; k < to; k++ {
				r := row{object: fmt.Sprintf(`{"v":%d,"k":%d,"p":"p%d","s":"text of some length %d"}`, v, k, k%2, k%3)}
				if delete(want, k); (k+v)%5 == 0 {
					r.kind = "-D"
				} else {
					want[k] = r.object
				}
				out = append(out, r)
			}
			return out
		}
		check := func(what string) {
			t.Helper()
			var all [][]byte
			for _, o := range want {
				all = append(all, []byte(o))
			}
			tab.same(t, kind+": "+what, canonical(t, tab.fields(t), all))
			tab.oneBucketForEachKey(t, d.options)
		}
		by := turns(here, java)
		for i := range 6 {
			tab.write(t, by(), rows(i*5, i*5+15, i)...)
			if check("written"); i == 3 {
				tab.compact(t, here)
				check("compacted")
			}
		}
		files, err := filepath.Glob(filepath.Join(tab.open(t).Path(), "index", "index-*"))
		if len(x.partitions) > 0 && d.options["index-file-in-data-file-dir"] != "" {
			files, err = filepath.Glob(filepath.Join(tab.open(t).Path(), "p=*", "bucket-*", "index-*"))
		}
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no index files (%v)", kind, err)
		}
		for i, f := range files { // lost, damaged
			err := os.Remove(f)
			if err == nil && i%2 == 0 {
				err = os.WriteFile(f, []byte{1, 2, 3}, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		tab.write(t, here, rows(0, 60, 7)...)
		check("index made anew")
		tab.write(t, java, rows(10, 70, 8)...)
		check("written after the index was made anew")
		for i := range 2 {
			clear(want)
			tab.overwrite(t, side(i == 0), nil, true, rows(30, 45, 9)...)
			check("overwritten")
			tab.write(t, by(), rows(20, 50, 10)...)
			tab.write(t, by(), rows(25, 60, 11)...)
			check("written after the overwrite")
		}
		clear(want)
		if _, err := tab.open(t).Truncate(t.Context()); err != nil {
			t.Fatal(err)
		}
		tab.write(t, java, rows(0, 20, 12)...)
		check("written after the table was emptied")
		tab.expire(t, here, 1) // older snapshots name indexes that were lost
		tab.sound(t)
		if o, err := tab.open(t).Orphans(t.Context(), time.Now().Add(time.Hour), true); err != nil || len(o) > 0 {
			t.Errorf("%s: orphans %v, %v", kind, o, err)
		}
	}
}

// oneBucketForEachKey looks into the hash indexes as Java reads them.
func (tab table) oneBucketForEachKey(t *testing.T, options map[string]string) {
	t.Helper()
	type place struct {
		Type      string
		Partition json.RawMessage
		Bucket    int
		Hashes    []int32
	}
	seen := map[string]int{}
	for _, raw := range tab.Do(t, tarntest.Command{"op": "dumpIndex", "table": tab.name})[0].Rows {
		var e place
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "HASH" {
			continue
		}
		most := 0
		fmt.Sscan(options["dynamic-bucket.target-row-num"], &most)
		if options["dynamic-bucket.max-buckets"] == "" && len(e.Hashes) > most || len(e.Hashes) == 0 {
			t.Errorf("%s: bucket %d of %s has %d keys", tab.name, e.Bucket, e.Partition, len(e.Hashes))
		}
		if m := options["dynamic-bucket.max-buckets"]; m != "" && strings.Compare(fmt.Sprint(e.Bucket), m) >= 0 {
			t.Errorf("%s: there is a bucket %d", tab.name, e.Bucket)
		}
		for _, h := range e.Hashes {
			key := fmt.Sprintf("%s %d", e.Partition, h)
			if b, ok := seen[key]; ok {
				t.Errorf("%s: hash %s is in the buckets %d and %d", tab.name, key, b, e.Bucket)
			}
			seen[key] = e.Bucket
		}
	}
	if len(seen) == 0 {
		t.Errorf("%s: no hash indexes", tab.name)
	}
}
