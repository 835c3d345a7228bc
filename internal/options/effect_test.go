package options

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// An option that is declared and that no code reads would promise what nobody does. Those of features
// that are refused by name are marked as parts of these; all others have to be read outside of this package,
// and not only to be validated.
func TestEveryOptionHasAnEffect(t *testing.T) {
	names := declarations(t)
	if len(names) < 100 {
		t.Fatalf("only %d declarations found", len(names))
	}
	used := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); strings.HasPrefix(n, ".") && n != ".." && n != "../.." || n == "testdata" || path == "../../internal/options" || path == "../../bench" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "validate_options.go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.SelectorExpr:
				if p, ok := x.X.(*ast.Ident); ok && p.Name == "options" {
					used[x.Sel.Name] = true
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(x.Value); err == nil {
					used[s] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range names {
		if key == "" {
			continue // of a column
		}
		i, _ := declared[key](Options{})
		if i.key == "" {
			t.Errorf("option %s is not declared", key)
		}
		if !used[name] && !used[key] {
			t.Errorf("option %s (%s) is declared and read by nobody: give it an effect, or do not declare it", key, name)
		}
	}
}

// declarations gives the key of each exported variable that declares an option; "" for options of columns.
func declarations(t *testing.T) map[string]string {
	out := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`^(integer|long|boolean|str|size|duration|enum|list|bucketNumber|fraction|perColumn)$`)
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if len(v.Values) != 1 || !v.Names[0].IsExported() {
					continue
				}
				ast.Inspect(v.Values[0], func(n ast.Node) bool {
					c, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					kind, ok := c.Fun.(*ast.Ident)
					if !ok || !kinds.MatchString(kind.Name) {
						return true
					}
					key, err := strconv.Unquote(c.Args[0].(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					if kind.Name == "perColumn" {
						key = ""
					}
					out[v.Names[0].Name] = key
					return false
				})
			}
		}
	}
	return out
}
