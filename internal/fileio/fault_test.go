package fileio_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/fstest"
)

func TestFaultPassesConformance(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fileio.FS, string) {
		return fileio.NewFault(fileio.NewMem(fileio.MemOptions{})), "/lake"
	})
}

// history is a short one with every mutating call.
func history(ctx context.Context, fs fileio.FS) error {
	w, err := fs.Create(ctx, "d/data") // 1
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte("01234567")); err != nil { // 2
		return errors.Join(err, w.Abort())
	}
	if err := w.Close(); err != nil { // 3
		return err
	}
	if err := fs.Sync(ctx, "d/data"); err != nil { // 4
		return err
	}
	if err := fs.PutIfAbsent(ctx, "s/1", []byte("one")); err != nil { // 5
		return err
	}
	if err := fs.Put(ctx, "s/hint", []byte("1")); err != nil { // 6
		return err
	}
	if err := fs.Rename(ctx, "s", "r"); err != nil { // 7
		return err
	}
	return fs.Delete(ctx, "r") // 8
}

func TestFaultCountsAndFails(t *testing.T) {
	const calls = 8
	fault := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
	must(t, history(t.Context(), fault))
	if got := fault.Mutations(); got != calls {
		t.Fatalf("%d mutating calls, want %d", got, calls)
	}
	for k := 1; k <= calls; k++ {
		for _, fate := range []fileio.Fate{fileio.FailBefore, fileio.FailAfter, fileio.FailHalf, fileio.StopBefore, fileio.StopAfter, fileio.StopHalf} {
			fault := fileio.NewFault(fileio.NewMem(fileio.MemOptions{}))
			fault.FailAt(k, fate)
			err := history(t.Context(), fault)
			want := fileio.ErrInjected
			if fate >= fileio.StopBefore {
				want = fileio.ErrCrashed
			}
			if !errors.Is(err, want) {
				t.Errorf("call %d, %v: %v", k, fate, err)
			}
			_, err = fault.Stat(t.Context(), "d")
			if fault.Crashed() != (fate >= fileio.StopBefore) || fault.Crashed() != errors.Is(err, fileio.ErrCrashed) {
				t.Errorf("call %d, %v: crashed %v, then Stat: %v", k, fate, fault.Crashed(), err)
			}
		}
	}
}

func TestFaultEffects(t *testing.T) {
	for _, c := range []struct {
		k    int
		fate fileio.Fate
		want map[string]string
	}{
		{2, fileio.StopBefore, map[string]string{"d/data": ""}},
		{2, fileio.StopHalf, map[string]string{"d/data": "0123"}},
		{2, fileio.StopAfter, map[string]string{"d/data": "01234567"}},
		{2, fileio.FailHalf, map[string]string{"d/data": "-"}}, // the history aborts
		{5, fileio.FailBefore, map[string]string{"s/1": "-"}},
		{5, fileio.FailHalf, map[string]string{"s/1": "-"}},
		{5, fileio.FailAfter, map[string]string{"s/1": "one"}},
		{7, fileio.FailHalf, map[string]string{"s/1": "one", "r/1": "one", "s/hint": "1", "r/hint": "-"}},
		{8, fileio.FailHalf, map[string]string{"r/1": "-", "r/hint": "1"}},
		{8, fileio.FailAfter, map[string]string{"r/1": "-", "r/hint": "-"}},
	} {
		mem := fileio.NewMem(fileio.MemOptions{})
		fault := fileio.NewFault(mem)
		fault.CopyRename = true
		fault.FailAt(c.k, c.fate)
		if err := history(t.Context(), fault); err == nil {
			t.Errorf("call %d, %v: no error", c.k, c.fate)
		}
		for path, want := range c.want {
			if got := content(t, mem, path); got != want {
				t.Errorf("call %d, %v: %s holds %q, want %q", c.k, c.fate, path, got, want)
			}
		}
	}
}

func TestFaultDecide(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	fault := fileio.NewFault(mem)
	var ops []string
	fault.Decide(func(c fileio.Call) fileio.Fate {
		ops = append(ops, c.Op+" "+c.Path)
		if c.Op == "PutIfAbsent" {
			return fileio.FailAfter // a timeout after success
		}
		return fileio.Pass
	})
	if err := fault.PutIfAbsent(t.Context(), "a", []byte("x")); !errors.Is(err, fileio.ErrInjected) {
		t.Fatal(err)
	}
	if got := content(t, fault, "a"); got != "x" {
		t.Errorf("content %q", got)
	}
	if len(ops) != 3 || ops[0] != "PutIfAbsent a" || ops[1] != "Open a" || ops[2] != "ReadRanges a" {
		t.Errorf("calls %q", ops)
	}
	fault.FailReadAt(fault.Reads()+2, fileio.FailBefore)
	if _, err := fileio.ReadFile(t.Context(), fault, "a"); !errors.Is(err, fileio.ErrInjected) {
		t.Errorf("second read: %v", err)
	}
}
