package plan

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// tester decides which files a request wants. Its methods are safe for concurrent use. An error is
// kept and the file in question wanted: err gives it after the scan.
type tester struct {
	p   *Planner
	ctx context.Context
	req Request

	partition predicate.Predicate // names partition columns only
	key       predicate.Predicate // names key columns only
	value     predicate.Predicate // names any columns but those of the partition

	mu      sync.Mutex
	bySchem map[int64]*evolved
	buckets map[int]map[int]bool // number of buckets → wanted ones
	values  [][]types.Datum      // bucket keys that the filter asks for; nil: any
	failed  error
}

// evolved is the value filter in terms of an older schema.
type evolved struct {
	fields []types.Field
	filter predicate.Predicate
}

func (p *Planner) tester(ctx context.Context, req Request) *tester {
	t := &tester{p: p, ctx: ctx, req: req, bySchem: map[int64]*evolved{}, buckets: map[int]map[int]bool{}}
	if req.Filter == nil {
		return t
	}
	isPart := func(col string) bool { return slices.Contains(p.c.Schema.PartitionKeys, col) }
	t.partition = predicate.Only(req.Filter, isPart)
	if p.c.KeyValue {
		t.key = predicate.Only(req.Filter, func(col string) bool {
			return slices.ContainsFunc(p.key, func(f types.Field) bool { return f.Name == col })
		})
	}
	t.value = predicate.Only(req.Filter, func(col string) bool { return !isPart(col) })
	t.values = p.bucketValues(req.Filter)
	return t
}

func (t *tester) fail(err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
	return true
}

func (t *tester) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// filter is what the manifests are read with.
func (t *tester) filter() *manifest.Filter {
	f := &manifest.Filter{}
	if t.partition != nil && len(t.p.part) > 0 {
		f.Manifest = t.manifestMayMatch
	}
	if t.partition != nil || t.req.Partition != nil {
		f.Partition = t.partitionMatches
	}
	if t.values != nil || t.req.Bucket != nil {
		f.Bucket = t.bucketMatches
	}
	if t.p.c.KeyValue && t.key != nil {
		f.Entry = func(e *manifest.Entry) bool { return t.keyMayMatch(e.File) }
	}
	if !t.p.c.KeyValue && t.value != nil {
		f.Entry = func(e *manifest.Entry) bool { return t.mayMatch(e.File) }
	}
	return f
}

func (t *tester) manifestMayMatch(m *manifest.Meta) bool {
	s, err := rowStats(t.p.part, m.PartitionStats, m.Added+m.Deleted)
	if err != nil {
		return true // statistics of a manifest are a help only
	}
	return predicate.MayMatch(t.partition, s)
}

func (t *tester) partitionMatches(partition []byte) bool {
	if t.req.Partition != nil && !t.req.Partition(partition) {
		return false
	}
	if t.partition == nil {
		return true
	}
	vals, err := binrow.DecodeWithArity(partition, types.TypesOf(t.p.part))
	if err != nil {
		return t.fail(fmt.Errorf("partition: %w", err))
	}
	// The statistics of one row are its values, so the test is exact.
	return predicate.MayMatch(t.partition, func(col string) (predicate.Stats, bool) {
		i := slices.IndexFunc(t.p.part, func(f types.Field) bool { return f.Name == col })
		if i < 0 {
			return predicate.Stats{}, false
		}
		s := predicate.Stats{Min: vals[i], Max: vals[i], Rows: 1}
		if vals[i] == nil {
			s.NullCount = 1
		}
		return s, true
	})
}

func (t *tester) bucketMatches(_ []byte, bucket, total int) bool {
	if t.req.Bucket != nil && !t.req.Bucket(bucket) {
		return false
	}
	if t.values == nil || total <= 0 || bucket < 0 {
		return true
	}
	t.mu.Lock()
	wanted, ok := t.buckets[total]
	t.mu.Unlock()
	if !ok {
		var err error
		if wanted, err = t.p.bucketsOf(t.values, total); err != nil {
			return t.fail(err)
		}
		t.mu.Lock()
		t.buckets[total] = wanted
		t.mu.Unlock()
	}
	return wanted[bucket]
}

// bucketValues gives the bucket keys that a filter can match, nil if it does not say.
func (p *Planner) bucketValues(filter predicate.Predicate) [][]types.Datum {
	if len(p.c.BucketKeys) == 0 {
		return nil
	}
	const most = 1000
	out := [][]types.Datum{nil}
	for _, name := range p.c.BucketKeys {
		var vals []types.Datum
		for _, c := range predicate.Conjuncts(filter) {
			if l, ok := c.(*predicate.Leaf); ok && l.Column == name && (l.Op == predicate.Eq || l.Op == predicate.In) {
				vals = l.Values
				break
			}
		}
		if vals == nil || len(out)*len(vals) > most {
			return nil
		}
		var next [][]types.Datum
		for _, o := range out {
			for _, v := range vals {
				next = append(next, append(slices.Clone(o), v))
			}
		}
		out = next
	}
	return out
}

// bucketsOf gives the buckets of some bucket keys.
func (p *Planner) bucketsOf(keys [][]types.Datum, total int) (map[int]bool, error) {
	fields := make([]types.Field, len(p.c.BucketKeys))
	ts := make([]types.Type, len(fields))
	cols := make([]int, len(fields))
	for i, name := range p.c.BucketKeys {
		f, ok := fieldNamed(p.c.Schema.Fields, name)
		if !ok {
			return nil, fmt.Errorf("no column %s, which is in bucket-key", name)
		}
		f.Type.NotNull = false
		fields[i], ts[i], cols[i] = f, f.Type, i
	}
	fn, err := binrow.NewBucketFunction(p.c.BucketFunction, cols, ts)
	if err != nil {
		return nil, err
	}
	sc := types.WideArrowSchema(fields)
	arrays := make([]arrow.Array, len(fields))
	for i := range fields {
		b := array.NewBuilder(memory.DefaultAllocator, sc.Field(i).Type)
		for _, k := range keys {
			if err := types.AppendDatum(b, ts[i], k[i]); err != nil {
				return nil, fmt.Errorf("bucket key %s: %w", fields[i].Name, err)
			}
		}
		arrays[i] = b.NewArray()
	}
	out := map[int]bool{}
	for _, b := range fn.Buckets(array.NewRecordBatch(sc, arrays, int64(len(keys))), total, nil) {
		out[int(b)] = true
	}
	return out, nil
}

// keyMayMatch tests a file's range of keys.
func (t *tester) keyMayMatch(f *manifest.DataFile) bool {
	s, err := keyStats(t.p.key, f)
	if err != nil {
		return t.fail(fmt.Errorf("keys of %s: %w", f.Name, err))
	}
	return predicate.MayMatch(t.key, s)
}

// keyStats are bounds of key columns. Only the first column of a key is bounded by the smallest and
// largest key; statistics of all of them are kept beside.
func keyStats(key []types.Field, f *manifest.DataFile) (func(string) (predicate.Stats, bool), error) {
	return rowStats(key, f.KeyStats, f.Rows)
}

// mayMatch tests a file's values, through schema evolution.
func (t *tester) mayMatch(f *manifest.DataFile) bool {
	ev, err := t.evolved(f.SchemaID)
	if err != nil {
		return t.fail(fmt.Errorf("schema of %s: %w", f.Name, err))
	}
	if ev.filter == nil {
		return true
	}
	fields, ok := datafile.StatsFields(ev.fields, f)
	if !ok {
		return true
	}
	s, err := rowStats(fields, f.ValueStats, f.Rows)
	if err != nil {
		return true
	}
	return predicate.MayMatch(ev.filter, s)
}

func (t *tester) evolved(id int64) (*evolved, error) {
	t.mu.Lock()
	ev := t.bySchem[id]
	t.mu.Unlock()
	if ev != nil {
		return ev, nil
	}
	ev = &evolved{fields: t.p.c.Schema.Fields, filter: t.value}
	if id != t.p.c.Schema.ID {
		s, err := t.p.c.Schemas.Get(t.ctx, id)
		if err != nil {
			return nil, err
		}
		m, err := schema.NewMapping(s.Fields, t.p.c.Schema.Fields)
		if err != nil {
			return nil, err
		}
		ev.fields, ev.filter = s.Fields, m.Devolve(t.value)
	}
	t.mu.Lock()
	t.bySchem[id] = ev
	t.mu.Unlock()
	return ev, nil
}

// rowStats gives the statistics of columns out of a manifest.
func rowStats(fields []types.Field, s manifest.Stats, rows int64) (func(string) (predicate.Stats, bool), error) {
	ts := types.TypesOf(fields)
	lo, err := binrow.DecodeWithArity(s.Min, ts)
	if err != nil {
		return nil, err
	}
	hi, err := binrow.DecodeWithArity(s.Max, ts)
	if err != nil {
		return nil, err
	}
	return func(col string) (predicate.Stats, bool) {
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == col })
		if i < 0 {
			return predicate.Stats{}, false
		}
		st := predicate.Stats{Min: lo[i], Max: hi[i], NullCount: -1, Rows: rows}
		if i < len(s.NullCounts) {
			st.NullCount = s.NullCounts[i]
		}
		return st, true
	}, nil
}
