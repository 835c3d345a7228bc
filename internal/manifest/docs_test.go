package manifest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The pages on manifests name every field that is written, and none that is not.
func TestDocsNameTheFields(t *testing.T) {
	names := regexp.MustCompile(`"name":"(_[A-Z_]+|f[0-9])"`)
	rows := regexp.MustCompile(`(?m)^\|[^|]*\|`)
	quoted := regexp.MustCompile("`(_[A-Z_]+)`")
	for page, schema := range map[string]string{
		"manifest.md":       entrySchema(Latest, &extras{}),
		"manifest-list.md":  listSchema(Latest, &extras{}),
		"index-manifest.md": indexSchema(Latest, "", &extras{}),
	} {
		text, err := os.ReadFile("../../docs/format/" + page)
		if err != nil {
			t.Fatal(err)
		}
		written := map[string]bool{}
		for _, m := range names.FindAllStringSubmatch(schema, -1) {
			written[m[1]] = true
			if !strings.Contains(string(text), "`"+m[1]+"`") {
				t.Errorf("%s does not name %s", page, m[1])
			}
		}
		for _, cell := range rows.FindAllString(string(text), -1) {
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				if !written[m[1]] {
					t.Errorf("%s names %s, which is not written", page, m[1])
				}
			}
		}
	}
}
