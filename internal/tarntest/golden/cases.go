package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// Case is a warehouse and what is read from it.
type Case struct {
	// ID is the folder of the case: "tables/types/all-parquet", "bad/cut-schema".
	ID     string   `json:"-"`
	Title  string   `json:"title"`
	Writer string   `json:"writer"` // release that wrote it
	Note   string   `json:"note"`
	Tables []string `json:"tables"`
	Reads  []*Read  `json:"reads"`

	files []entry
}

// Read is one read of a case and what Paimon answered.
type Read struct {
	// Op is read, streamread, dump, dumpIndex, bucketof or statistics.
	Op        string            `json:"op"`
	Name      string            `json:"name"`
	Table     string            `json:"table"`
	Columns   []string          `json:"columns"`
	Filter    *Filter           `json:"filter"`
	Partition map[string]any    `json:"partition"`
	Limit     int64             `json:"limit"`
	Options   map[string]string `json:"options"` // of the scan
	// PushOnly reads show what is left when the filter only skips files. They are no requirement.
	PushOnly bool `json:"pushOnly"`
	// JavaError is set if the reading release failed. What is expected then came from the release
	// that wrote the table, if ExpectedFrom names one; otherwise nothing is.
	JavaError    string `json:"javaError"`
	ExpectedFrom string `json:"expectedFrom"`
	Expected     string `json:"expected"` // name in the file of expectations
	// Plans, of a streamread, are the plans that have rows; Restore is the snapshot that it goes on with, instead of its beginning.
	Plans   []Plan `json:"plans"`
	Restore int64  `json:"restore"`
	// SortedInPlan tells that the order of rows within a plan is not that in which Paimon gave them.
	SortedInPlan bool `json:"sortedInPlan"`
	// Want are the lines of the answer.
	Want []Line `json:"-"`
}

// Plan is what a streaming read gave at once, and the snapshot that would have come next.
type Plan struct {
	Plan int   `json:"plan"`
	Next int64 `json:"next"`
	Rows int   `json:"rows"`
}

// Fails tells that the read has no answer: Java fails and so must we.
func (r *Read) Fails() bool { return r.JavaError != "" && r.Expected == "" }

// Filter is a filter as the oracle writes it. Values are as json.Decoder.UseNumber gives them.
type Filter struct {
	Op     string    `json:"op"`
	Field  string    `json:"field"`
	Value  any       `json:"value"`
	Values []any     `json:"values"`
	Args   []*Filter `json:"args"`
}

// Line is one line of an answer.
type Line struct {
	Read string          `json:"read"`
	Plan int             `json:"plan"` // of a streamread
	Kind string          `json:"kind"` // +I, -U, +U, -D
	Row  json.RawMessage `json:"row"`
	// Raw is the whole line, for reads other than of rows.
	Raw json.RawMessage `json:"-"`
}

// Cases gives all cases, ordered by ID. Root is the root of the module.
func Cases(t testing.TB, root string) []*Case {
	t.Helper()
	files, err := load(root)
	if err != nil {
		t.Fatalf("golden tables: %v", err)
	}
	var out []*Case
	for _, id := range slices.Sorted(maps.Keys(files)) {
		c, err := parse(id, files[id])
		if err != nil {
			t.Fatalf("golden tables: %s: %v", id, err)
		}
		out = append(out, c)
	}
	return out
}

func parse(id string, files []entry) (*Case, error) {
	c := &Case{ID: id, files: files}
	lines := map[string][]Line{}
	for _, e := range files {
		switch e.name {
		case "case.json":
			d := json.NewDecoder(bytes.NewReader(e.data))
			d.UseNumber()
			if err := d.Decode(c); err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
		case "expected.jsonl":
			for text := range bytes.Lines(e.data) {
				l := Line{Raw: bytes.TrimSpace(text)}
				if err := json.Unmarshal(text, &l); err != nil {
					return nil, fmt.Errorf("%s: %w: %s", e.name, err, text)
				}
				lines[l.Read] = append(lines[l.Read], l)
			}
		}
	}
	for _, r := range c.Reads {
		r.Want = lines[r.Expected]
	}
	return c, nil
}
