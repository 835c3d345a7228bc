package index

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/manifest"
)

func vector(rows ...int64) *Vector {
	var b Builder
	for _, r := range rows {
		b.Add(r)
	}
	return b.Vector()
}

func span(from, to int64) *Vector {
	var b Builder
	for r := from; r < to; r++ {
		b.Add(r)
	}
	return b.Vector()
}

func TestVectors(t *testing.T) {
	far := int64(5)<<32 + 7
	v := vector(3, 4, 5, 9, far).Union(span(70_000, 70_100)).Union(nil)
	if n := v.Count(); n != 105 || v.End() != far+1 || !v.Has(9) || !v.Has(far) || v.Has(far-1) || v.Has(10) || v.Has(-1) {
		t.Errorf("%d rows up to %d", n, v.End())
	}
	for _, x := range []struct {
		from, to int64
		want     []format.Run
	}{
		{0, 10, []format.Run{{From: 3, To: 6}, {From: 9, To: 10}}},
		{4, 5, []format.Run{{From: 4, To: 5}}},
		{6, 9, nil},
		{70_050, far + 1, []format.Run{{From: 70_050, To: 70_100}, {From: far, To: far + 1}}},
	} {
		if d := cmp.Diff(x.want, v.Runs(nil, x.from, x.to)); d != "" {
			t.Errorf("rows %d to %d: %s", x.from, x.to, d)
		}
	}
	var none *Vector
	if none.Count() != 0 || none.End() != 0 || none.Has(0) || none.Runs(nil, 0, 10) != nil || none.Union(v) != v {
		t.Error("nil is not the empty set")
	}
	var b Builder
	b.Union(v)
	if b.Add(9) || !b.Add(10) || b.Count() != 106 || v.Has(10) {
		t.Error("a builder does not add to what it has, or changes what it was given")
	}
}

// store gives a Store in memory.
func store(c Config) (*Store, *fileio.Mem) {
	fs := fileio.NewMem(fileio.MemOptions{})
	n := 0
	c.FS, c.Path = fs, func(_ []byte, bucket int, name string) (string, error) {
		return fmt.Sprintf("/%d/%s", bucket, name), nil
	}
	c.NewName = func() string { n++; return fmt.Sprintf("index-%d", n) }
	return NewStore(c), fs
}

func TestWriteAndRead(t *testing.T) {
	vectors := []FileVector{{"a", vector(1, 5)}, {"none", nil}, {"b", span(100, 300_000)}, {"c", vector(math.MaxInt32)}}
	for _, c := range []Config{{}, {Bitmap64: true}, {TargetSize: 10}, {TargetSize: 1 << 20, Bitmap64: true}} {
		s, _ := store(c)
		entries, err := s.Write(t.Context(), []byte("p"), 3, vectors)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(entries); n != 1 && c.TargetSize != 10 || n != 3 && c.TargetSize == 10 {
			t.Errorf("%+v: %d files", c, n)
		}
		places, err := PlacesOf(entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		if places.Of([]byte("p"), 3, "none") != nil || places.Of([]byte("p"), 2, "a") != nil {
			t.Error("a file without a vector has one")
		}
		for _, w := range vectors {
			p := places.Of([]byte("p"), 3, w.File)
			if p == nil {
				continue
			}
			v, err := s.Vector(t.Context(), p, w.Vector.End())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(w.Vector.Runs(nil, 0, w.Vector.End()), v.Runs(nil, 0, v.End())); d != "" {
				t.Errorf("%+v: %s: %s", c, w.File, d)
			}
			if _, err := s.Vector(t.Context(), p, v.End()-1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("a vector of more rows than the file has: %v", err)
			}
		}
		if err := s.Delete(t.Context(), entries...); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Vector(t.Context(), places.Of([]byte("p"), 3, "a"), -1); !errors.Is(err, iofs.ErrNotExist) || !strings.Contains(err.Error(), "deletion vector of a") {
			t.Errorf("a file that is gone: %v", err)
		}
	}
	s, _ := store(Config{})
	if _, err := s.Write(t.Context(), nil, 0, []FileVector{{"f", vector(math.MaxInt32 + 1)}}); err == nil || !strings.Contains(err.Error(), "deletion-vectors.bitmap64") {
		t.Errorf("a row of more than 31 bits: %v", err)
	}
}

// Whatever byte of a file is another, no vector is read that is not the one that was written.
func TestDamagedFiles(t *testing.T) {
	for _, wide := range []bool{false, true} {
		s, fs := store(Config{Bitmap64: wide})
		entries, err := s.Write(t.Context(), nil, 0, []FileVector{{"first", vector(1)}, {"data", span(5, 20).Union(vector(70_001))}})
		if err != nil {
			t.Fatal(err)
		}
		places, err := PlacesOf(entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := places.Of(nil, 0, "data")
		const path = "/0/index-1"
		good, err := fileio.ReadFile(t.Context(), fs, path)
		if err != nil {
			t.Fatal(err)
		}
		put := func(data []byte) error {
			if err := fs.Put(t.Context(), path, data); err != nil {
				t.Fatal(err)
			}
			_, err := s.Vector(t.Context(), p, -1)
			return err
		}
		for i := range good {
			bad := slices.Clone(good)
			bad[i] ^= 0x21
			switch err := put(bad); {
			case i > 0 && i < int(p.Offset): // of the other vector
				if err != nil {
					t.Errorf("byte %d: %v", i, err)
				}
			case !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "deletion vector of data"):
				t.Errorf("byte %d: %v", i, err)
			}
			if err := put(good[:i]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("cut to %d bytes: %v", i, err)
			}
		}
		if err := put(good); err != nil {
			t.Error(err)
		}
		for _, change := range []func(p *Place){
			func(p *Place) { p.Offset = -1 },
			func(p *Place) { p.Offset = math.MaxInt64 },
			func(p *Place) { p.Length = -1 },
			func(p *Place) { p.Length = math.MaxInt64 },
			func(p *Place) { p.Offset-- },
			func(p *Place) { p.Length++ },
			func(p *Place) { p.Cardinality++ },
		} {
			q := *p
			change(&q)
			if _, err := s.Vector(t.Context(), &q, -1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%+v: %v", q, err)
			}
		}
		q := *p
		q.Cardinality = -1 // not told before 1.0
		if _, err := s.Vector(t.Context(), &q, -1); err != nil {
			t.Error(err)
		}
		q.Name = "../x"
		if _, err := s.Vector(t.Context(), &q, -1); err == nil {
			t.Error("a name leads out of the folder")
		}
	}
	twice := []manifest.IndexEntry{
		{Type: DeletionVectors, Name: "i", Vectors: []manifest.VectorRange{{File: "f"}}},
		{Type: DeletionVectors, Name: "j", Vectors: []manifest.VectorRange{{File: "f"}}},
	}
	if _, err := PlacesOf(twice, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a data file with two vectors: %v", err)
	}
}

func TestExternalFiles(t *testing.T) {
	other := fileio.NewMem(fileio.MemOptions{})
	s, fs := store(Config{External: func(_ context.Context, uri string) (fileio.FS, string, error) {
		return other, strings.TrimPrefix(uri, "mem:"), nil
	}})
	entries, err := s.Write(t.Context(), nil, 0, []FileVector{{"f", vector(2)}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := fileio.ReadFile(t.Context(), fs, "/0/index-1")
	if err == nil {
		err = other.Put(t.Context(), "/x/i", data)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries[0].External = "mem:/x/i"
	places, err := PlacesOf(entries, nil)
	if err == nil {
		err = fs.Delete(t.Context(), "/0/index-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Vector(t.Context(), places.Of(nil, 0, "f"), -1); err != nil || !v.Has(2) {
		t.Errorf("%v, %v", v, err)
	}
}

// FuzzDecode: no payload makes a panic, and what is read is written to be read as the same.
func FuzzDecode(f *testing.F) {
	for _, v := range []*Vector{nil, vector(0), vector(1, 70_000, 3), span(0, 100_000), span(1, 9000).Union(vector(20_000))} {
		for _, wide := range []bool{false, true} {
			b, err := v.encode(wide)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	b, err := vector(5<<32, 1).encode(true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			return
		}
		runs := v.Runs(nil, 0, v.End())
		n := int64(0)
		for i, r := range runs {
			n += r.To - r.From
			if i > 0 && runs[i-1].To >= r.From {
				t.Fatalf("runs %v", runs)
			}
		}
		if n != v.Count() {
			t.Fatalf("%d rows in runs, %d in all", n, v.Count())
		}
		again, err := v.encode(true)
		if err != nil {
			t.Fatal(err)
		}
		w, err := decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(runs, w.Runs(nil, 0, w.End())); d != "" {
			t.Fatal(d)
		}
	})
}
