package expire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// B047, by chance: commits, tags of any snapshot that is there, expiry and deletion of tags in any order. After each step
// there are exactly the files that the snapshots and tags that are left need.
func TestTagsByChance(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		e := memEnv(t)
		var tags []string
		for step := range 60 {
			what := "commit"
			switch n := r.IntN(10); {
			case n < 5 || e.n == 0:
				switch i := int(e.n) + 1; {
				case len(e.live) > 0 && r.IntN(4) == 0:
					e.compact(fmt.Sprintf("c%03d", i), r.IntN(2) == 0)
				default:
					e.add(fmt.Sprintf("f%03d", i))
				}
			case n < 7:
				ids, err := e.table.Snapshots.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				id := ids[r.IntN(len(ids))]
				name := fmt.Sprintf("t%c%d", 'a'+rune(r.IntN(26)), step)
				what = fmt.Sprintf("tag %s of %d", name, id)
				e.tag(name, id)
				tags = append(tags, name)
			case n < 9:
				o := Options{RetainMin: 1 + r.IntN(3), TimeRetained: -1, Limit: 1 + r.IntN(8)}
				what = fmt.Sprintf("expire %d, %d", o.RetainMin, o.Limit)
				e.expire(o)
			case len(tags) > 0:
				i := r.IntN(len(tags))
				what = "delete " + tags[i]
				if _, err := DeleteTag(t.Context(), e.table, tags[i]); err != nil {
					t.Fatal(err)
				}
				tags = slices.Delete(tags, i, i+1)
			}
			e.exact(fmt.Sprintf("seed %d, step %d: %s, snapshots %s, tags %v", seed, step, what, e.ids(), tags))
		}
	}
}
