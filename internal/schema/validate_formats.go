package schema

import (
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/options"
)

// formats checks that files of all formats that the table asks for can hold its columns.
func (v *validation) formats() {
	avroBy := ""
	for _, o := range []*options.Option[string]{options.FileFormat, options.ChangelogFormat} {
		if strings.EqualFold(o.Get(v.opts), "avro") {
			avroBy = o.Key()
		}
	}
	levels, err := options.PerLevel(options.FormatPerLevel, v.opts)
	if err != nil {
		return // told by the option
	}
	for _, f := range levels {
		if strings.EqualFold(f, "avro") {
			avroBy = options.FormatPerLevel.Key()
		}
	}
	if avroBy == "" {
		return
	}
	for _, f := range v.s.Fields {
		for _, err := range slices.DeleteFunc([]error{avro.CheckName(f.Name), avro.CheckType(f.Type)}, func(err error) bool { return err == nil }) {
			v.add("option %s=avro: column %s: %w", avroBy, f.Name, err)
		}
	}
}
