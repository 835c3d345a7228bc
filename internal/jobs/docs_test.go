package jobs

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The page on files of jobs names every member.
func TestDocsNameTheMembers(t *testing.T) {
	text, err := os.ReadFile("../../docs/format/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Checkpoint](), reflect.TypeFor[TableState](), reflect.TypeFor[incarnationFile](), reflect.TypeFor[lease]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("the page does not name %s of %s", name, typ.Name())
			}
		}
	}
}
