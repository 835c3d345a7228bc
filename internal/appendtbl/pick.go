package appendtbl

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/manifest"
)

// PickOptions say which files are joined, by the names of the table options.
type PickOptions struct {
	MinFiles   int     // compaction.min.file-num; 0 is 5
	TargetSize int64   // target-file-size; 0 is 256 MB
	SmallRatio float64 // compaction.small-file-ratio: files below this part of the target are small; 0 is 0.7
	OpenCost   int64   // source.split.open-file-cost, what a file costs beside its size; 0 is 4 MB
	RewriteAll bool    // compaction.force-rewrite-all-files: with all, every file is rewritten, whatever its size
}

func (o PickOptions) withDefaults() PickOptions {
	if o.MinFiles <= 0 {
		o.MinFiles = 5
	}
	if o.TargetSize <= 0 {
		o.TargetSize = 256 << 20
	}
	if o.SmallRatio <= 0 {
		o.SmallRatio = 0.7
	}
	if o.OpenCost <= 0 {
		o.OpenCost = 4 << 20
	}
	return o
}

// least is how few files are worth rewriting.
func (o PickOptions) least() int {
	if o.RewriteAll {
		return 1
	}
	return 2
}

func (o PickOptions) small(f *manifest.DataFile) bool {
	return float64(f.Size) < float64(o.TargetSize)*o.SmallRatio
}

// inOrder orders files by the order of their rows.
func inOrder(a, b *manifest.DataFile) int {
	return cmp.Or(
		cmp.Compare(a.MinSequence, b.MinSequence),
		cmp.Compare(a.MaxSequence, b.MaxSequence),
		cmp.Compare(a.CreationMillis, b.CreationMillis),
		strings.Compare(a.Name, b.Name),
	)
}

// Pick chooses groups of files to join, each group into one file or few. It is pure. With ordered,
// the files of a group are neighbours and given in the order of their rows; else any small files are
// put together, the smallest first. With all, two small files are enough for a group, with RewriteAll
// any one.
func (o PickOptions) Pick(files []*manifest.DataFile, ordered, all bool) [][]*manifest.DataFile {
	o = o.withDefaults()
	if o.RewriteAll = o.RewriteAll && all; o.RewriteAll {
		o.SmallRatio = math.Inf(1)
	}
	if ordered {
		return o.neighbours(files, all)
	}
	return o.anywhere(files, all)
}

// Due gives those of the files of a bucket that a compaction would join now, all that can be if all; none if there is nothing
// to do. It reads no files.
func (t *Table) Due(files []*manifest.DataFile, all bool) []*manifest.DataFile {
	return slices.Concat(t.pick(files, all)...)
}

// pick chooses groups of files to join. Those that are to be sorted are one group.
func (t *Table) pick(files []*manifest.DataFile, all bool) [][]*manifest.DataFile {
	switch {
	case t.c.Order == nil:
		return t.c.Pick.Pick(files, t.c.Ordered, all)
	case !all || len(files) == 0:
		return nil
	}
	return [][]*manifest.DataFile{slices.SortedFunc(slices.Values(files), inOrder)}
}

func (o PickOptions) neighbours(files []*manifest.DataFile, all bool) [][]*manifest.DataFile {
	files = slices.SortedFunc(slices.Values(files), inOrder)
	var out [][]*manifest.DataFile
	var group []*manifest.DataFile
	var size int64
	end := func() {
		if enough := len(group) >= o.MinFiles || size >= o.TargetSize || all; enough && len(group) >= o.least() {
			out = append(out, group)
		}
		group, size = nil, 0
	}
	for _, f := range files {
		if !o.small(f) {
			end()
			continue
		}
		group, size = append(group, f), size+f.Size
		if size >= 2*o.TargetSize {
			end()
		}
	}
	end()
	return out
}

func (o PickOptions) anywhere(files []*manifest.DataFile, all bool) [][]*manifest.DataFile {
	var small []*manifest.DataFile
	for _, f := range files {
		if o.small(f) {
			small = append(small, f)
		}
	}
	slices.SortFunc(small, func(a, b *manifest.DataFile) int { return cmp.Or(cmp.Compare(a.Size, b.Size), inOrder(a, b)) })
	var out [][]*manifest.DataFile
	var bin []*manifest.DataFile
	var size int64
	for _, f := range small {
		bin, size = append(bin, f), size+f.Size+o.OpenCost
		if len(bin) >= o.least() && size >= 2*o.TargetSize {
			out = append(out, bin)
			bin, size = nil, 0
		}
	}
	if len(bin) >= o.MinFiles || all && len(bin) >= o.least() {
		out = append(out, bin)
	}
	return out
}
