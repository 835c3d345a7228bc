package agg

import (
	"strings"
	"testing"
)

// TestFoldNested folds lists and maps. Maps are in JSON as Arrow writes them.
func TestFoldNested(t *testing.T) {
	const m = "MAP<STRING,INT>"
	const timed = "MAP<STRING,ROW<n INT,t STRING>>"
	kv := strings.NewReplacer("{", `{"key":"`, "=", `","value":`)
	kt := strings.NewReplacer("{", `{"key":"`, "=", `","value":{"n":`, "@", `,"t":"`, "}", `"}}`, "!", `","value":null}`, "?", `,"t":null}}`)
	for _, c := range []struct {
		fn, typ, options, rows, want string
		r                            *strings.Replacer
	}{
		{"collect", "ARRAY<INT>", "", "+[1,2] +[2] +null|+null|+[]|+[1] <[0] +[null]|", "[[1,2,2],null,[],[1,0,null],null]", nil},
		{"collect", "ARRAY<INT>", "", "+[1,2,1,null] -[1,null,5] -null -[]|-[1] +[2]|+[1] -[1]|-[1]", "[[2,1],[2],[],null]", nil},
		{"collect", "ARRAY<STRING>", "distinct=true", `+["b","a","b"] +["a","c"]|+["a"] <["b","a"]|+["a",null] +[null] -["a"] +["d"]|+null`, `[["b","a","c"],["a","b"],[null,"d"],null]`, nil},
		{"collect", "ARRAY<DOUBLE>", "distinct=true", "+[0.0,-0.0,0.5] +[0.5]", "[[0,-0,0.5]]", nil},
		{"collect", "ARRAY<BYTES>", "distinct=true", `+["AQ=="] +["AQ==","Ag=="]`, `[["AQ==","Ag=="]]`, nil},
		{"collect", "ARRAY<ROW<a INT,b STRING>>", "distinct=true", `+[{"a":1,"b":"x"},{"a":1,"b":null}] +[{"a":1,"b":"x"}] -[{"a":1,"b":null}]`, `[[{"a":1,"b":"x"}]]`, nil},
		{"collect", "ARRAY<ARRAY<INT>>", "distinct=true", "+[[1,2],[1],[]] +[[1],[2,1],null]", "[[[1,2],[1],[],[2,1],null]]", nil},
		{"collect", "INT", "", "", "!collect is for columns that are ARRAY", nil},
		{"merge_map", m, "", `+[{a=1},{b=2}] +[{a=3},{c=null}]|+null|+[{a=1}] <[{a=0},{z=9}]|+[]`, `[[{a=3},{b=2},{c=null}],null,[{a=1},{z=9}],[]]`, kv},
		{"merge_map", m, "", `+[{a=1},{b=2}] -[{a=7}] -null +[{d=4}]|-[{a=1}] +[{a=2}]|+[{a=1}] -[{a=1}]`, `[[{b=2},{d=4}],[{a=2}],[]]`, kv},
		{"merge_map", "ARRAY<INT>", "", "", "!merge_map is for columns that are MAP", nil},
		{"merge_map_with_keytime", timed, "", `+[{a=1@2},{b=2@2}] +[{a=3@1},{b=4@3},{c=5?]|+[{a=1?,{b!] +[{a=2@1},{b=3@1}]|+[{a=1@9}] +[{a!,{b!]|+[{a=1@5}] +[{a=2@5}]`, `[[{a=1@2},{b=4@3}],[{a=2@1},{b=3@1}],[],[{a=1@5}]]`, kt},
		{"merge_map_with_keytime", timed, "", `+[{a=1@2}] <[{a=3@2},{b!]|+[{a=1@3}] <[{a=3@2}]`, `[[{a=3@2},{b!],[{a=1@3}]]`, kt},
		{"merge_map_with_keytime", timed, "ts-field=x", "", `!have no field "x"`, nil},
		{"merge_map_with_keytime", timed, "ts-field=n", "", "!times are texts, but the field \"n\" has type INT", nil},
		{"merge_map_with_keytime", m, "", "", "!with two or more fields in the row, not for type MAP<STRING, INT>", nil},
	} {
		if c.r != nil {
			c.rows, c.want = c.r.Replace(c.rows), c.r.Replace(c.want)
		}
		options := map[string]string{}
		for o := range strings.FieldsSeq(c.options) {
			k, v, _ := strings.Cut(o, "=")
			options[k] = v
		}
		got, err := fold(t, c.fn, c.typ, options, c.rows)
		got = strings.ReplaceAll(got, "\n", "")
		if want, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %s, %v; want the error %q", c.fn, c.typ, got, err, want)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s of %s %s (%s):\n %s, %v; want\n %s", c.fn, c.typ, c.options, c.rows, got, err, c.want)
		}
	}
}
