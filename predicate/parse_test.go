package predicate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/types"
)

var parseFields = []types.Field{
	{Name: "id", Type: types.MustParse("BIGINT")},
	{Name: "s", Type: types.MustParse("STRING")},
	{Name: "d", Type: types.MustParse("DECIMAL(10,2)")},
	{Name: "when", Type: types.MustParse("DATE")},
	{Name: "f", Type: types.MustParse("DOUBLE")},
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"id = 1":                             "id = 1",
		"id=1 and s='it''s'":                 "(id = 1 AND s = 'it''s')",
		"id <> 1 OR NOT (s LIKE 'a%')":       "(id <> 1 OR NOT s LIKE 'a%')",
		"id IN (1, 2,3) AND s IS NOT NULL":   "(id IN (1, 2, 3) AND s IS NOT NULL)",
		"id BETWEEN 1 AND 3 AND s IS NULL":   "(id BETWEEN 1 AND 3 AND s IS NULL)",
		"f >= -1.5e+3":                       "f >= -1500",
		`"when" <= '1970-01-02'`:             "when <= '1970-01-02'",
		"s NOT IN ('a') or id != 2 and id<3": "(NOT s IN ('a') OR (id <> 2 AND id < 3))",
	} {
		p, err := Parse(text, parseFields)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprint(p); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestParseErrorsNameThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1":          `column 1: there is no column "x"; there are id, s`,
		"id = ":          "column 6: want a value",
		"id = 'a'":       "column 6: column id",
		"id = 1 id":      `column 8: more text: "id"`,
		"s = 'a":         "column 5: ' is not closed",
		"(id = 1":        "want )",
		"id":             "want a comparison",
		"id IS 3":        "want NULL",
		"id BETWEEN 1":   "want AND",
		"":               "want a column",
		"NOT":            "want a column",
		"id IN (1":       "want )",
		"d = 12345678.9": "",
	} {
		_, err := Parse(text, parseFields)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("id = 1 AND (s LIKE 'a' OR f < 1e-3)")
	f.Add("NOT NOT id in (1)")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Parse(text, parseFields); err == nil {
			if _, err := Bind(p, parseFields); err != nil {
				t.Fatalf("%s was parsed and cannot be bound: %v", text, err)
			}
		}
	})
}
