package agg

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFoldInParts folds rows at once, and the first of them, then what they gave with the others: compactions and write
// buffers fold versions of a key in any parts that follow each other.
func TestFoldInParts(t *testing.T) {
	numbers := []string{"null", "0", "1", "2", "-1"}
	texts := []string{"null", `""`, `"a"`, `"b;a"`, `"c"`}
	lists := []string{"null", "[]", "[1]", "[2,1,1]", "[null,3]"}
	maps := []string{"null", "[]", `[{"key":"a","value":1}]`, `[{"key":"b","value":2},{"key":"a","value":3}]`, `[{"key":"c","value":null}]`}
	rows := []string{"null", "[]", `[{"k":1,"v":"a"},null]`, `[{"k":2,"v":"b"},{"k":1,"v":null}]`, `[{"k":1,"v":"c"},{"k":null,"v":"d"}]`}
	timed := []string{"null", "[]", `[{"key":"a","value":{"n":1,"t":"1"}}]`, `[{"key":"a","value":{"n":2,"t":"2"}},{"key":"b","value":null}]`, `[{"key":"a","value":null},{"key":"b","value":{"n":3,"t":null}}]`}
	const array, table = "ARRAY<INT>", "ARRAY<ROW<k INT,v STRING>>"
	for _, c := range []struct {
		fn, typ, options string
		values           []string
	}{
		{"sum", "BIGINT", "", numbers},
		{"product", "BIGINT", "", numbers},
		{"max", "INT", "", numbers},
		{"min", "STRING", "", texts},
		{"bool_and", "BOOLEAN", "", []string{"null", "true", "false"}},
		{"bool_or", "BOOLEAN", "", []string{"null", "true", "false"}},
		{"first_value", "INT", "", numbers},
		{"first_non_null_value", "INT", "", numbers},
		{"last_value", "INT", "", numbers},
		{"last_non_null_value", "INT", "", numbers},
		{"listagg", "STRING", "list-agg-delimiter=;", texts},
		{"listagg", "STRING", "list-agg-delimiter=; distinct=true", texts},
		{"collect", array, "", lists},
		{"collect", array, "distinct=true", lists},
		{"merge_map", "MAP<STRING,INT>", "", maps},
		{"merge_map_with_keytime", "MAP<STRING,ROW<n INT,t STRING>>", "", timed},
		{"nested_update", table, "", rows},
		{"nested_update", table, "count-limit=3", rows},
		{"nested_update", table, "nested-key=k count-limit=2", rows},
		{"nested_update", table, "nested-key=k nested-sequence-field=v", rows},
		{"nested_update", table, "nested-key=k nested-key-null-strategy=ignore", rows},
		{"nested_partial_update", table, "nested-key=k", rows},
	} {
		options := map[string]string{}
		for o := range strings.FieldsSeq(c.options) {
			k, v, _ := strings.Cut(o, "=")
			options[k] = v
		}
		rapid.Check(t, func(rt *rapid.T) {
			all := rapid.SliceOfN(rapid.SampledFrom(c.values), 1, 6).Draw(rt, "rows")
			n := rapid.IntRange(1, len(all)).Draw(rt, "first")
			give := func(rows []string) string {
				got, err := fold(t, c.fn, c.typ, options, "+"+strings.Join(rows, " +"))
				if err != nil {
					rt.Fatal(err)
				}
				got = strings.ReplaceAll(got, "\n", "")
				return strings.ReplaceAll(got[1:len(got)-1], " ", "")
			}
			want := give(all)
			if got := give(slices.Concat([]string{give(all[:n])}, all[n:])); got != want {
				rt.Fatalf("%s %s: %v, the first %d first: %s, at once %s", c.fn, c.options, all, n, got, want)
			}
		})
	}
}
