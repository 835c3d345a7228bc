package fileio_test

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
)

func write(t *testing.T, fs fileio.FS, path, data string) fileio.Writer {
	t.Helper()
	w, err := fs.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content is the content of a file, or "-" if there is none.
func content(t *testing.T, fs fileio.FS, path string) string {
	t.Helper()
	data, err := fileio.ReadFile(t.Context(), fs, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return "-"
	}
	must(t, err)
	return string(data)
}

func TestCrashCloneKeepsWhatIsDurable(t *testing.T) {
	ctx := t.Context()
	m := fileio.NewMem(fileio.MemOptions{})
	must(t, m.PutIfAbsent(ctx, "t/snapshot-1", []byte("one")))
	must(t, m.Put(ctx, "t/LATEST", []byte("1")))
	must(t, write(t, m, "t/synced", "data").Close())
	must(t, m.Sync(ctx, "t/synced"))
	must(t, m.Rename(ctx, "t/snapshot-1", "t/renamed"))
	must(t, m.Put(ctx, "t/deleted", nil))
	must(t, m.Delete(ctx, "t/deleted"))
	c := m.CrashClone()
	for path, want := range map[string]string{
		"t/renamed": "one", "t/LATEST": "1", "t/synced": "data", "t/snapshot-1": "-", "t/deleted": "-",
	} {
		if got := content(t, c, path); got != want {
			t.Errorf("%s after the crash: %q, want %q", path, got, want)
		}
	}
}

func TestCrashCloneLosesWhatIsNot(t *testing.T) {
	m := fileio.NewMem(fileio.MemOptions{})
	const whole = "0123456789"
	seen := map[string]int{}
	for i := range 30 {
		must(t, write(t, m, fmt.Sprintf("t/f%d", i), whole).Close())
	}
	late := write(t, m, "t/late", whole)
	must(t, m.Sync(t.Context(), "t/late"))
	_, err := late.Write([]byte("after the sync"))
	must(t, err)
	c, again := m.CrashClone(), m.CrashClone()
	for i := range 30 {
		path := fmt.Sprintf("t/f%d", i)
		got := content(t, c, path)
		seen[got]++
		if other := content(t, again, path); other != got {
			t.Errorf("%s: %q in one clone and %q in the other", path, got, other)
		}
		if content(t, m, path) != whole {
			t.Errorf("%s: the original changed", path)
		}
	}
	if len(seen) != 3 || seen["-"] == 0 || seen[""] == 0 || seen["01234"] == 0 {
		t.Errorf("outcomes %v, want gone, empty and half", seen)
	}
	if got := content(t, c, "t/late"); got == whole+"after the sync" {
		t.Errorf("bytes written after Sync survived")
	}
	must(t, write(t, c, "t/new", "x").Close())
	if content(t, m, "t/new") != "-" {
		t.Error("the clone shares its folders with the original")
	}
}

func TestLocalListPassesOverTemporaryFiles(t *testing.T) {
	fs := fileio.NewLocal(fileio.LocalOptions{})
	dir := t.TempDir()
	must(t, fs.Put(t.Context(), dir+"/"+fileio.TempPrefix+"0123", nil))
	must(t, fs.Put(t.Context(), dir+"/f", nil))
	var names []string
	for info, err := range fs.List(t.Context(), dir) {
		must(t, err)
		names = append(names, info.Name())
	}
	if len(names) != 1 || names[0] != "f" {
		t.Errorf("listed %q", names)
	}
}

func TestCreateRefusesTakenNames(t *testing.T) {
	for name, fs := range map[string]fileio.FS{"local": fileio.NewLocal(fileio.LocalOptions{}), "mem": fileio.NewMem(fileio.MemOptions{})} {
		path := t.TempDir() + "/f"
		must(t, fs.Put(context.Background(), path, []byte("kept")))
		if _, err := fs.Create(t.Context(), path); !errors.Is(err, iofs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if got := content(t, fs, path); got != "kept" {
			t.Errorf("%s: the file holds %q", name, got)
		}
	}
}
