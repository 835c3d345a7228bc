package cdc_test

import (
	"strings"

	"github.com/tarnlake/tarn/types"
)

func mustType(s string) types.Type { return types.MustParse(s) }

// mustFields reads columns: "id INT NOT NULL, v STRING".
func mustFields(s string) []types.Field {
	var out []types.Field
	for i, c := range strings.Split(s, ", ") {
		name, typ, _ := strings.Cut(c, " ")
		out = append(out, types.Field{ID: i, Name: name, Type: types.MustParse(typ)})
	}
	return out
}
