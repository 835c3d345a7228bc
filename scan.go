package tarn

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"iter"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/cast"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Batch is some rows: it embeds RecordBatch, an arrow.RecordBatch, and has Kinds []types.RowKind, one for each row
// (nil: all are inserts).
type Batch = batch.Batch

// ScanOptions say what to read. The zero value is the whole table as it is now. Time travel is done
// with options of the table (With): scan.snapshot-id, scan.tag-name, scan.timestamp-millis, ….
type ScanOptions struct {
	Columns []string            // in the order wanted; nil is all
	Filter  predicate.Predicate // rows that match; nil is all
	Limit   int64               // at most so many rows; 0 is all
	// Parallel is how many splits are read at the same time; 0 is as many as there are processors.
	Parallel int
	// Ordered gives the rows of splits one after the other, in the order of partitions and buckets.
	Ordered bool
	// Inserts leaves out rows of kinds -U and -D, which reads of changes have.
	Inserts bool
	// BatchRows is the most rows of a batch; 0 is the default.
	BatchRows int
	// WideTimestamps gives TIMESTAMP and TIMESTAMP_LTZ of precision 7 to 9, also in parts of nested columns, as
	// types.WideTimestamp, which holds all years (types.WideArrowSchema is the schema then). Without it they are
	// timestamp[ns] of Arrow, and a row before 1677-09-21 or after 2262-04-11 ends the read with an error.
	WideTimestamps bool
}

// Scan is a read that was described and has not begun.
type Scan struct {
	t *Table
	o ScanOptions
}

// Scan describes a read of the table.
func (t *Table) Scan(o ScanOptions) *Scan { return &Scan{t, o} }

// Plan is the pieces of a read of one snapshot.
type Plan struct {
	t *Table
	// SnapshotID is what is read; 0 if the table has no snapshot.
	SnapshotID int64
	splits     []plan.Split
	req        read.Request
	wide       bool // as ScanOptions.WideTimestamps
	system     *Batch
	view       *systable.View // of the rows, if a system table shows them
	placed     bool           // rows tell where they lie
	followed   bool           // no other snapshot will do should this one expire
}

// PlanSplit describes a piece of a Plan.
type PlanSplit struct {
	Partition string // folder, "" if the table is not partitioned
	Bucket    int
	Files     []string // paths of the data files
	Rows      int64    // before merging
	Bytes     int64    // of the files
	Raw       bool     // no merging is needed
}

// mergeFunc reads splits that have to be merged.
func (t *Table) mergeFunc() read.MergeFunc {
	if !t.HasPrimaryKey() {
		return nil
	}
	return func(ctx context.Context, s *plan.Split, fields []types.Field, keyFilter predicate.Predicate) (batch.Reader, error) {
		tree, err := t.mergeTree()
		if err != nil {
			return nil, err
		}
		r, err := t.readSplit(ctx, tree, s, lsm.ReadOptions{Fields: fields, KeyFilter: keyFilter, KeepDeletes: s.Deletes})
		if err != nil {
			return nil, t.wrap(err)
		}
		return r, nil
	}
}

// snapshotOf finds the snapshot that the options of the table ask for, nil if the table has none.
func (t *Table) snapshotOf(ctx context.Context) (*snapshot.Snapshot, error) {
	o := t.opts
	find := func() (*snapshot.Snapshot, error) {
		if options.ScanSnapshot.Set(o) {
			return t.snaps.At(ctx, options.ScanSnapshot.Get(o))
		}
		if tag := options.ScanTag.Get(o); tag != "" {
			return t.tagged(ctx, tag)
		}
		if v := options.ScanVersion.Get(o); v != "" {
			if s, err := t.tagged(ctx, v); err == nil {
				return s, nil
			}
			if mark, ok := strings.CutPrefix(v, "watermark-"); ok {
				if w, err := strconv.ParseInt(mark, 10, 64); err == nil {
					return t.snaps.AtWatermark(ctx, w)
				}
			}
			id, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("scan.version %q %w: it is neither a tag, nor watermark-N, nor the number of a snapshot", v, ErrNotExist)
			}
			return t.snaps.At(ctx, id)
		}
		if options.ScanMillis.Set(o) {
			return t.snaps.AtTime(ctx, options.ScanMillis.Get(o))
		}
		if s := options.ScanTimestamp.Get(o); s != "" {
			v, err := types.ParseDatum(types.TimestampType(3), s)
			if err != nil {
				return nil, invalid("option scan.timestamp: %v", err)
			}
			return t.snaps.AtTime(ctx, v.(types.Instant).Millis)
		}
		if w := options.ScanWatermark.Get(o); options.ScanWatermark.Set(o) && !readsLatest(o) {
			return t.snaps.AtWatermark(ctx, w)
		}
		if options.ScanMode.Get(o) == "compacted-full" {
			return t.lastCompacted(ctx)
		}
		return t.latest(ctx)
	}
	s, err := find()
	if err != nil && t.timeTravel() {
		err = absent(err)
	}
	if err != nil {
		return nil, t.wrap(err)
	}
	return s, nil
}

func (t *Table) tagged(ctx context.Context, tag string) (*snapshot.Snapshot, error) {
	x, err := t.snaps.Tag(ctx, tag)
	if errors.Is(err, iofs.ErrNotExist) {
		names, lerr := t.snaps.TagNames(ctx)
		if lerr == nil && len(names) > 0 {
			return nil, fmt.Errorf("tag %s %w; there are %s", tag, ErrNotExist, strings.Join(names, ", "))
		}
		return nil, fmt.Errorf("tag %s %w", tag, ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return x.Snapshot, nil
}

// timeTravel reports whether options name an older state.
func (t *Table) timeTravel() bool {
	o := t.opts
	return options.ScanSnapshot.Set(o) || options.ScanTag.Set(o) || options.ScanVersion.Set(o) || options.ScanMillis.Set(o) || options.ScanTimestamp.Set(o) || options.ScanWatermark.Set(o) && !readsLatest(o)
}

// lastCompacted finds the snapshot of the newest compaction for scan.mode=compacted-full, where full compactions come at fixed
// commits that of the newest full one; the newest snapshot if there is none.
func (t *Table) lastCompacted(ctx context.Context) (*snapshot.Snapshot, error) {
	every := int64(1)
	if options.FullCompactionDelta.Set(t.opts) {
		every = max(1, int64(options.FullCompactionDelta.Get(t.opts)))
	}
	s, err := t.snaps.Last(ctx, func(s *snapshot.Snapshot) bool {
		return s.CommitKind == snapshot.Compact && (s.CommitIdentifier%every == 0 || s.CommitIdentifier == math.MaxInt64)
	})
	if errors.Is(err, snapshot.ErrNone) {
		return nil, nil
	}
	return s, err
}

// readsLatest reports whether scan.mode asks for the newest state, or that of the newest compaction, whatever scan.watermark says.
func readsLatest(o options.Options) bool {
	return slices.Contains([]string{"latest", "latest-full", "full", "compacted-full"}, options.ScanMode.Get(o))
}

// checkTravel refuses options that name different states of the past, as the reference does.
func (t *Table) checkTravel() error {
	o := t.opts
	var snaps, times []string
	version := options.ScanVersion.Set(o)
	if options.ScanSnapshot.Set(o) {
		snaps = append(snaps, options.ScanSnapshot.Key())
	} else if version {
		snaps = append(snaps, options.ScanVersion.Key())
	}
	byID := len(snaps) > 0
	if options.ScanTag.Set(o) {
		snaps = append(snaps, options.ScanTag.Key())
	}
	named := len(snaps) > 0
	for _, x := range []struct {
		key string
		set bool
	}{{options.ScanMillis.Key(), options.ScanMillis.Set(o)}, {options.ScanTimestamp.Key(), options.ScanTimestamp.Set(o)}} {
		if x.set {
			times = append(times, x.key)
		}
	}
	if options.ScanWatermark.Set(o) && len(times) == 0 {
		snaps = append(snaps, options.ScanWatermark.Key())
	}
	all := slices.Concat(snaps, times)
	mode := options.ScanMode.Get(o)
	switch {
	case readsLatest(o) && (named || len(times) > 0):
		return invalid("scan.mode=%s chooses the state itself, %s names another: give one of them", mode, all[0])
	case mode == "from-snapshot" && (len(snaps) == 0 || len(times) > 0):
		return invalid("scan.mode=from-snapshot wants one of %s, %s, %s", options.ScanSnapshot.Key(), options.ScanTag.Key(), options.ScanWatermark.Key())
	case mode == "from-snapshot-full" && !byID:
		return invalid("scan.mode=from-snapshot-full wants %s", options.ScanSnapshot.Key())
	case mode == "from-timestamp" && len(times) == 0:
		return invalid("scan.mode=from-timestamp wants %s or %s", options.ScanMillis.Key(), options.ScanTimestamp.Key())
	case !readsLatest(o) && len(all) > 1:
		return invalid("%s name different states of the table: give one of them", strings.Join(all, " and "))
	}
	return nil
}

// Plan finds out which files have to be read.
func (s *Scan) Plan(ctx context.Context) (*Plan, error) {
	t := s.t
	if s.o.Limit < 0 {
		return nil, invalid("scan table %s: a limit of %d rows; 0 is all", t.id, s.o.Limit)
	}
	if err := t.checkScan(); err != nil {
		return nil, t.wrap(err)
	}
	if t.incremental() {
		return s.between(ctx)
	}
	for n := 0; ; n++ {
		snap := t.pin
		if !t.pinned || n > 0 {
			var err error
			if snap, err = t.snapshotOf(ctx); err != nil {
				return nil, err
			}
		}
		p, err := s.plan(ctx, snap)
		if err == nil || t.timeTravel() || n == outrunTimes || !t.outrun(ctx, snap, err) {
			return p, err
		}
	}
}

func (s *Scan) plan(ctx context.Context, snap *snapshot.Snapshot) (*Plan, error) {
	t, err := s.t.asOf(ctx, snap)
	if err != nil {
		return nil, err
	}
	p, err := s.asked(t)
	if err != nil {
		return nil, err
	}
	if snap != nil {
		p.SnapshotID = snap.ID
	}
	if t.id.System != "" && p.view == nil {
		return p, p.readSystem(ctx, snap)
	}
	if snap == nil {
		return p, nil
	}
	return p, p.readRows(ctx, snap, t.viewLevels())
}

// asked makes a plan of nothing yet, which has the columns and the filter that are wanted of the table.
func (s *Scan) asked(t *Table) (*Plan, error) {
	all, err := t.Fields()
	if err != nil {
		return nil, err
	}
	req := read.Request{Limit: s.o.Limit, Parallel: s.o.Parallel, Ordered: s.o.Ordered, BatchRows: s.o.BatchRows, Fields: all, Inserts: s.o.Inserts}
	if req.BatchRows <= 0 && options.ReadBatchSize.Set(t.opts) {
		req.BatchRows = options.ReadBatchSize.Get(t.opts)
	}
	if req.Parallel <= 0 {
		req.Parallel = runtime.GOMAXPROCS(0)
	}
	if s.o.Columns != nil {
		req.Fields = []types.Field{}
		for _, name := range s.o.Columns {
			i := slices.IndexFunc(all, func(f types.Field) bool { return f.Name == name })
			if i < 0 {
				names := make([]string, len(all))
				for k, f := range all {
					names[k] = f.Name
				}
				return nil, fmt.Errorf("table %s: column %q %w; there are %s", t.id, name, ErrNotExist, strings.Join(names, ", "))
			}
			req.Fields = append(req.Fields, all[i])
		}
	}
	if s.o.Filter != nil {
		if req.Filter, err = predicate.Bind(s.o.Filter, all); err != nil {
			return nil, fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
		}
	}
	return &Plan{t: t, req: req, wide: s.o.WideTimestamps, view: t.view()}, nil
}

// readRows plans the rows that a snapshot has in some levels; nil is all.
func (p *Plan) readRows(ctx context.Context, snap *snapshot.Snapshot, levels func(int) bool) error {
	t := p.t
	if err := t.checkWhole(); err != nil {
		return t.wrap(err)
	}
	var err error
	ask := p.pruning()
	ask.Levels = levels
	p.splits, err = t.planner.Splits(ctx, snap, ask)
	p.withDeletes()
	if err == nil {
		err = t.checkSplits(ctx, p.splits)
	}
	return t.wrap(explain(err))
}

func (p *Plan) readSystem(ctx context.Context, snap *snapshot.Snapshot) error {
	t := p.t
	rec, err := systable.Read(ctx, t.id.System, &systable.Source{
		Schema: t.schema, Schemas: t.schemas, Snapshots: t.snaps, Manifests: t.manifests, Planner: t.planner, Files: t.files, Paths: t.paths, Snapshot: snap,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", t.id, err)
	}
	p.system = &Batch{RecordBatch: rec}
	return nil
}

// Splits describes the pieces of the plan.
func (p *Plan) Splits(ctx context.Context) ([]PlanSplit, error) {
	out := make([]PlanSplit, len(p.splits))
	for i := range p.splits {
		s := &p.splits[i]
		part, err := p.t.paths.PartitionPath(s.Partition)
		if err != nil {
			return nil, p.t.wrap(err)
		}
		out[i] = PlanSplit{Partition: strings.TrimSuffix(part, "/"), Bucket: s.Bucket, Rows: s.Rows(), Bytes: s.Size(), Raw: s.Raw}
		for _, f := range s.Files {
			_, path, err := p.t.files.Path(ctx, datafile.Location{Partition: s.Partition, Bucket: s.Bucket}, f)
			if err != nil {
				return nil, p.t.wrap(err)
			}
			out[i].Files = append(out[i].Files, path)
		}
	}
	return out, nil
}

// Batches reads the plan. Leaving the loop ends all reading.
func (p *Plan) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	if p.system != nil {
		return p.systemBatches
	}
	if p.view != nil && !p.view.Plain() {
		return func(yield func(Batch, error) bool) { p.shown(ctx, yield) }
	}
	asked := p.form()
	return func(yield func(Batch, error) bool) {
		for b, err := range p.t.reader.Batches(ctx, p.splits, p.req) {
			if err == nil {
				b, err = asked(b)
			}
			if err != nil {
				err = p.problem(ctx, err)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// form gives the function that brings batches into the form that the caller wants timestamps in.
func (p *Plan) form() func(Batch) (Batch, error) {
	if p.wide || !slices.ContainsFunc(p.req.Fields, func(f types.Field) bool { return types.HasNanos(f.Type) }) {
		return func(b Batch) (Batch, error) { return b, nil }
	}
	schema := types.ArrowSchema(p.req.Fields)
	return func(b Batch) (Batch, error) {
		rec, err := cast.LayoutBatch(b.RecordBatch, p.req.Fields, schema)
		if errors.Is(err, cast.ErrBeyond) {
			err = fmt.Errorf("%w; ScanOptions.WideTimestamps reads all years", err)
		}
		if err != nil {
			return Batch{}, err
		}
		return Batch{RecordBatch: rec, Kinds: b.Kinds}, nil
	}
}

// Reader reads the plan by pulling. Reading begins with the first Next and goes one batch ahead.
func (p *Plan) Reader(ctx context.Context) BatchReader {
	ctx, cancel := context.WithCancel(ctx)
	return &pulled{ctx: ctx, cancel: cancel, plan: p}
}

// pulled reads in a goroutine of its own. iter.Pull would not do: its coroutine may not go on in a call from C on
// another thread, which is how DuckDB calls.
type pulled struct {
	ctx    context.Context
	cancel context.CancelFunc
	plan   *Plan
	out    chan read1 // nil before the first Next
	whole  bool       // all was given; set before out is closed
}

type read1 struct {
	b   Batch
	err error
}

func (p *pulled) Next(context.Context) (Batch, error) {
	if p.out == nil {
		p.out = make(chan read1)
		go p.run()
	}
	r, ok := <-p.out
	switch {
	case ok:
		return r.b, r.err
	case p.whole:
		return Batch{}, io.EOF
	}
	return Batch{}, p.ctx.Err()
}

func (p *pulled) run() {
	defer close(p.out)
	send := func(r read1) bool {
		select {
		case p.out <- r:
			return true
		case <-p.ctx.Done():
			return false
		}
	}
	err := rescue.Do("read", func() error {
		for b, err := range p.plan.Batches(p.ctx) {
			if !send(read1{b, err}) {
				return nil
			}
		}
		p.whole = p.ctx.Err() == nil
		return nil
	})
	if err != nil {
		send(read1{err: p.plan.t.wrap(err)})
	}
}

// Close ends reading and waits for it.
func (p *pulled) Close() error {
	p.cancel()
	if p.out == nil {
		p.out = make(chan read1)
		close(p.out)
	}
	for range p.out { // until run has ended
	}
	return nil
}

// systemBatches gives the rows of a system table.
func (p *Plan) systemBatches(yield func(Batch, error) bool) {
	b, err := read.Select(*p.system, p.req)
	if err != nil {
		yield(Batch{}, fmt.Errorf("%s: %w", p.t.id, err))
		return
	}
	if b.NumRows() > 0 {
		yield(b, nil)
	}
}

// Batches plans and reads.
func (s *Scan) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		p, err := s.Plan(ctx)
		if err != nil {
			yield(Batch{}, err)
			return
		}
		p.Batches(ctx)(yield)
	}
}

// Fields are the columns that the batches have.
func (p *Plan) Fields() []types.Field { return slices.Clone(p.req.Fields) }
