package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// The first snapshot's base list names no manifest: an empty list, not null.
func TestInspectEmptyList(t *testing.T) {
	wh := t.TempDir()
	var out, errOut bytes.Buffer
	for _, args := range [][]string{
		{"db", "create", "ods"}, {"table", "create", "ods.t", "--column", "id INT"}, {"write", "ods.t", "-"},
	} {
		if code := Main(append([]string{"-w", wh}, args...), strings.NewReader(`{"id":1}`), &out, &errOut); code != 0 {
			t.Fatalf("%v: %d: %s", args, code, errOut.String())
		}
	}
	lists, err := filepath.Glob(filepath.Join(wh, "ods.db", "t", "manifest", "manifest-list-*"))
	if err != nil || len(lists) != 2 {
		t.Fatal(lists, err)
	}
	empty := 0
	for _, l := range lists {
		out.Reset()
		a := newApp(strings.NewReader(""), &out, &errOut)
		if err := a.inspect(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(out.String()) == "[]" {
			empty++
		} else if !strings.HasPrefix(out.String(), "[\n") {
			t.Errorf("%s: %s", l, out.String())
		}
	}
	if empty != 1 {
		t.Errorf("%d of the lists are empty, want 1", empty)
	}
}
