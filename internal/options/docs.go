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
	b.WriteString("# Table options\n\nGenerated from their declarations (`internal/options`). Names and defaults are those of the format. Options\nthat are not listed are kept in tables and have no effect here; one that is almost spelled as an option of the format is warned of,\nand refused where it is given for a single read or write.\n\n| option | type | default | meaning |\n| --- | --- | --- | --- |\n")
	line := func(i info) {
		doc := i.doc
		if i.immutable {
			doc += " Cannot be changed once there are files."
		}
		if len(i.aliases) > 0 {
			doc += " Older name: `" + strings.Join(i.aliases, "`, `") + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", i.key, i.typ, i.text, doc)
	}
	for _, k := range slices.Sorted(maps.Keys(declared)) {
		i, _ := declared[k](Options{})
		line(i)
	}
	b.WriteString("\n## Options of columns\n\nThe key has the column in it: `fields.<column>.<option>`. All but `stats-mode` are of the merge engines\n`aggregation` and `partial-update`.\n\n| option | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, o := range columnOptions {
		fmt.Fprintf(&b, "| `fields.<column>.%s` | %s | %s | %s |\n", o.suffix, o.typ, o.text, o.doc)
	}
	return b.String()
}
