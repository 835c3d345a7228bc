package lsm

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/index"
	"github.com/tarnlake/tarn/internal/manifest"
)

// compaction is what a compaction takes out of the levels and puts in.
type compaction struct {
	level         int
	before, after []*manifest.DataFile
	changelog     []*manifest.DataFile
	upgraded      int
	marked        map[string]*index.Builder // rows of files that stay, in whose place newer ones are
}

// compactor does one compaction.
type compactor struct {
	t       *Table
	loc     datafile.Location
	level   int                  // of the result
	highest bool                 // it is the highest level there can be: no deletes may be in it
	all     bool                 // every file is rewritten
	drop    bool                 // nothing older exists: deletes are left out
	apart   bool                 // every file is rewritten by itself: others may lie between them
	old     []*manifest.DataFile // files with rows that have expired
	log     bool                 // tell what changes: in the highest level, to which the result goes, or by rows of level 0 if they are looked up
	lookup  Lookup
	older   []span // files of higher levels, in which older rows are looked up
	found   Found  // is told of them; nil: nobody is
	gone    map[string]*index.Vector
	stop    func() error
	out     compaction
}

// run compacts files. Files that overlap are merged; large files that overlap no other only change
// their level; small ones are rewritten together with what comes before them.
func (c *compactor) run(ctx context.Context, files []*manifest.DataFile) (*compaction, error) {
	c.out.level = c.level
	spans, err := c.t.spans(files)
	if err == nil {
		c.old, err = c.t.expiring(ctx, files)
	}
	if err != nil {
		return nil, err
	}
	small := c.t.c.TargetFileSize / 10 * 7
	var candidate []section
	for _, s := range sections(spans) {
		if len(s) > 1 || s[0].file.Size < small && !c.apart {
			candidate = append(candidate, s)
			continue
		}
		if err := c.rewrite(ctx, candidate); err != nil {
			return nil, err
		}
		candidate = nil
		if err := c.upgrade(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := c.rewrite(ctx, candidate); err != nil {
		return nil, err
	}
	return &c.out, nil
}

// rewrite merges sections that follow each other in key order. A file alone is moved up if it can be.
func (c *compactor) rewrite(ctx context.Context, secs []section) error {
	switch {
	case len(secs) == 0:
		return nil
	case len(secs) == 1 && len(secs[0]) == 1:
		return c.upgrade(ctx, secs[0])
	}
	return c.merge(ctx, secs)
}

// upgrade gives a file that overlaps no other a new level.
func (c *compactor) upgrade(ctx context.Context, s section) error {
	f := s[0].file
	if c.all || c.apart || slices.Contains(c.old, f) || f.DeleteRows != 0 && (c.highest || c.found != nil || !c.t.c.Engine.Identity()) || c.clears(f) {
		return c.merge(ctx, []section{s})
	}
	if f.Level == c.level {
		return nil
	}
	if c.lookup == NoLookup || f.Level == 0 {
		if c.lookup != NoLookup && c.t.rewrites() && (f.DeleteRows != 0 || len(withOlder([]section{s}, c.older)[0]) > 1) {
			return c.merge(ctx, []section{s})
		}
		if c.log || c.found != nil {
			if err := c.tell(ctx, s); err != nil {
				return err
			}
		}
	}
	up := *f
	up.Level = c.level
	c.out.before = append(c.out.before, f)
	c.out.after = append(c.out.after, &up)
	c.out.upgraded++
	return nil
}

// clears reports whether a file is rewritten because rows of it are gone: a compaction of all leaves no deletion vectors.
func (c *compactor) clears(f *manifest.DataFile) bool { return c.highest && c.gone[f.Name] != nil }

// merge rewrites sections.
func (c *compactor) merge(ctx context.Context, secs []section) error {
	after, err := c.copy(ctx, secs, func(ctx context.Context) FileWriter {
		return c.t.c.Store.NewWriter(ctx, c.loc, datafile.WriterOptions{KeyValue: true, Level: c.level, Source: manifest.SourceCompact})
	})
	if err != nil {
		return err
	}
	for _, s := range secs {
		for _, x := range s {
			c.out.before = append(c.out.before, x.file)
		}
	}
	c.out.after = append(c.out.after, after...)
	return nil
}

// tell writes the changelog of a file that is moved up as it is, and looks up what its rows take the place of.
func (c *compactor) tell(ctx context.Context, s section) error {
	_, err := c.copy(ctx, []section{s}, nil)
	return err
}

// nowhere takes no rows.
type nowhere struct{}

func (nowhere) Write(arrow.RecordBatch) error        { return nil }
func (nowhere) Close() ([]*manifest.DataFile, error) { return nil, nil }
func (nowhere) Abort(context.Context) error          { return nil }

// copy merges sections into files and gives them, and adds their changelog to what comes out. Without open no files are made.
func (c *compactor) copy(ctx context.Context, secs []section, open func(context.Context) FileWriter) (after []*manifest.DataFile, err error) {
	r := &mergeReader{
		in:   &source{t: c.t, loc: c.loc, stop: c.stop, expiry: c.t.c.Expiry, gone: c.gone},
		want: want{log: open == nil, out: datafile.KeyValueFields(c.t.keys, c.t.c.Fields, c.t.c.Thin), drop: c.drop},
		secs: secs,
	}
	var w, log FileWriter = nowhere{}, nowhere{}
	if open != nil {
		w = open(ctx)
	}
	if c.log || c.lookup != NoLookup {
		r.past, r.in.apart = &past{t: c.t, in: r.in, level: c.level, lookup: c.lookup}, c.level
	}
	if c.lookup != NoLookup {
		r.secs, r.in.apart, r.in.level = withOlder(secs, c.older), 1, c.level
		r.past.found, r.want.place = c.found, c.found != nil
	}
	if c.log {
		log = c.t.c.Store.NewWriter(ctx, c.loc, datafile.WriterOptions{KeyValue: true, Level: c.level, Source: manifest.SourceAppend, Changelog: true})
		r.past.w, r.want.tell = log, true
	}
	var logged []*manifest.DataFile
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
		if err != nil {
			ctx, cancel := fileio.Outlast(ctx)
			defer cancel()
			err = errors.Join(err, w.Abort(ctx), log.Abort(ctx))
			return
		}
		c.out.changelog = append(c.out.changelog, logged...)
	}()
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := w.Write(b.RecordBatch); err != nil {
			return nil, err
		}
	}
	if after, err = w.Close(); err != nil {
		return nil, err
	}
	logged, err = log.Close()
	return after, err
}

// discard deletes the files that a compaction made; those moved up are somebody else's.
func (c *compaction) discard(ctx context.Context, store Store, loc datafile.Location) error {
	if c == nil {
		return nil
	}
	names := map[string]bool{}
	for _, f := range c.before {
		names[f.Name] = true
	}
	made := slices.Clone(c.changelog)
	for _, f := range c.after {
		if !names[f.Name] {
			made = append(made, f)
		}
	}
	if len(made) == 0 {
		return nil
	}
	return store.Delete(ctx, loc, made...)
}
