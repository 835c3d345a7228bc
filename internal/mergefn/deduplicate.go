package mergefn

import (
	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// deduplicate keeps the newest version of each key.
type deduplicate struct {
	ignoreDelete, ignoreUpdateBefore bool
}

func newDeduplicate(c Config) (Engine, error) {
	return deduplicate{c.IgnoreDelete, c.IgnoreUpdateBefore}, nil
}

func (d deduplicate) ignores() bool { return d.ignoreDelete || d.ignoreUpdateBefore }

func (deduplicate) Needs([]string) []string { return nil }
func (d deduplicate) NeedsKinds() bool      { return d.ignores() }
func (d deduplicate) Identity() bool        { return !d.ignores() }
func (deduplicate) PreMerge() bool          { return true }

// Merge implements Engine. Deletes that are ignored may be in files all the same, from before the
// option was set, so they are looked for whenever rows are merged (BUGS B031).
func (d deduplicate) Merge(in *Input) (*Output, error) {
	if d.ignores() && in.Kinds != nil {
		return d.mergeSome(in), nil
	}
	if len(in.Ends) == len(in.Refs) {
		return &Output{Rows: in.Refs}, nil
	}
	rows := make([]batch.Ref, len(in.Ends))
	refs := in.Refs
	for i, end := range in.Ends[:len(rows)] {
		rows[i] = refs[end-1]
	}
	return &Output{Rows: rows}, nil
}

func (d deduplicate) mergeSome(in *Input) *Output {
	rows := make([]batch.Ref, 0, len(in.Ends))
	from := int32(0)
	for _, end := range in.Ends {
		for i := end - 1; i >= from; i-- {
			k := in.Kind(in.Refs[i])
			if d.ignoreDelete && k.IsRetract() || d.ignoreUpdateBefore && k == types.UpdateBefore {
				continue
			}
			rows = append(rows, in.Refs[i])
			break
		}
		from = end
	}
	return &Output{Rows: rows}
}
