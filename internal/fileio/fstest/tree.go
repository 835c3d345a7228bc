package fstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
)

func testRename(t *testing.T, e env) {
	e.put("db/t1/schema/schema-0", "s")
	e.put("db/t1/bucket-0/data", "d")
	e.put("db/t10/other", "o") // shares the prefix, must stay
	e.must(e.fs.Rename(e.ctx, e.path("db/t1"), e.path("db2/t2")))
	e.wantExists("db/t1", false)
	e.wantContent("db2/t2/schema/schema-0", "s")
	e.wantContent("db2/t2/bucket-0/data", "d")
	e.wantContent("db/t10/other", "o")
	e.must(e.fs.Rename(e.ctx, e.path("db2/t2/bucket-0/data"), e.path("db2/t2/bucket-0/moved")))
	e.wantList("db2/t2/bucket-0", "moved")
}

func testRenameRefuses(t *testing.T, e env) {
	e.put("a/f", "a")
	e.put("b/f", "b")
	e.wantErr(e.fs.Rename(e.ctx, e.path("a/f"), e.path("b/f")), iofs.ErrExist, e.path("b/f"))
	e.wantErr(e.fs.Rename(e.ctx, e.path("a"), e.path("b")), iofs.ErrExist, e.path("b"))
	e.wantContent("a/f", "a")
	e.wantContent("b/f", "b")
	e.wantErr(e.fs.Rename(e.ctx, e.path("none"), e.path("c")), iofs.ErrNotExist, e.path("none"))
	if err := e.fs.Rename(e.ctx, e.path("a"), e.path("a/inside")); err == nil {
		t.Error("a folder moved into itself")
	}
	e.wantContent("a/f", "a")
}

func testList(t *testing.T, e env) {
	e.wantList("nowhere")
	for _, rel := range []string{"d/b", "d/a-1", "d/a/x", "d/a.b", "d/a=1/y/z", "d/Z", "d/10", "d/9", "d/é", "d/_x", "d/.h"} {
		e.put(rel, "12345")
	}
	e.put("d2/other", "")
	// The order is that of the bytes of the names, folders among files.
	e.wantList("d", ".h", "10", "9", "Z", "_x", "a/", "a-1", "a.b", "a=1/", "b", "é")
	e.wantList("d/a=1", "y/")
	for info, err := range e.fs.List(e.ctx, e.path("d")) {
		e.must(err)
		if !info.IsDir && (info.Size != 5 || info.ModTime.IsZero()) {
			t.Errorf("%s: size %d, time %v", info.Path, info.Size, info.ModTime)
		}
		if info.Name() == "9" {
			break // a listing may be left early
		}
	}
	const many = 1203 // more than a page of an object store
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < many; i += 8 {
				w, err := e.fs.Create(e.ctx, e.path(fmt.Sprintf("many/f-%04d", i))) // not flushed one by one
				if err == nil {
					err = w.Close()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	names := e.list("many")
	if len(names) != many || !slices.IsSorted(names) || names[many-1] != "f-1202" {
		t.Errorf("%d names, sorted %v", len(names), slices.IsSorted(names))
	}
	e.must(e.fs.Delete(e.ctx, e.path("many")))
	e.wantList("many")
}

func testStat(t *testing.T, e env) {
	e.put("d/f", "123")
	info, err := e.fs.Stat(e.ctx, e.path("d/f"))
	e.must(err)
	if info.Path != e.path("d/f") || info.Size != 3 || info.IsDir || info.ModTime.IsZero() {
		t.Errorf("file: %+v", info)
	}
	info, err = e.fs.Stat(e.ctx, e.path("d"))
	e.must(err)
	if info.Path != e.path("d") || !info.IsDir {
		t.Errorf("folder: %+v", info)
	}
	for _, rel := range []string{"d/g", "e", "d/f/below"} {
		_, err = e.fs.Stat(e.ctx, e.path(rel))
		e.wantErr(err, iofs.ErrNotExist, e.path(rel))
	}
}

func testDelete(t *testing.T, e env) {
	for _, rel := range []string{"d/a", "d/b", "d/c/e/f", "d/c/g", "dd/x", "single"} {
		e.put(rel, "x")
	}
	e.must(e.fs.Delete(e.ctx, e.path("d"), e.path("single"), e.path("never-was"), e.path("no/such/folder/f")))
	e.must(e.fs.Delete(e.ctx))
	e.wantExists("d", false)
	e.wantExists("d/c/e/f", false)
	e.wantExists("single", false)
	e.wantContent("dd/x", "x")
	e.wantList("d")

	// Many at once, folders among them, and names that begin like others.
	var paths []string
	for i := range 30 {
		rel := fmt.Sprintf("m/f%d", i)
		if i%10 == 0 {
			e.put(rel+"/inner/x", "x")
		} else {
			e.put(rel, "x")
		}
		if i != 2 {
			paths = append(paths, e.path(rel))
		}
	}
	e.put("m/g", "kept")
	e.must(e.fs.Delete(e.ctx, paths...))
	e.wantList("m", "f2", "g")
}

func testReadAt(t *testing.T, e env) {
	e.put("f", "0123456789")
	f, err := e.fs.Open(e.ctx, e.path("f"))
	e.must(err)
	defer f.Close()
	if f.Size() != 10 {
		t.Fatalf("size %d", f.Size())
	}
	for _, c := range []struct {
		off   int64
		n     int
		want  string
		isEOF bool
	}{{0, 4, "0123", false}, {8, 2, "89", false}, {8, 5, "89", true}, {10, 1, "", true}, {99, 1, "", true}, {3, 0, "", false}} {
		p := make([]byte, c.n)
		n, err := f.ReadAt(p, c.off)
		if string(p[:n]) != c.want || (c.isEOF && !errors.Is(err, io.EOF)) || (!c.isEOF && n < c.n) {
			t.Errorf("ReadAt(%d, %d) = %q, %v", c.off, c.n, p[:n], err)
		}
	}
	e.must(f.Close())
	e.must(f.Close())
}

func testReadRanges(t *testing.T, e env) {
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	e.must(e.fs.Put(e.ctx, e.path("f"), data))
	f, err := e.fs.Open(e.ctx, e.path("f"))
	e.must(err)
	defer f.Close()
	ranges := []fileio.Range{
		{Offset: 2 << 20, Length: 1 << 20},
		{Offset: 0, Length: 4},
		{Offset: 4, Length: 100},
		{Offset: 50, Length: 100},
		{Offset: 10, Length: 0},
		{Offset: int64(len(data)) - 8, Length: 8},
		{Offset: 1 << 20, Length: 10},
		{Offset: 1<<20 + 900_000, Length: 10},
		{Offset: int64(len(data)), Length: 0},
	}
	got, err := f.ReadRanges(e.ctx, ranges)
	e.must(err)
	if len(got) != len(ranges) {
		t.Fatalf("%d results", len(got))
	}
	for i, r := range ranges {
		if !bytes.Equal(got[i], data[r.Offset:r.Offset+r.Length]) {
			t.Errorf("range %d (%+v) has other bytes", i, r)
		}
	}
	_ = append(got[1], "overwrites nothing"...)
	if !bytes.Equal(got[2], data[4:104]) {
		t.Error("appending to one result changed its neighbour")
	}
	got, err = f.ReadRanges(e.ctx, nil)
	if err != nil || len(got) != 0 {
		t.Errorf("no ranges: %v, %v", got, err)
	}
	for _, r := range []fileio.Range{{Offset: int64(len(data)) - 4, Length: 5}, {Offset: -1, Length: 2}, {Offset: 0, Length: -1}, {Offset: 1, Length: 1<<63 - 1}} {
		if _, err := f.ReadRanges(e.ctx, []fileio.Range{r}); err == nil {
			t.Errorf("range %+v outside of the file: no error", r)
		}
	}
}

func testOddNames(t *testing.T, e env) {
	for _, name := range []string{
		"with space", "per%cent%41", "dt=2024-01-01 00%3A00%3A00", "p=ü é 漢字 😀", "plus+and&amp", "q?x#y", "semi;colon,comma",
		"__DEFAULT_PARTITION__", "(paren)[bracket]{brace}", "quote'\"", "back\\slash", "tilde~", "a=b=c", "star*", "dots..dots", "@at:colon",
	} {
		rel := "odd/" + name + "/file " + name
		e.put(rel, name)
		e.wantContent(rel, name)
		e.wantList("odd/"+name, "file "+name)
		e.must(e.fs.Rename(e.ctx, e.path(rel), e.path("odd/"+name+"/"+name)))
		if info, err := e.fs.Stat(e.ctx, e.path("odd/"+name+"/"+name)); err != nil || info.Size != int64(len(name)) {
			t.Errorf("%q: %+v, %v", name, info, err)
		}
		e.wantErr(e.fs.PutIfAbsent(e.ctx, e.path("odd/"+name+"/"+name), nil), iofs.ErrExist, name)
		e.must(e.fs.Delete(e.ctx, e.path("odd/"+name)))
	}
	e.wantList("odd")
}

func testMissing(t *testing.T, e env) {
	p := e.path("no/such/file")
	_, err := e.fs.Open(e.ctx, p)
	e.wantErr(err, iofs.ErrNotExist, p)
	_, err = e.fs.Stat(e.ctx, p)
	e.wantErr(err, iofs.ErrNotExist, p)
	e.must(e.fs.Delete(e.ctx, p))
	e.put("dir/f", "x")
	if f, err := e.fs.Open(e.ctx, e.path("dir")); err == nil {
		f.Close()
		t.Error("a folder opened as a file")
	}
}
