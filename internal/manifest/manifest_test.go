package manifest

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/types"
)

func file(name string, level int) *DataFile {
	return &DataFile{
		Name: name, Level: level, Rows: 100, MinKey: []byte(emptyRow), MaxKey: []byte(emptyRow),
		KeyStats:   Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), NullCounts: noCounts},
		ValueStats: Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), NullCounts: noCounts},
		DeleteRows: -1, Source: SourceUnknown, FirstRowID: -1,
	}
}

func entry(k Kind, f *DataFile) Entry {
	return Entry{Kind: k, Partition: []byte(emptyRow), TotalBuckets: 1, File: f}
}

func names(entries []Entry) string {
	var out []string
	for _, e := range entries {
		s := "+"
		if e.Kind == Delete {
			s = "-"
		}
		out = append(out, s+e.File.Name)
	}
	return strings.Join(out, " ")
}

// TestUpgrade is B003: a compaction that moves a file up deletes it in one level and adds it in the
// other, and the file must not vanish.
func TestUpgrade(t *testing.T) {
	all := []Entry{entry(Add, file("f", 0)), entry(Delete, file("f", 0)), entry(Add, file("f", 1))}
	got, err := MustLive(all)
	if err != nil || len(got) != 1 || got[0].File.Level != 1 {
		t.Fatalf("live: %v, %v", got, err)
	}
	if got := Live(append([]Entry{}, all...)); len(got) != 1 || got[0].File.Level != 1 {
		t.Fatalf("live: %v", got)
	}
	// The same through a manifest with both in the order DELETE, ADD, and merged fully.
	merged, err := Merge([]Entry{all[1], all[2]})
	if err != nil || names(merged) != "-f +f" {
		t.Fatalf("merge: %s, %v", names(merged), err)
	}
	back, err := Merge(append([]Entry{all[0]}, merged...))
	if err != nil || names(back) != "+f" || back[0].File.Level != 1 {
		t.Fatalf("merge: %s, %v", names(back), err)
	}
	// What else makes a file another one.
	base := entry(Add, file("f", 0))
	for what, change := range map[string]func(e *Entry){
		"bucket":    func(e *Entry) { e.Bucket = 1 },
		"partition": func(e *Entry) { e.Partition = []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0} },
		"extra":     func(e *Entry) { e.File.ExtraFiles = []string{"x"} },
		"embedded":  func(e *Entry) { e.File.EmbeddedIndex = []byte{1} },
		"external":  func(e *Entry) { e.File.ExternalPath = "s3://x/f" },
	} {
		other := entry(Delete, file("f", 0))
		change(&other)
		if IdentityOf(&base) == IdentityOf(&other) {
			t.Errorf("%s does not count", what)
		}
	}
	same := entry(Delete, file("f", 0))
	same.File.Rows, same.File.Size, same.TotalBuckets = 1, 2, 7
	if IdentityOf(&base) != IdentityOf(&same) {
		t.Error("statistics count")
	}
}

func TestMerge(t *testing.T) {
	a, b, c := file("a", 0), file("b", 0), file("c", 0)
	got, err := Merge([]Entry{entry(Add, a), entry(Add, b), entry(Delete, a), entry(Delete, c), entry(Add, a)})
	if err != nil || names(got) != "+b -c +a" {
		t.Errorf("merge: %s, %v", names(got), err)
	}
	if _, err := Merge([]Entry{entry(Add, a), entry(Add, a)}); !errors.Is(err, ErrTwice) {
		t.Errorf("added twice: %v", err)
	}
	if _, err := MustLive([]Entry{entry(Add, a), entry(Delete, c)}); !errors.Is(err, ErrNotThere) {
		t.Errorf("delete of what is not there: %v", err)
	}
}

// TestFields checks what each version can hold: field × version.
func TestFields(t *testing.T) {
	e := entry(Add, file("a", 0))
	e.File.DeleteRows, e.File.Source, e.File.CreationMillis = 3, SourceCompact, 5
	has := func(text, f string) bool { return strings.Contains(text, `"`+f+`"`) }
	for f, since := range map[string]Version{
		"_CREATION_TIME": V04, "_DELETE_ROW_COUNT": V08, "_EMBEDDED_FILE_INDEX": V08, "_FILE_SOURCE": V09,
		"_VALUE_STATS_COLS": V10, "_EXTERNAL_PATH": V10, "_FIRST_ROW_ID": V13, "_WRITE_COLS": V13,
	} {
		for _, v := range []Version{V04, V05, V07, V08, V09, V10, V11, V12, V13, V14} {
			if data, err := Encode([]Entry{e}, Encoding{Version: v}); err != nil || has(schema(data), f) != (v >= since) {
				t.Errorf("%s at %s: %v", f, v, err)
			}
		}
	}
	for f, since := range map[string]Version{"_MIN_BUCKET": V11, "_MAX_LEVEL": V11, "_MIN_ROW_ID": V14} {
		for _, v := range []Version{V04, V10, V11, V13, V14} {
			if data, err := EncodeList(nil, Encoding{Version: v}); err != nil || has(schema(data), f) != (v >= since) {
				t.Errorf("%s at %s: %v", f, v, err)
			}
		}
	}
	for f, since := range map[string]Version{"_DELETIONS_VECTORS_RANGES": V08, "_CARDINALITY": V10, "_EXTERNAL_PATH": V13, "_GLOBAL_INDEX": V14} {
		for _, v := range []Version{V05, V08, V09, V10, V12, V13, V14} {
			if data, err := EncodeIndex(nil, Encoding{Version: v}); err != nil || has(schema(data), f) != (v >= since) {
				t.Errorf("%s at %s: %v", f, v, err)
			}
		}
	}
	// What needs a newer version raises it instead of being lost.
	e.File.ExternalPath = "s3://x/a"
	data, err := Encode([]Entry{e}, Encoding{Version: V07})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data, nil)
	if err != nil || got[0].File.ExternalPath != "s3://x/a" {
		t.Errorf("external path is lost: %v", err)
	}
}

// TestUnknownFields: fields of later releases survive a rewrite together with entries that lack them.
func TestUnknownFields(t *testing.T) {
	x := extras{}
	add := func(f string) {
		x.fields[1] = append(x.fields[1], f)
		x.null[1] = append(x.null[1], []byte{0})
	}
	add(`{"name":"_NEW","type":["null",{"type":"array","items":"long"}],"default":null}`)
	add(`{"name":"_NEWER","type":["null",{"type":"record","name":"r","fields":[{"name":"a","type":"string"}]}],"default":null}`)
	x.index = map[string]int{"f" + x.fields[1][0]: 0, "f" + x.fields[1][1]: 1}
	w := &entryWriter{v: V14, x: x}
	w.start(avro.Codec{Name: "zstandard"})
	known, plain := entry(Add, file("a", 0)), entry(Add, file("b", 0))
	value := []byte{2, 4, 20, 40, 0} // [10, 20]
	known.File.Unknown = append(append([]byte{'f', byte(len(x.fields[1][0]))}, x.fields[1][0]...), append([]byte{byte(len(value))}, value...)...)
	for _, e := range []Entry{known, plain} {
		if err := w.add(&e); err != nil {
			t.Fatal(err)
		}
	}
	data, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Entry{known, plain}, got); d != "" {
		t.Error(d)
	}
	again, err := Encode([]Entry{got[1], got[0]}, Encoding{})
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(again, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Entry{plain, known}, back); d != "" {
		t.Error(d)
	}
	if !strings.Contains(schema(again), `"_NEW"`) || strings.Contains(schema(again), `"_NEWER"`) {
		t.Errorf("schema %s", schema(again))
	}
}

func TestFilter(t *testing.T) {
	entries := benchEntries(3000)
	data, err := Encode(entries, Encoding{})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	f := &Filter{
		Partition: func(p []byte) bool { asked++; return p[12] == 2 },
		Bucket:    func(_ []byte, b, total int) bool { return b == 3 && total == 8 },
		Entry:     func(e *Entry) bool { return e.File.Level == 1 },
	}
	got, err := Decode(data, f)
	if err != nil {
		t.Fatal(err)
	}
	if asked != 6 {
		t.Errorf("partitions asked %d times, there are 6", asked)
	}
	all, err := Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f.apply(all), got); d != "" {
		t.Error(d)
	}
	if len(got) == 0 {
		t.Error("nothing found")
	}
}

func newTestStore(t *testing.T, c Config) *Store {
	t.Helper()
	c.FS, c.Dir = fileio.NewLocal(fileio.LocalOptions{}), t.TempDir()+"/manifest"
	return NewStore(c)
}

func TestStore(t *testing.T) {
	ctx := t.Context()
	for _, cache := range []*Cache{nil, NewCache(1 << 20), NewCache(1 << 30)} {
		s := newTestStore(t, Config{Partition: []types.Type{{Kind: types.Int}}, TargetSize: 20000, Cache: cache})
		entries := benchEntries(5000)
		metas, err := s.Write(ctx, entries)
		if err != nil {
			t.Fatal(err)
		}
		if len(metas) < 2 {
			t.Fatalf("%d manifests, the target size was not respected", len(metas))
		}
		got, err := s.ReadAll(ctx, metas, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Arrays are the same, but those of the cache are the written ones.
		if len(got) != len(entries) || got[4321].File.Name != entries[4321].File.Name {
			t.Fatalf("%d entries", len(got))
		}
		one, err := s.ReadAll(ctx, metas, &Filter{Manifest: func(m *Meta) bool { return m.MinBucket <= 3 }, Bucket: func(_ []byte, b, _ int) bool { return b == 3 }})
		if err != nil || len(one) != 625 {
			t.Fatalf("%d entries of bucket 3, %v", len(one), err)
		}
		name, size, err := s.WriteList(ctx, metas)
		if err != nil || size == 0 {
			t.Fatal(err)
		}
		back, err := s.ReadList(ctx, List{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(metas, back); d != "" {
			t.Error(d)
		}
		if err := s.Delete(ctx, metas[0].Name); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadAll(ctx, metas, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), metas[0].Name) {
			t.Errorf("missing manifest: %v", err)
		}
		if cache != nil && cache.Used() > cache.max {
			t.Errorf("cache holds %d of %d bytes", cache.Used(), cache.max)
		}
	}
}

func TestPartitionStats(t *testing.T) {
	ts := []types.Type{{Kind: types.Varchar, Length: 10}, {Kind: types.Double}}
	var entries []Entry
	for _, p := range [][]types.Datum{{"b", 1.5}, {"b", 1.5}, {nil, math.NaN()}, {"", math.Copysign(0, -1)}, {"abc", nil}, {"abc", 0.0}} {
		row, err := binrow.EncodeWithArity(ts, p)
		if err != nil {
			t.Fatal(err)
		}
		e := entry(Add, file("x", 0))
		e.Partition = row
		entries = append(entries, e)
	}
	got, err := partitionStats(ts, entries)
	if err != nil {
		t.Fatal(err)
	}
	lo, err := binrow.EncodeWithArity(ts, []types.Datum{"", math.Copysign(0, -1)})
	if err != nil {
		t.Fatal(err)
	}
	hi, err := binrow.EncodeWithArity(ts, []types.Datum{"b", math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Stats{Min: lo, Max: hi, NullCounts: []int64{1, 1}}, got); d != "" {
		t.Error(d)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range []Version{V07, V14} {
		data, err := Encode(benchEntries(3), Encoding{Version: v, Compression: "null"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	list, err := EncodeList([]Meta{{Name: "m", HasRanges: true}}, Encoding{Compression: "null"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(list)
	index, err := EncodeIndex([]IndexEntry{{Name: "i", Vectors: []VectorRange{{File: "f", Cardinality: -1}}}}, Encoding{Compression: "snappy"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(index)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = Records(data)
		if v, err := Decode(data, nil); err == nil {
			if _, err := Encode(v, Encoding{}); err != nil {
				t.Logf("cannot be written: %v", err)
			}
		}
		if v, err := DecodeList(data); err == nil {
			if _, err := EncodeList(v, Encoding{}); err != nil {
				t.Logf("cannot be written: %v", err)
			}
		}
		if v, err := DecodeIndex(data); err == nil {
			if _, err := EncodeIndex(v, Encoding{}); err != nil {
				t.Logf("cannot be written: %v", err)
			}
		}
	})
}

// TestDamage: bytes that are cut off or changed give an error or something, but no panic.
func TestDamage(t *testing.T) {
	data, err := Encode(benchEntries(20), Encoding{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := Decode(data[:n], nil); err == nil {
			// A file that ends between header and first block is an empty one.
			if c, e := openFile(data[:n]); e != nil || c.Offset() != int64(n) {
				t.Fatalf("the first %d bytes were taken for a manifest", n)
			}
		}
		broken := append([]byte{}, data...)
		broken[n] ^= 0x55
		_, _ = Decode(broken, nil)
	}
}
