package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var mapEntry = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// TestArchitectureMap fails if a package is missing in the file map of ARCHITECTURE.md, or the map
// names one that does not exist.
func TestArchitectureMap(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range mapEntry.FindAllSubmatch(text, -1) {
		listed = append(listed, string(m[1]))
	}
	var have []string
	for _, p := range packages(t) {
		have = append(have, short(p.ImportPath))
	}
	for _, p := range have {
		if !slices.ContainsFunc(listed, func(name string) bool { return covers(name, p) }) {
			t.Errorf("%s is not in the map of ARCHITECTURE.md", p)
		}
	}
	for _, name := range listed {
		if !slices.ContainsFunc(have, func(p string) bool { return covers(name, p) }) {
			t.Errorf("ARCHITECTURE.md names %s, which has no package", name)
		}
	}
}
