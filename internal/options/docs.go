package options

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Docs is the page of all options, in Markdown.
func Docs() string {
	var b strings.Builder
	b.WriteString("# Table options\n\nGenerated from their declarations (`internal/options`). Names and defaults are those of the format. Options\nthat are not listed are kept in tables and have no effect here.\n\n| option | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, k := range slices.Sorted(maps.Keys(declared)) {
		i, _ := declared[k](Options{})
		doc := i.doc
		if i.immutable {
			doc += " Cannot be changed once there are files."
		}
		if len(i.aliases) > 0 {
			doc += " Older name: `" + strings.Join(i.aliases, "`, `") + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k, i.typ, i.text, doc)
	}
	b.WriteString("\n## Options of columns\n\nThe key has the column in it: `fields.<column>.<option>`.\n\n| option | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, o := range columnOptions {
		fmt.Fprintf(&b, "| `fields.<column>.%s` | %s | %s | %s |\n", o.suffix, o.typ, o.text, o.doc)
	}
	return b.String()
}
