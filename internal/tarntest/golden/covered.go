package golden

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
)

// Exception is a line of a list of reads that are not as the golden tables have them.
type Exception struct {
	// Pattern is a glob (path.Match) of the case's ID, a slash, and the name of the read. A slash in
	// it stands for itself.
	Pattern string
	// Difference: tarn deliberately reads something else. Otherwise it must refuse to read.
	Difference bool
	// Reason names what is missing, or the difference.
	Reason string
	// Matches counts the reads found so far.
	Matches int
}

// Exceptions reads such a list. Empty lines and lines that start with # say nothing; a line
// "== reason" or "!= difference" starts a group, every other line is the pattern of one.
func Exceptions(t testing.TB, file string) []*Exception {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*Exception
	var group *Exception
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if kind, reason, ok := strings.Cut(line, "= "); ok && (kind == "=" || kind == "!") {
			group = &Exception{Difference: kind == "!", Reason: reason}
			continue
		}
		if group == nil {
			t.Fatalf("%s:%d: the pattern %s belongs to no reason", file, n, line)
		}
		if _, err := path.Match(line, ""); err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		out = append(out, &Exception{Pattern: line, Difference: group.Difference, Reason: group.Reason})
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Find gives the exception for a read, nil if there is none. A read that two patterns match fails the
// test: the list says everything once.
func Find(t testing.TB, list []*Exception, c *Case, r *Read) *Exception {
	t.Helper()
	name := c.ID + "/" + r.Name
	var found *Exception
	for _, e := range list {
		if ok, _ := path.Match(e.Pattern, name); !ok {
			continue
		}
		e.Matches++
		if found != nil {
			t.Errorf("%s is listed twice: %s and %s", name, describe(found), describe(e))
		}
		found = e
	}
	return found
}

func describe(e *Exception) string { return fmt.Sprintf("%s (%s)", e.Pattern, e.Reason) }
