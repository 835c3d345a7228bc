package commit

import (
	"context"
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
)

// merged are the manifests of a snapshot, made fewer.
type merged struct {
	metas []manifest.Meta
	fresh []string // names of those that were written for it
}

// mergeManifests joins small manifests, so that their number stays low and that entries which cancel
// out go away: all of them, when those that could change have grown to fullSize, else neighbours. The
// order of entries is kept.
func mergeManifests(ctx context.Context, m *manifest.Store, in []manifest.Meta, targetSize int64, minCount int, fullSize int64) (merged, error) {
	out, ok, err := mergeFully(ctx, m, in, targetSize, fullSize)
	if err != nil || ok {
		return out, err
	}
	return mergeNeighbours(ctx, m, in, targetSize, minCount)
}

func mergeNeighbours(ctx context.Context, m *manifest.Store, in []manifest.Meta, targetSize int64, minCount int) (merged, error) {
	out := merged{metas: make([]manifest.Meta, 0, len(in)+4)} // room for the next delta
	from := 0
	var size int64
	for i := range in {
		size += in[i].Size
		if size >= targetSize {
			if err := out.join(ctx, m, in[from:i+1]); err != nil {
				return out, err
			}
			from, size = i+1, 0
		}
	}
	// A manifest that is large against all that came after it stays: to write it again each time would
	// make commits dearer the more files a table has. Sizes at least double towards the front, so
	// there are few of them.
	rest := in[from:]
	for len(rest) > 2 && rest[0].Size > 2*(size-rest[0].Size) {
		out.metas = append(out.metas, rest[0])
		size -= rest[0].Size
		rest = rest[1:]
	}
	if len(rest) >= minCount {
		return out, out.join(ctx, m, rest)
	}
	out.metas = append(out.metas, rest...)
	return out, nil
}

// join replaces some manifests by new ones with what they are together.
func (out *merged) join(ctx context.Context, m *manifest.Store, in []manifest.Meta) error {
	if len(in) == 1 {
		out.metas = append(out.metas, in[0])
		return nil
	}
	entries, err := m.ReadAll(ctx, in, nil)
	if err != nil {
		return err
	}
	if entries, err = manifest.Merge(entries); err != nil {
		return fmt.Errorf("commit: merge manifests %s to %s: %w", in[0].Name, in[len(in)-1].Name, err)
	}
	return out.write(ctx, m, entries)
}

func (out *merged) write(ctx context.Context, m *manifest.Store, entries []manifest.Entry) error {
	metas, err := m.Write(ctx, entries)
	for _, f := range metas {
		out.fresh = append(out.fresh, f.Name)
	}
	out.metas = append(out.metas, metas...)
	return err
}

// mergeFully rewrites all manifests that hold deletes, are small, or lose entries to a delete.
func mergeFully(ctx context.Context, m *manifest.Store, in []manifest.Meta, targetSize, fullSize int64) (merged, bool, error) {
	mustChange := func(f *manifest.Meta) bool { return f.Deleted > 0 || f.Size < targetSize }
	var size int64
	for i := range in {
		if mustChange(&in[i]) {
			size += in[i].Size
		}
	}
	if size < fullSize {
		return merged{}, false, nil
	}
	deleted := map[manifest.Identity]bool{}
	partitions := map[string]bool{}
	for i := range in {
		if in[i].Deleted == 0 {
			continue
		}
		entries, err := m.Read(ctx, &in[i], nil)
		if err != nil {
			return merged{}, false, err
		}
		for j := range entries {
			if entries[j].Kind == manifest.Delete {
				id := manifest.IdentityOf(&entries[j])
				deleted[id] = true
				partitions[id.Partition] = true
			}
		}
	}
	var out merged
	var pending []manifest.Entry
	rewritten := 0
	for i := range in {
		change := mustChange(&in[i])
		if !change && !mayHoldAny(m, &in[i], partitions) {
			out.metas = append(out.metas, in[i])
			continue
		}
		entries, err := m.Read(ctx, &in[i], nil)
		if err != nil {
			return out, false, err
		}
		kept := make([]manifest.Entry, 0, len(entries))
		for j := range entries {
			e := &entries[j]
			if e.Kind == manifest.Delete {
				continue
			}
			if partitions[string(e.Partition)] && deleted[manifest.IdentityOf(e)] {
				change = true
				continue
			}
			kept = append(kept, *e)
		}
		if !change {
			out.metas = append(out.metas, in[i])
			continue
		}
		rewritten++
		pending = append(pending, kept...)
	}
	if rewritten <= 1 && len(deleted) == 0 {
		return merged{}, false, nil
	}
	if len(pending) > 0 {
		if err := out.write(ctx, m, pending); err != nil {
			return out, false, err
		}
	}
	return out, true, nil
}

func mayHoldAny(m *manifest.Store, f *manifest.Meta, partitions map[string]bool) bool {
	for p := range partitions {
		if m.MayHold(f, []byte(p)) {
			return true
		}
	}
	return false
}
