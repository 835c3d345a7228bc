package jsonobj

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTake(t *testing.T) {
	id, name := 5, "none"
	rest, err := Take([]byte(`{"ID": 1, "id": 2, "Id": 3, "NAME": "x", "name": null}`), map[string]any{"id": &id, "name": &name})
	if err != nil || id != 2 || name != "none" {
		t.Errorf("id %d, name %s, %v", id, name, err)
	}
	got := map[string]string{}
	for k, v := range rest {
		got[k] = string(v)
	}
	if d := cmp.Diff(map[string]string{"ID": "1", "Id": "3", "NAME": `"x"`}, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		`{"id": "x"}`: `member "id"`, `null`: "null", `[]`: "array", `{"id": 1`: "unexpected end",
	} {
		if _, err := Take([]byte(text), map[string]any{"id": &id}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
