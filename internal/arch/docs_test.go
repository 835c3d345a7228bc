package arch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/dependencies.md names each direct dependency of go.mod, with its version, and no other.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(string(mod), -1) {
		want = append(want, m[1]+" "+m[2])
	}
	text, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !strings.Contains(cells[1], "/") && !strings.Contains(cells[1], ".") {
			continue
		}
		modules, versions := strings.Split(cells[1], ","), strings.Split(cells[2], ",")
		if len(modules) != len(versions) {
			t.Errorf("%s: %d modules, %d versions", cells[1], len(modules), len(versions))
			continue
		}
		for i := range modules {
			got = append(got, strings.TrimSpace(modules[i])+" "+strings.TrimSpace(versions[i]))
		}
		for _, c := range cells[3:6] {
			if strings.TrimSpace(c) == "" {
				t.Errorf("%s: nothing is said of release, licence or purpose", strings.TrimSpace(cells[1]))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("go.mod requires\n%s\ndocs/dependencies.md has\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}
