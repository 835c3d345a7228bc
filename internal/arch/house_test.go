package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is the most lines of code, without blank ones and comments, that a file may have.
const maxLines = 500

// root is the folder of the module, seen from here.
const root = "../.."

// notOurs are folders that hold no code of the module.
var notOurs = []string{".git", "bin", "lake", "testdata", "target", "node_modules", "work"}

// sources calls f with each Go file of the module; name is relative to its root.
func sources(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && os.IsNotExist(err):
			return nil // an editor's temporary file
		case err != nil:
			return err
		case d.IsDir() && path != root && slices.Contains(notOurs, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil {
			f(filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var noCode = regexp.MustCompile(`^\s*(//.*)?$`)

// TestFileLength fails on a file that has grown out of its one concept.
func TestFileLength(t *testing.T) {
	sources(t, func(name string, text []byte) {
		n := 0
		for line := range bytes.Lines(text) {
			if !noCode.Match(bytes.TrimSuffix(line, []byte("\n"))) {
				n++
			}
		}
		if n > maxLines {
			t.Errorf("%s has %d lines of code, more than %d: give each concept its own file", name, n, maxLines)
		}
	})
}

var (
	grabBag = regexp.MustCompile(`(^|/)(utils?|common|helpers?|misc|shared|base)/`)
	skips   = regexp.MustCompile(`\b[tbf]\.Skip(f|Now)?\(`)
	sleeps  = regexp.MustCompile(`\btime\.Sleep\(`)
	// Spelled in parts, or this file would be the first to fail.
	open = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|not imple` + `mented|unimple` + `mented`)
)

// TestHouseRules fails on packages without a subject, tests that are skipped or sleep, and work that
// was left open.
func TestHouseRules(t *testing.T) {
	sources(t, func(name string, text []byte) {
		if grabBag.MatchString(name) {
			t.Errorf("%s: a package is named after its subject", name)
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if open.Match(line) {
				t.Errorf("%s:%d: finish it, or name it in the README: %s", name, n+1, bytes.TrimSpace(line))
			}
			if !strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/arch/") {
				continue
			}
			if skips.Match(line) {
				t.Errorf("%s:%d: no test is skipped: log what is missing and return, or fail under TARN_REQUIRE=all", name, n+1)
			}
			if sleeps.Match(line) {
				t.Errorf("%s:%d: no test sleeps: wait for what should happen, or use testing/synctest", name, n+1)
			}
		}
	})
}

var narrowTypes = regexp.MustCompile(`\btypes\.Arrow(Type|Field|Schema)\(`)

// TestRowsAreWide: within the module rows have the types of types.WideArrowType. Those of types.ArrowType are for
// users, and a column made of them loses the years that these cannot hold.
func TestRowsAreWide(t *testing.T) {
	sources(t, func(name string, text []byte) {
		if !strings.HasPrefix(name, "internal/") || strings.HasSuffix(name, "_test.go") || name == "internal/cli/output.go" {
			return
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if narrowTypes.Match(line) && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
				t.Errorf("%s:%d: rows have the types of types.WideArrow…: %s", name, n+1, bytes.TrimSpace(line))
			}
		}
	})
}
