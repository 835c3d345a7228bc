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
	const rows = "ARRAY<ROW<k INT,v STRING>>"
	var r1, r2 []string // 1a is a row with k = 1, v = a; ~ is NULL, a second number is w
	for _, k := range "12349" {
		for _, v := range "~abcdez" {
			short, long := string(k)+string(v), `{"k":`+string(k)+`,"v":"`+string(v)+`"`
			long = strings.Replace(long, `"~"`, "null", 1)
			for _, w := range "56" {
				r2 = append(r2, short+string(w), long+`,"w":`+string(w)+"}")
			}
			r1, r2 = append(r1, short, long+"}"), append(r2, short, long+`,"w":null}`)
		}
	}
	kr, kw := strings.NewReplacer(r1...), strings.NewReplacer(r2...)
	for _, c := range []struct {
		fn, typ, options, rows, want string
		r                            *strings.Replacer
	}{
		{"collect", "ARRAY<INT>", "", "+[1,2] +[2] +null|+null|+[]|+[1] <[0] +[null]|", "[[1,2,2],null,[],[1,0,null],null]", nil},
		{"collect", "ARRAY<INT>", "", "+[1,2,1,null] -[1,null,5] -null -[]|-[1] +[2]|+[1] -[1]|-[1]", "[[2,1],[2],[],null]", nil},
		{"collect", "ARRAY<STRING>", "distinct=true", `+["b","a","b"] +["a","c"]|+["a"] <["b","a"]|+["a",null] +[null] -["a"] +["d"]|+null`, `[["a","c","b"],["a","b"],[null,"d"],null]`, nil},
		{"collect", "ARRAY<DOUBLE>", "distinct=true", "+[0.0,-0.0,0.5] +[0.5]", "[[0,-0,0.5]]", nil},
		{"collect", "ARRAY<BYTES>", "distinct=true", `+["AQ=="] +["AQ==","Ag=="]`, `[["AQ==","Ag=="]]`, nil},
		{"collect", "ARRAY<ROW<a INT,b STRING>>", "distinct=true", `+[{"a":1,"b":"x"},{"a":1,"b":null}] +[{"a":1,"b":"x"}] -[{"a":1,"b":null}]`, `[[{"a":1,"b":"x"}]]`, nil},
		{"collect", "ARRAY<ARRAY<INT>>", "distinct=true", "+[[1,2],[1],[]] +[[1],[2,1],null]", "[[[1,2],[1],[],[2,1],null]]", nil},
		{"collect", "INT", "", "", "!collect is for columns that are ARRAY", nil},
		{"merge_map", m, "", `+[{a=1},{b=2}] +[{a=3},{c=null}]|+null|+[{a=1}] <[{a=0},{z=9}]|+[]`, `[[{a=3},{c=null},{b=2}],null,[{z=9},{a=1}],[]]`, kv},
		{"merge_map", m, "", `+[{a=1},{b=2}] -[{a=7}] -null +[{d=4}]|-[{a=1}] +[{a=2}]|+[{a=1}] -[{a=1}]`, `[[{d=4},{b=2}],[{a=2}],[]]`, kv},
		{"merge_map", "ARRAY<INT>", "", "", "!merge_map is for columns that are MAP", nil},
		{"nested_update", rows, "", `+[1a] +[2b,1a,null] +null|+[1a,2b,1a] -[1a]|+null|-[1a]|+[1a] <[2b]|+[null]`, `[[1a,2b,1a],[2b],null,null,[2b,1a],[]]`, kr},
		{"nested_update", rows, "count-limit=2", `+[1a] +[2b,3c]|+[1a,2b,3c]|+[1a] <[2b,3c,4d]`, `[[1a,2b],[1a,2b],[2b,3c,4d]]`, kr},
		{"nested_update", rows, "nested-key=k", `+[1a,2b,1c] +[2d,3e]|+[1a,2b] -[1z,9z] +[1c]|+[1a,2b] <[1c,3d]`, `[[3e,2d,1c],[2b,1c],[3d,2b,1a]]`, kr},
		{"nested_update", rows, "nested-key=k count-limit=2", `+[1a,2b,3c] +[2d,4e]`, `[[2d,1a]]`, kr},
		{"nested_update", rows, "nested-key=k nested-sequence-field=v", `+[1b] +[1a,2~] +[2a,1~]|+[1b] <[1c]|+[1b] <[1a]`, `[[2a,1b],[1c],[1b]]`, kr},
		{"nested_update", rows, "nested-key=v", `+[1~,2~,3a]`, `[[2~,3a]]`, kr},
		{"nested_update", rows, "nested-key=v nested-key-null-strategy=ignore", `+[1~,3a] -[3~]`, `[[3a]]`, kr},
		{"nested_update", rows, "nested-key=v nested-key-null-strategy=error", `+[1~,3a]`, `!"v", of the key of nested rows, is NULL`, kr},
		{"nested_update", rows, "nested-sequence-field=v", "", "!nested-sequence-field needs the key", nil},
		{"nested_update", rows, "nested-key=x", "", `!have no field "x"`, nil},
		{"nested_update", "ARRAY<INT>", "", "", "!nested_update is for columns that are ARRAY<ROW<…>>", nil},
		{"nested_partial_update", "ARRAY<ROW<k INT,v STRING,w INT>>", "nested-key=k", `+[1a5,2b,null] +[1~6,2c]|+[1a] <[1c5,2d]|+null`, `[[2c,1a6],[2d,1a5],null]`, kw},
		{"nested_partial_update", rows, "", "", "!set the option nested-key", nil},
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
