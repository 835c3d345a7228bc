// Package fstest is the conformance suite of file systems: every implementation of fileio.FS runs
// it.
package fstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Run runs the suite. newFS gives a file system and a folder of it (which need not exist) that the
// test may fill; it is called once for each part.
func Run(t *testing.T, newFS func(t *testing.T) (fs fileio.FS, root string)) {
	for _, part := range []struct {
		name string
		fn   func(t *testing.T, e env)
	}{
		{"PutIfAbsent", testPutIfAbsent},
		{"PutIfAbsentRace", testPutIfAbsentRace},
		{"Put", testPut},
		{"PutRace", testPutRace},
		{"Create", testCreate},
		{"CreateLarge", testCreateLarge},
		{"Abort", testAbort},
		{"Rename", testRename},
		{"RenameRefuses", testRenameRefuses},
		{"List", testList},
		{"Stat", testStat},
		{"Delete", testDelete},
		{"ReadAt", testReadAt},
		{"ReadRanges", testReadRanges},
		{"Sync", testSync},
		{"OddNames", testOddNames},
		{"Missing", testMissing},
		{"Cancelled", testCancelled},
	} {
		t.Run(part.name, func(t *testing.T) {
			fs, root := newFS(t)
			part.fn(t, env{t, t.Context(), fs, root})
		})
	}
}

// env is what each part works with.
type env struct {
	t    *testing.T
	ctx  context.Context
	fs   fileio.FS
	root string
}

func (e env) path(rel string) string { return e.root + "/" + rel }

func (e env) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e env) put(rel, data string) {
	e.t.Helper()
	e.must(e.fs.Put(e.ctx, e.path(rel), []byte(data)))
}

// read gives the content of a file.
func (e env) read(rel string) []byte {
	e.t.Helper()
	data, err := fileio.ReadFile(e.ctx, e.fs, e.path(rel))
	e.must(err)
	return data
}

func (e env) wantContent(rel, want string) {
	e.t.Helper()
	if got := string(e.read(rel)); got != want {
		e.t.Errorf("%s holds %.60q, want %.60q", rel, got, want)
	}
}

func (e env) wantExists(rel string, want bool) {
	e.t.Helper()
	got, err := fileio.Exists(e.ctx, e.fs, e.path(rel))
	e.must(err)
	if got != want {
		e.t.Errorf("%s exists: %v, want %v", rel, got, want)
	}
}

// wantErr checks kind and that the error names the path.
func (e env) wantErr(err, kind error, path string) {
	e.t.Helper()
	if !errors.Is(err, kind) {
		e.t.Fatalf("error %v, want %v", err, kind)
	}
	if !bytes.Contains([]byte(err.Error()), []byte(path)) {
		e.t.Errorf("error %q does not name %q", err, path)
	}
}

// list gives the names in a folder, those of folders with a slash behind.
func (e env) list(rel string) []string {
	e.t.Helper()
	var names []string
	for info, err := range e.fs.List(e.ctx, e.path(rel)) {
		e.must(err)
		name := info.Name()
		if want := e.path(rel) + "/" + name; info.Path != want {
			e.t.Errorf("List gives path %q, want %q", info.Path, want)
		}
		if info.IsDir {
			name += "/"
		}
		names = append(names, name)
	}
	return names
}

func (e env) wantList(rel string, want ...string) {
	e.t.Helper()
	if got := e.list(rel); !slices.Equal(got, want) {
		e.t.Errorf("List(%s) = %q, want %q", rel, got, want)
	}
}

func testPutIfAbsent(t *testing.T, e env) {
	p := e.path("t/snapshot/snapshot-1")
	e.must(e.fs.PutIfAbsent(e.ctx, p, []byte("first")))
	e.wantErr(e.fs.PutIfAbsent(e.ctx, p, []byte("second")), iofs.ErrExist, p)
	// Not even the same bytes: the caller did not write this one.
	e.wantErr(e.fs.PutIfAbsent(e.ctx, p, []byte("first")), iofs.ErrExist, p)
	e.wantContent("t/snapshot/snapshot-1", "first")
	e.wantList("t/snapshot", "snapshot-1") // nothing temporary is left
	e.must(e.fs.PutIfAbsent(e.ctx, e.path("t/empty"), nil))
	e.wantContent("t/empty", "")
	e.must(e.fs.Delete(e.ctx, p))
	e.must(e.fs.PutIfAbsent(e.ctx, p, []byte("again")))
	e.wantContent("t/snapshot/snapshot-1", "again")
}

// Of 16 writers exactly one wins, and readers never see a part of a file.
func testPutIfAbsentRace(t *testing.T, e env) {
	const writers, rounds = 16, 8
	for round := range rounds {
		rel := fmt.Sprintf("race/snapshot-%d", round)
		p := e.path(rel)
		body := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 4000) }
		var wg sync.WaitGroup
		start := make(chan struct{})
		errs := make([]error, writers)
		for i := range writers {
			wg.Go(func() {
				<-start
				errs[i] = e.fs.PutIfAbsent(e.ctx, p, body(i))
			})
		}
		wg.Go(func() {
			<-start
			for range 20 {
				data, err := fileio.ReadFile(e.ctx, e.fs, p)
				if errors.Is(err, iofs.ErrNotExist) {
					continue
				}
				if err != nil || len(data) != 4000 || !bytes.Equal(data, body(int(data[0]-'a'))) {
					t.Errorf("a reader saw %d bytes, error %v", len(data), err)
					return
				}
			}
		})
		close(start)
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner < 0:
				winner = i
			case err == nil:
				t.Fatalf("round %d: writers %d and %d both won", round, winner, i)
			default:
				e.wantErr(err, iofs.ErrExist, p)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody won", round)
		}
		if got := e.read(rel); !bytes.Equal(got, body(winner)) {
			t.Fatalf("round %d: the file holds %.3q, not what the winner wrote", round, got)
		}
	}
	if n := len(e.list("race")); n != rounds {
		t.Errorf("%d files, want %d", n, rounds)
	}
}

func testPut(t *testing.T, e env) {
	e.put("a/hint", "1")
	e.put("a/hint", "22")
	e.wantContent("a/hint", "22")
	e.put("a/hint", "")
	e.wantContent("a/hint", "")
	e.wantList("a", "hint")
	data := []byte("mine")
	e.must(e.fs.Put(e.ctx, e.path("a/own"), data))
	data[0] = 'X' // the bytes were the caller's
	e.wantContent("a/own", "mine")
}

// Readers of a file that is replaced see one version or the other, whole.
func testPutRace(t *testing.T, e env) {
	body := func(i int) string { return string(bytes.Repeat([]byte{byte('a' + i)}, 3000+100*i)) }
	e.put("hint", body(0))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 10 {
				if err := e.fs.Put(e.ctx, e.path("hint"), []byte(body(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 40 {
		data, err := fileio.ReadFile(e.ctx, e.fs, e.path("hint"))
		if err != nil || len(data) == 0 || string(data) != body(int(data[0]-'a')) {
			t.Fatalf("a reader saw %d bytes, error %v", len(data), err)
		}
	}
	wg.Wait()
}

func testCreate(t *testing.T, e env) {
	w, err := e.fs.Create(e.ctx, e.path("t/bucket-0/data-1.parquet"))
	e.must(err)
	for i := range 100 {
		n, err := fmt.Fprintf(w, "%04d", i)
		e.must(err)
		if n != 4 {
			t.Fatalf("wrote %d bytes, want 4", n)
		}
	}
	e.must(w.Close())
	e.must(w.Close()) // does nothing
	e.must(w.Abort()) // does nothing either
	data := e.read("t/bucket-0/data-1.parquet")
	if len(data) != 400 || string(data[396:]) != "0099" {
		t.Errorf("the file has %d bytes that end in %q", len(data), data[max(0, len(data)-4):])
	}
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("a closed writer takes more")
	}

	w, err = e.fs.Create(e.ctx, e.path("empty"))
	e.must(err)
	e.must(w.Close())
	e.wantContent("empty", "")
}

// testCreateLarge goes over the part size of object stores.
func testCreateLarge(t *testing.T, e env) {
	const size = 21<<20 + 17
	block := make([]byte, 1<<20+13)
	for i := range block {
		block[i] = byte(i*7 ^ i>>8)
	}
	w, err := e.fs.Create(e.ctx, e.path("large"))
	e.must(err)
	for left := size; left > 0; {
		n := min(left, len(block))
		_, err := w.Write(block[:n])
		e.must(err)
		left -= n
	}
	e.must(w.Close())
	got := e.read("large")
	if len(got) != size {
		t.Fatalf("%d bytes, want %d", len(got), size)
	}
	for off := 0; off < size; off += len(block) {
		n := min(len(block), size-off)
		if !bytes.Equal(got[off:off+n], block[:n]) {
			t.Fatalf("content differs in the block at %d", off)
		}
	}
}

func testAbort(t *testing.T, e env) {
	for _, size := range []int{0, 10, 11 << 20} {
		w, err := e.fs.Create(e.ctx, e.path("d/gone"))
		e.must(err)
		_, err = w.Write(make([]byte, size))
		e.must(err)
		e.must(w.Abort())
		e.must(w.Abort())
		e.must(w.Close())
		e.wantExists("d/gone", false)
		e.wantList("d")
	}
}

func testSync(t *testing.T, e env) {
	var paths []string
	for i := range 20 {
		rel := fmt.Sprintf("deep/er/p=%d/f", i)
		w, err := e.fs.Create(e.ctx, e.path(rel))
		e.must(err)
		_, err = io.WriteString(w, "x")
		e.must(err)
		e.must(w.Close())
		paths = append(paths, e.path(rel))
	}
	e.must(e.fs.Sync(e.ctx, paths...))
	e.must(e.fs.Sync(e.ctx))
	e.wantContent("deep/er/p=7/f", "x")
}

func testCancelled(t *testing.T, e env) {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	p := e.path("f")
	_, openErr := e.fs.Open(ctx, p)
	_, statErr := e.fs.Stat(ctx, p)
	var listErr error
	for _, err := range e.fs.List(ctx, e.root) {
		listErr = err
	}
	for name, err := range map[string]error{
		"Open": openErr, "Stat": statErr, "List": listErr,
		"Put":         e.fs.Put(ctx, p, nil),
		"PutIfAbsent": e.fs.PutIfAbsent(ctx, p, nil),
		"Delete":      e.fs.Delete(ctx, p),
		"Rename":      e.fs.Rename(ctx, p, p+"2"),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	e.wantExists("f", false)
}
