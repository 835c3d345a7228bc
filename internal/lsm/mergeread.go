package lsm

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

const (
	// lowMemoryRuns is the number of runs from which on they are read page by page.
	lowMemoryRuns = 5
	// lowMemoryRows are the rows of a batch then: a result has some hundred rows of each run, so that
	// larger batches would only wait.
	lowMemoryRows = 2048
)

// ReadOptions say what MergeRead gives.
type ReadOptions struct {
	Fields []types.Field // columns of the table, in the order wanted
	// KeyFilter may leave out rows that do not match, in each run alike: it names key columns only.
	KeyFilter predicate.Predicate
	// Filter may do so in runs that overlap no other. Nil: KeyFilter.
	Filter predicate.Predicate
	// BatchRows is about the number of rows of a batch, 0 for 8192.
	BatchRows int
	// KeepDeletes gives rows of kind -D as well, and sets Kinds of batches.
	KeepDeletes bool
	// Gone are the rows of files that are deleted, by name of file.
	Gone map[string]*index.Vector
}

// MergeRead reads files of a bucket and merges the versions of each key. Rows come in key order. The
// files have to be all of the bucket's files in which keys of them can be.
func (t *Table) MergeRead(ctx context.Context, loc datafile.Location, files []*manifest.DataFile, o ReadOptions) (batch.Reader, error) {
	spans, err := t.spans(files)
	if err != nil {
		return nil, err
	}
	secs := sections(spans)
	w := want{out: o.Fields, drop: !o.KeepDeletes, give: o.KeepDeletes}
	if o.Filter == nil {
		o.Filter = o.KeyFilter
	}
	r := &mergeReader{
		in:   &source{t: t, loc: loc, keyFilter: o.KeyFilter, filter: o.Filter, batchRows: o.BatchRows, gone: o.Gone},
		want: w,
		secs: secs,
	}
	if t.c.Lookup == LookupFold {
		r.past, r.in.apart = &past{t: t, level: manifest.MaxLevel, lookup: LookupFold}, 1
	}
	return r, nil
}

// source is where runs come from.
type source struct {
	t         *Table
	loc       datafile.Location
	keyFilter predicate.Predicate
	filter    predicate.Predicate
	batchRows int
	expiry    *Expiry // nil: all rows are read
	// stop, if not nil, is asked between batches.
	stop func() error
	// apart is a level: its files and those of higher ones are kept out of passes, so that groups tell which rows are of
	// them. 0: none.
	apart int
	// level is that of the result of a compaction; of files of higher levels only rows near those of level 0 are read. 0: all are.
	level int
	near  predicate.Predicate      // of those files, in the section that is read
	gone  map[string]*index.Vector // rows of files that are not read
	// places are the files whose rows have places.
	places []*manifest.DataFile
}

// mergeReader reads sections one after the other.
type mergeReader struct {
	in    *source
	want  want
	jobs  map[shape]*job
	secs  []section
	job   *job // of cur
	sec   section
	cur   grouped
	past  *past // nil: all versions count, and nobody is told of changes
	queue []batch.Batch
}

// shape is in what the jobs of sections differ.
type shape struct{ alone, number, kinds bool }

// jobFor makes the job that reads no more of a section than its merge needs.
func (r *mergeReader) jobFor(sec section) (*job, error) {
	x := shape{alone: r.in.alone(sec), number: !ordered(sec.units()), kinds: r.want.give}
	for _, s := range sec {
		// Some writers (pypaimon 2.1 with rowkind.field) count no deletes in files that have them.
		x.kinds = x.kinds || s.file.DeleteRows != 0 || s.file.Level == 0
	}
	if j := r.jobs[x]; j != nil {
		return j, nil
	}
	w := r.want
	w.alone, w.number, w.kinds = x.alone, x.number, x.kinds
	j, err := r.in.t.newJob(w)
	if err != nil {
		return nil, err
	}
	if r.jobs == nil {
		r.jobs = map[shape]*job{}
	}
	r.jobs[x] = j
	return j, nil
}

// grouped gives groups of versions.
type grouped interface {
	Next(ctx context.Context) (*kv.Groups, error)
	Close() error
}

// Next implements batch.Reader.
func (r *mergeReader) Next(ctx context.Context) (batch.Batch, error) {
	for {
		if len(r.queue) > 0 {
			b := r.queue[0]
			r.queue = r.queue[1:]
			return b, nil
		}
		if r.cur == nil {
			if len(r.secs) == 0 {
				return batch.Batch{}, io.EOF
			}
			r.sec, r.secs = r.secs[0], r.secs[1:]
			var err error
			if r.job, err = r.jobFor(r.sec); err != nil {
				return batch.Batch{}, err
			}
			if r.cur, err = r.in.open(ctx, r.sec, r.job); err != nil {
				return batch.Batch{}, err
			}
		}
		g, err := r.cur.Next(ctx)
		if err == io.EOF {
			err = r.cur.Close()
			r.cur = nil
			if err != nil {
				return batch.Batch{}, err
			}
			continue
		}
		if err == nil && r.in.stop != nil {
			err = r.in.stop()
		}
		if err != nil {
			return batch.Batch{}, err
		}
		if r.queue, err = r.job.merge(g, r.past.of(r.sec)); err != nil {
			return batch.Batch{}, fmt.Errorf("lsm: merge bucket %d: %w", r.in.loc.Bucket, err)
		}
	}
}

// Close implements batch.Reader.
func (r *mergeReader) Close() error {
	r.secs, r.queue = nil, nil
	if r.cur == nil {
		return nil
	}
	err := r.cur.Close()
	r.cur = nil
	return err
}

// alone reports whether a section is passed as it is.
func (s *source) alone(sec section) bool { return len(sec) == 1 && !s.t.floatKeys() }

// open opens a section.
func (s *source) open(ctx context.Context, sec section, j *job) (grouped, error) {
	o := datafile.ReadOptions{Fields: j.in, BatchRows: s.batchRows, Sparse: true}
	if s.alone(sec) {
		o.Filter = s.filter
		r, err := s.openFile(ctx, sec[0].file, o)
		if err != nil {
			return nil, err
		}
		return &alone{r: r, name: sec[0].file.Name}, nil
	}
	o.Filter, s.near = s.keyFilter, nil
	if s.level > 0 {
		var err error
		if s.near, err = s.nearOf(ctx, sec); err != nil {
			return nil, err
		}
	}
	units := sec.units()
	if len(units) >= lowMemoryRuns {
		o.LowMemory = true
		if o.BatchRows == 0 {
			o.BatchRows = lowMemoryRows
		}
	}
	fan, target := fit(units, &o, s.t.c.FanIn, s.batchRows, mergeMemory)
	if len(units) > fan {
		return s.passes(ctx, units, j, o, fan, target)
	}
	return kv.NewMerger(s.runs(units, j, o), j.layout, target), nil
}

// runs makes runs of files. Each file is a run, as a file is opened only when the merge has come to it.
func (s *source) runs(units [][]span, j *job, o datafile.ReadOptions) []kv.Run {
	var out []kv.Run
	float := s.t.floatKeys()
	for _, u := range units {
		o := o
		if s.near != nil && u[0].file.Level > s.level {
			o.Filter = s.near
		}
		for _, x := range u {
			if float {
				out = append(out, kv.Run{Name: x.file.Name, Open: func(ctx context.Context) (batch.Reader, error) {
					return s.openSorted(ctx, x.file, j, o)
				}})
				continue
			}
			out = append(out, kv.Run{
				Name: x.file.Name, Low: x.min, HasLow: true,
				Open: func(ctx context.Context) (batch.Reader, error) {
					return s.openFile(ctx, x.file, o)
				},
			})
		}
	}
	return out
}

// passes merges groups of neighbouring runs into temporary ones until there are few enough.
func (s *source) passes(ctx context.Context, units [][]span, j *job, o datafile.ReadOptions, fan, target int) (grouped, error) {
	var temp []*kv.Temp
	fail := func(err error) (grouped, error) {
		for _, x := range temp {
			err = errors.Join(err, x.Remove())
		}
		return nil, err
	}
	n := 0
	for n < len(units) && s.apart > 0 && units[n][0].file.Level >= s.apart {
		n++
	}
	first, units, fan := s.runs(units[:n], j, o), units[n:], max(fan-n, 2)
	for len(units) > 0 {
		n := min(len(units), fan)
		x, err := s.t.mergeTemp(ctx, kv.NewMerger(s.runs(units[:n], j, o), j.layout, target), j)
		if err != nil {
			return fail(err)
		}
		temp, units = append(temp, x), units[n:]
	}
	temp, err := s.t.reduce(ctx, temp, j, fan, target)
	if err != nil {
		return fail(err)
	}
	return &tempMerge{Merger: kv.NewMerger(append(first, kv.TempRuns(temp)...), j.layout, target), temp: temp}, nil
}

// alone is a file that overlaps no other: each row is a group.
type alone struct {
	r    batch.Reader
	name string
	ends []int32
	refs []batch.Ref
}

func (a *alone) Close() error { return a.r.Close() }

func (a *alone) Next(ctx context.Context) (*kv.Groups, error) {
	b, err := a.r.Next(ctx)
	if err != nil {
		return nil, err
	}
	n := int(b.NumRows())
	for i := len(a.ends); i < n; i++ {
		a.ends = append(a.ends, int32(i+1))
		a.refs = append(a.refs, batch.Ref{Row: int32(i)})
	}
	return kv.Single(b.RecordBatch, a.refs[:n], a.ends[:n]), nil
}
