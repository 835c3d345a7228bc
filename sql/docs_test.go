package sql_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocumented runs the statements of a page one after the other, and holds it to the results that it names.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/keyed-tables.md")
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, true)
	blocks := strings.Split(string(text), "```sql\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of statements", len(blocks))
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		var statement, expected []string
		check := func() {
			got := ""
			if len(statement) > 0 {
				got = strings.TrimSpace(must(t, s, strings.Join(statement, "\n")))
			}
			if w := strings.Join(expected, "\n"); len(expected) > 0 && got != w {
				t.Errorf("%s\ngives\n%s\nthe page says\n%s", strings.Join(statement, "\n"), got, w)
			}
			statement, expected = nil, nil
		}
		for line := range strings.Lines(b) {
			line = strings.TrimRight(line, "\n")
			if row, ok := strings.CutPrefix(line, "-- => "); ok {
				expected = append(expected, row)
				continue
			}
			if len(statement) > 0 && strings.Contains(statement[len(statement)-1], ";") {
				check()
			}
			statement = append(statement, line)
		}
		check()
	}
}
