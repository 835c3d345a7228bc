package mergefn

import (
	"errors"

	"github.com/tarnlake/tarn/internal/batch"
)

// firstRow keeps the oldest version of each key.
type firstRow struct{ ignoreDelete bool }

func newFirstRow(c Config) (Engine, error) { return firstRow{c.IgnoreDelete}, nil }

func (firstRow) Needs([]string) []string { return nil }
func (firstRow) NeedsKinds() bool        { return true }
func (firstRow) Identity() bool          { return false }
func (firstRow) PreMerge() bool          { return true }

// Merge implements Engine. Deletes that are ignored may be in files all the same, from before the option was set.
func (f firstRow) Merge(in *Input) (*Output, error) {
	if in.Kinds == nil && len(in.Ends) == len(in.Refs) {
		return &Output{Rows: in.Refs}, nil
	}
	rows := make([]batch.Ref, 0, len(in.Ends))
	from := int32(0)
	for _, end := range in.Ends {
		some := false
		for _, r := range in.Refs[from:end] {
			switch {
			case in.Kinds != nil && in.Kind(r).IsRetract():
				if !f.ignoreDelete {
					return nil, errors.New("the merge engine first-row takes no row of kind -U or -D: set ignore-delete=true to leave such rows out")
				}
			case !some:
				rows, some = append(rows, r), true
			}
		}
		from = end
	}
	return &Output{Rows: rows}, nil
}
