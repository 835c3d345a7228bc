package mergefn

import (
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/types"
)

func TestUnknownEngineNamesTheKnownOnes(t *testing.T) {
	for name, want := range map[string]string{
		"dedup": `unknown merge-engine "dedup" (known: aggregation, deduplicate, first-row, partial-update)`,
	} {
		if _, err := New(name, Config{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, name := range []string{"", "deduplicate", "DEDUPLICATE"} {
		if _, err := New(name, Config{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDeduplicate(t *testing.T) {
	// Three keys: +I +U; +I -D; -U alone.
	kinds := []types.RowKind{types.Insert, types.UpdateAfter, types.Insert, types.Delete, types.UpdateBefore}
	in := &Input{Groups: &kv.Groups{Ends: []int32{2, 4, 5}}, Kinds: make([][]int8, 1)}
	for i, k := range kinds {
		in.Refs = append(in.Refs, batch.Ref{Row: int32(i)})
		in.Kinds[0] = append(in.Kinds[0], int8(k))
	}
	for _, c := range []struct {
		name string
		c    Config
		want []int32
	}{
		{"newest", Config{}, []int32{1, 3, 4}},
		{"ignore-delete", Config{IgnoreDelete: true}, []int32{1, 2}},
		{"ignore-update-before", Config{IgnoreUpdateBefore: true}, []int32{1, 3}},
	} {
		e, err := New("deduplicate", c.c)
		if err != nil {
			t.Fatal(err)
		}
		out, err := e.Merge(in)
		if err != nil {
			t.Fatal(err)
		}
		var got []int32
		for _, r := range out.Rows {
			got = append(got, r.Row)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got rows %v, want %v", c.name, got, c.want)
		}
	}
}
