package tarn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/tarnlake/tarn/internal/snapshot"
)

// TablesCompactOptions say which tables to compact and how.
type TablesCompactOptions struct {
	CompactOptions
	// Databases, Include and Exclude are regular expressions (of the package regexp) that choose tables of a Catalog: the first
	// has to match the whole name of the database, the others the whole name database.table. "" is all, and none to exclude.
	Databases, Include, Exclude string
	// Options replace those of each table, as Table.With does.
	Options map[string]string
	// Watch goes on until the context ends: tables are looked at again as soon as they have a new snapshot, or partitions
	// become idle. It excludes OrderBy, and Full unless IdleTime is given: all would be
	// rewritten for each snapshot.
	Watch bool
	// Interval is how long Watch waits before it looks for new snapshots and tables; 0 is 10 seconds.
	Interval time.Duration
	// Done is called for each table that was compacted, or failed to be. With Watch that is told anew when it changes, and
	// tables that had nothing to do are not told of.
	Done func(TableCompacted)
}

// TableCompacted tells of one table of CompactTables.
type TableCompacted struct {
	Table   string       // its name
	Result  CommitResult // as of Table.Compact; SnapshotID is 0 if there was nothing to do
	Buckets int          // that were compacted
	Err     error        // why it failed, maybe after a part of it
}

// FailedTablesError tells that some tables were not compacted. Each of its errors, which errors.Is and As see, is about one
// table and names it.
type FailedTablesError struct {
	Tables []string // their names
	Errs   []error  // what each failed with
	Of     int      // tables there were
}

func (e *FailedTablesError) Error() string {
	return fmt.Sprintf("%d of %d tables were not compacted, the first is %s: %v", len(e.Tables), e.Of, e.Tables[0], e.Errs[0])
}

func (e *FailedTablesError) Unwrap() []error { return e.Errs }

// CompactTables compacts the tables of a warehouse that the options choose. Of all their buckets those come first that cost
// readers most, some dozens at a time. A table that fails does not keep the others from being compacted: the error is
// a *FailedTablesError then, and Done tells of each. Tables that are dropped meanwhile are
// no failures. It is ErrNotExist if no table is chosen, and the context's own when that ends,
// which is how Watch ends: what was not committed is given up, and its files are removed.
func (c *Catalog) CompactTables(ctx context.Context, o TablesCompactOptions) error {
	var chosen [3]*regexp.Regexp
	for i, s := range []string{o.Databases, o.Include, o.Exclude} {
		if s == "" {
			continue
		}
		var err error
		if chosen[i], err = regexp.Compile(`^(?:` + s + `)$`); err != nil {
			return invalid("compact tables: %q is no regular expression: %v", s, err)
		}
	}
	names := func(ctx context.Context) ([]string, error) {
		dbs, err := c.Databases(ctx)
		if err != nil {
			return nil, err
		}
		var out []string
		for _, db := range dbs {
			if chosen[0] != nil && !chosen[0].MatchString(db) {
				continue
			}
			tables, terr := c.Tables(ctx, db) // some, beside an error
			err = errors.Join(err, terr)
			for _, t := range tables {
				name := db + "." + t
				if (chosen[1] == nil || chosen[1].MatchString(name)) && (chosen[2] == nil || !chosen[2].MatchString(name)) {
					out = append(out, name)
				}
			}
		}
		return out, err
	}
	return compactTables(ctx, o, &service{names: names, listed: true, open: c.Table, log: c.env.log})
}

// CompactTables is Catalog.CompactTables for tables that were opened before, which may lie anywhere: each of them is looked
// at with its newest schema.
func CompactTables(ctx context.Context, tables []*Table, o TablesCompactOptions) error {
	if o.Databases+o.Include+o.Exclude != "" {
		return invalid("compact tables: patterns choose tables of a catalog, and none is given")
	}
	byName := map[string]*Table{}
	var names []string
	for _, t := range tables {
		if byName[t.path+t.id.String()] == nil {
			names = append(names, t.path+t.id.String())
		}
		byName[t.path+t.id.String()] = t
	}
	s := &service{names: func(context.Context) ([]string, error) { return names, nil }, log: slog.New(slog.DiscardHandler)}
	s.open = func(ctx context.Context, name string) (*Table, error) { return byName[name].Refresh(ctx) }
	return compactTables(ctx, o, s)
}

// service compacts many tables.
type service struct {
	o      TablesCompactOptions
	names  func(context.Context) ([]string, error)
	listed bool // the names are those that a catalog has at the time
	open   func(context.Context, string) (*Table, error)
	log    *slog.Logger
	tables map[string]*watchedTable
}

// watchedTable is what a service knows of a table.
type watchedTable struct {
	t     *Table             // nil: it has to be opened
	seen  *snapshot.Snapshot // that was looked at last
	again time.Time          // when to look at it although there is nothing new, zero: never
	told  string             // the error that Done was told last
}

// tableWork is a table with something to do.
type tableWork struct {
	name string
	w    *watchedTable
	c    *compaction
}

func compactTables(ctx context.Context, o TablesCompactOptions, s *service) error {
	if o.Watch && o.Full && o.IdleTime == 0 {
		return invalid("compact tables: Watch with Full would rewrite all files for each snapshot; Full goes with IdleTime, or without Watch")
	}
	if o.Watch && len(o.OrderBy) > 0 {
		return invalid("compact tables: Watch with OrderBy would sort all rows again for each snapshot")
	}
	if o.Interval <= 0 {
		o.Interval = 10 * time.Second
	}
	s.o, s.tables = o, map[string]*watchedTable{}
	err := s.round(ctx)
	some := (*FailedTablesError)(nil)
	if !o.Watch || err != nil && !(errors.As(err, &some) && len(some.Tables) < some.Of) { // watching what cannot be compacted is a mistake
		return err
	}
	tick := time.NewTicker(o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		// What failed is told by Done, and tried again: storage comes back, and so do tables that somebody mends.
		if err := s.round(ctx); err != nil && !errors.As(err, &some) && ctx.Err() == nil {
			s.log.Warn("tables to compact could not be listed", "err", err)
		}
	}
}

// round compacts once what is due in all tables.
func (s *service) round(ctx context.Context) error {
	names, lerr := s.names(ctx)
	if len(names) == 0 && lerr == nil && !s.o.Watch {
		return fmt.Errorf("compact tables: %w: no table is chosen", ErrNotExist)
	}
	for name := range s.tables {
		if lerr == nil && !slices.Contains(names, name) {
			delete(s.tables, name) // dropped
		}
	}
	failed := &FailedTablesError{Of: len(names)}
	var work []*tableWork
	end := func(x *tableWork, err error) {
		if ctx.Err() != nil {
			return
		}
		if err != nil && s.dropped(ctx, x, err) {
			delete(s.tables, x.name)
			return
		}
		s.tell(x, err)
		if err != nil {
			failed.Tables, failed.Errs = append(failed.Tables, s.nameOf(x)), append(failed.Errs, err) // the name is of the open table
			x.w.seen, x.w.t = nil, nil
		}
	}
	for _, name := range names {
		if s.tables[name] == nil {
			s.tables[name] = &watchedTable{}
		}
		x := &tableWork{name: name, w: s.tables[name]}
		switch news, err := s.look(ctx, x); {
		case err != nil:
			end(x, err)
		case news && x.c.worst() == 0:
			end(x, x.c.nowhere)
		case news:
			work = append(work, x)
		}
	}
	for len(work) > 0 && ctx.Err() == nil {
		i := 0 // the table whose worst bucket is the worst
		for j, x := range work {
			if x.c.worst() > work[i].c.worst() {
				i = j
			}
		}
		x := work[i]
		err := x.c.step(ctx)
		if err == nil && x.c.worst() > 0 {
			continue
		}
		if err == nil {
			err = x.c.nowhere
		}
		end(x, err)
		work = slices.Delete(work, i, i+1)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case len(failed.Tables) > 0:
		return errors.Join(failed, lerr)
	}
	return lerr
}

// look finds out what there is to do in a table; false: nothing has happened since it was looked at last.
func (s *service) look(ctx context.Context, x *tableWork) (bool, error) {
	w := x.w
	if w.t != nil {
		now, err := w.t.latest(ctx)
		switch {
		case err != nil:
			return false, err
		case same(now, w.seen) && (w.again.IsZero() || w.t.timeNow().Before(w.again)):
			return false, nil
		}
	}
	t, err := s.open(ctx, x.name)
	if err == nil {
		t, err = t.With(ctx, s.o.Options)
	}
	if err != nil {
		return false, err
	}
	w.t = t
	if x.c, err = t.compaction(ctx, s.o.CompactOptions); err != nil {
		return false, err
	}
	if err := x.c.look(ctx); err != nil {
		return false, err
	}
	w.seen, w.again = x.c.snap, x.c.again
	return true, nil
}

// dropped reports whether a table failed because somebody dropped it since it was listed, which is no fault of it. With Watch,
// one that was made anew since then is looked at in the next round.
func (s *service) dropped(ctx context.Context, x *tableWork, err error) bool {
	if !s.listed {
		return false
	}
	_, now := s.open(ctx, x.name)
	return errors.Is(now, ErrNotExist) || now == nil && s.o.Watch && errors.Is(err, ErrNotExist)
}

// same reports whether two snapshots are one. That of a table which was made anew under its name is another one.
func same(a, b *snapshot.Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.CommitUser == b.CommitUser && a.TimeMillis == b.TimeMillis
}

func (s *service) nameOf(x *tableWork) string {
	if x.w.t != nil {
		return x.w.t.Name()
	}
	return x.name
}

// tell calls Done for a table that is done with.
func (s *service) tell(x *tableWork, err error) {
	d := TableCompacted{Table: s.nameOf(x), Err: err}
	if x.c != nil {
		d.Result, d.Buckets = x.c.result, len(x.c.done)
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	known := s.o.Watch && text == x.w.told && d.Result.SnapshotID == 0
	x.w.told = text
	if s.o.Done != nil && !known {
		s.o.Done(d)
	}
}
