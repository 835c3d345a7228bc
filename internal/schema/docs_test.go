package schema

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The page on schemas names every member, and its example is a schema.
func TestDocsNameTheMembers(t *testing.T) {
	text, err := os.ReadFile("../../docs/format/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	full := &Schema{Version: LatestVersion, Comment: "c", TimeMillis: 1}
	for m := range tree(t, full.Encode()) {
		if !strings.Contains(string(text), "| `"+m+"` |") {
			t.Errorf("the page does not name %s", m)
		}
	}
	_, example, _ := strings.Cut(string(text), "```json\n")
	example, _, ok := strings.Cut(example, "```")
	if !ok || !json.Valid([]byte(example)) {
		t.Fatal("no example")
	}
	s, err := Decode([]byte(example))
	if err != nil || string(s.Encode())+"\n" != example {
		t.Errorf("the example is not as it would be written: %v", err)
	}
}
