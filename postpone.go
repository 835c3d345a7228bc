package tarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/types"
)

// distribute gives the rows that were put aside (bucket = -2) their buckets: it writes them there, as newer than what is in them, and takes
// the files away, in one commit. LostCompaction says that others have changed them meanwhile, and that nothing was done.
func (c *compaction) distribute(ctx context.Context) (CommitResult, error) {
	// Buckets are compacted afterwards, together with the others.
	t, err := c.t.With(ctx, map[string]string{options.PostponeBatchFixed.Key(): "true", options.WriteOnly.Key(): "true"})
	if err != nil {
		return CommitResult{}, err
	}
	w, err := t.NewWriter(ctx, &WriterOptions{User: "compact-" + uuid.NewString()})
	if err != nil {
		return CommitResult{}, err
	}
	defer w.Close()
	files := slices.Clone(c.aside)
	sortAside(files)
	for i := range files {
		if err := w.writeAside(ctx, &files[i]); err != nil {
			return CommitResult{}, fmt.Errorf("compact table %s: %w", t.id, err)
		}
	}
	p, err := w.Prepare(ctx)
	if err != nil {
		return CommitResult{}, err
	}
	for i := range p.deltas {
		asCompaction(&p.deltas[i])
	}
	at := map[string]int{} // partition → delta
	for i := range files {
		part := string(files[i].Partition)
		if _, ok := at[part]; !ok {
			at[part] = len(p.deltas)
			p.deltas = append(p.deltas, manifest.Delta{Partition: files[i].Partition, Bucket: paths.PostponeBucket, TotalBuckets: paths.PostponeBucket})
		}
		d := &p.deltas[at[part]]
		d.CompactBefore = append(d.CompactBefore, files[i].File)
	}
	res, err := t.commit(ctx, CommitID{User: w.User(), Number: w.number}, true, nil, []*Prepared{p})
	if err != nil && surelyNot(res, err) {
		ctx, cancel := fileio.Outlast(ctx)
		defer cancel()
		err = errors.Join(err, t.Abort(ctx, p))
	}
	return res, err
}

// asCompaction makes what was written into what a compaction has made: streams of changes have told of the rows already, or are told by
// the changelog.
func asCompaction(d *manifest.Delta) {
	d.CompactAfter, d.Added = append(d.Added, d.CompactAfter...), nil
	d.CompactChangelog, d.Changelog = append(d.Changelog, d.CompactChangelog...), nil
	d.CompactIndex, d.Index = append(d.Index, d.CompactIndex...), nil
}

// writeAside writes the rows of a file once more.
func (w *Writer) writeAside(ctx context.Context, e *manifest.Entry) error {
	t := w.t
	loc := datafile.Location{Partition: e.Partition, Bucket: e.Bucket}
	r, err := t.files.Open(ctx, loc, e.File, datafile.ReadOptions{Fields: append([]types.Field{datafile.KindField()}, t.schema.Fields...)})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		kinds, ok := b.Column(0).(*array.Int8)
		if !ok {
			return fmt.Errorf("data file %s: its row kinds are no numbers", e.File.Name)
		}
		b.Kinds = make([]types.RowKind, b.NumRows())
		for i, k := range kinds.Int8Values() {
			if k < 0 || k > int8(types.Delete) {
				return fmt.Errorf("data file %s: %d is no row kind", e.File.Name, k)
			}
			b.Kinds[i] = types.RowKind(k)
		}
		b.RecordBatch = array.NewRecordBatch(arrow.NewSchema(b.Schema().Fields()[1:], nil), b.Columns()[1:], b.NumRows())
		if err := w.Write(ctx, b); err != nil {
			return err
		}
	}
}

// sortAside orders files of rows that were put aside: by the time when they were made, those of one writer as it made them, whatever its
// clock said. The writer and its count are in the name (datafile.Store.Aside).
func sortAside(files []manifest.Entry) {
	type key struct {
		writer string
		count  int
		millis int64
	}
	keys := make(map[string]key, len(files))
	of := func(e *manifest.Entry) key { return keys[e.File.Name] }
	for i := range files {
		w, n := asideName(files[i].File.Name)
		keys[files[i].File.Name] = key{w, n, files[i].File.CreationMillis}
	}
	slices.SortFunc(files, func(a, b manifest.Entry) int {
		return cmp.Or(strings.Compare(of(&a).writer, of(&b).writer), cmp.Compare(of(&a).count, of(&b).count))
	})
	for i := 1; i < len(files); i++ {
		if before, k := of(&files[i-1]), of(&files[i]); before.writer == k.writer && before.millis > k.millis {
			k.millis = before.millis
			keys[files[i].File.Name] = k
		}
	}
	slices.SortStableFunc(files, func(a, b manifest.Entry) int { return cmp.Compare(of(&a).millis, of(&b).millis) })
}

// asideName takes the name of a file apart: what its writer's files have in common, and the count.
func asideName(name string) (writer string, count int) {
	name, _, _ = strings.Cut(name, ".")
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return name, 0
	}
	n, err := strconv.Atoi(name[at+1:])
	if err != nil {
		return name, 0
	}
	return name[:at], n
}
