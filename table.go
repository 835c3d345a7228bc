package tarn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tarnlake/tarn/internal/appendtbl"
	"github.com/tarnlake/tarn/internal/commit"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/read"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/internal/systable"
	"github.com/tarnlake/tarn/internal/write"
	"github.com/tarnlake/tarn/types"
)

// Table is a table as its schema was when it was opened. Rows are read and written with that schema;
// Refresh opens it with the newest. It is safe for concurrent use.
type Table struct {
	env     *env
	id      Ident
	path    string
	schema  *schema.Schema
	schemas *schema.Manager
	snaps   *snapshot.Store
	dynamic map[string]string
	opts    options.Options

	paths     *paths.Table
	manifests *manifest.Store
	files     *datafile.Store
	planner   *plan.Planner
	reader    *read.Reader
	tree      *lsm.Table // nil for append tables

	mu        sync.Mutex
	committer *commit.Committer

	ver manifest.Version // 0: as the schema says

	sameBuckets atomic.Int64 // schemas before this one have the number of buckets of this Table, as far as it is known

	rescaleTo int // buckets that partitions get, where they have numbers of their own; 0: as they are

	order *appendtbl.Order // that compactions bring rows without a key into; nil: that of writing

	pinned bool
	pin    *snapshot.Snapshot // that scans read, if pinned; nil: none
}

func openTable(ctx context.Context, e *env, id Ident, path string, dynamic map[string]string) (*Table, error) {
	m := schema.NewManager(e.fs, paths.BranchDir(path, id.Branch))
	s, err := m.Latest(ctx)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("table %s %w (no schema in %s)", id, ErrNotExist, path)
	}
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", id, err)
	}
	if id.System != "" {
		if _, err := systable.Fields(id.System); err != nil && systable.ViewOf(id.System, nil, false) == nil {
			return nil, fmt.Errorf("%s: %w: %w", id, ErrUnsupported, err)
		}
	}
	t := newTable(e, id, path, m, dynamic)
	return t, t.use(ctx, s)
}

func newTable(e *env, id Ident, path string, m *schema.Manager, dynamic map[string]string) *Table {
	return &Table{env: e, id: id, path: path, schemas: m, dynamic: dynamic, snaps: snapshot.NewStore(e.fs, path, id.Branch)}
}

// bare is the table once more, without what use makes.
func (t *Table) bare() *Table {
	return &Table{env: t.env, id: t.id, path: t.path, schemas: t.schemas, snaps: t.snaps, dynamic: t.dynamic, rescaleTo: t.rescaleTo, order: t.order}
}

// use makes everything that depends on schema and options.
func (t *Table) use(ctx context.Context, s *schema.Schema) error {
	t.schema = s
	t.opts = options.Of(s.Options, s.Version).With(t.dynamic)
	if err := t.checkTable(); err != nil {
		return err
	}
	if err := options.Validate(t.opts); err != nil {
		return fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
	}
	if err := types.CheckSupported(s.Fields); err != nil {
		return fmt.Errorf("table %s: %w: %w", t.id, ErrUnsupported, err)
	}
	t.paths = paths.NewTable(t.path, t.pathsConfig())
	part := types.TypesOf(s.FieldsNamed(s.PartitionKeys))
	t.manifests = manifest.NewStore(manifest.Config{
		FS: t.env.fs, Dir: t.paths.ManifestDir(), Partition: part, Cache: t.env.cache, TargetSize: options.ManifestTargetSize.Get(t.opts),
		Encoding: t.manifestEncoding(),
	})
	if err := t.useFiles(ctx); err != nil {
		return err
	}
	var err error
	if t.planner, err = plan.New(t.planConfig()); err != nil {
		return t.wrap(err)
	}
	t.reader = read.New(read.Config{Store: t.files, Schema: s, Merge: t.mergeFunc(), Vectors: t.vectors()})
	return nil
}

func (t *Table) useFiles(context.Context) error {
	c, err := t.dataConfig()
	if err != nil {
		return fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
	}
	c.External = t.external
	t.files = datafile.NewStore(c)
	t.tree = nil
	return nil
}

// external opens the file system of a file outside of the table.
func (t *Table) external(ctx context.Context, uri string) (fileio.FS, string, error) {
	opts := maps.Clone(t.env.opts.FileIO)
	return open.FS(ctx, uri, opts)
}

// mergeTree makes the merge tree, when rows have to be merged or written: a table with an engine that
// is not supported can still be looked at.
func (t *Table) mergeTree() (*lsm.Table, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tree != nil {
		return t.tree, nil
	}
	o := t.opts
	var keys []string
	for _, f := range t.schema.TrimmedPrimaryKey() {
		keys = append(keys, f.Name)
	}
	engine, err := t.engine()
	if err != nil {
		return nil, err
	}
	t.tree, err = lsm.NewTable(lsm.Config{
		Store: lsm.Files(t.files), Fields: t.schema.Fields, Keys: keys, Engine: engine, Sequence: options.SequenceField.Get(o),
		Descending: options.SequenceOrder.Get(o) == "descending", Thin: options.ThinMode.Get(o), Levels: t.levels(), Changelog: producers[options.ChangelogProducer.Get(o)], Lookup: t.lookup(),
		TargetFileSize: t.targetFileSize(), WriteBuffer: options.WriteBuffer.Get(o), Spill: t.spill(), FanIn: t.fanIn(), RewriteAll: options.ForceRewrite.Get(o),
		WriteOnly: options.WriteOnly.Get(o), ForceCompact: options.ForceCompact.Get(o) || t.lookup() != lsm.NoLookup && options.LookupWait.Get(o),
		ClockMillis: t.env.wallMillis, Events: t.treeEvents(), Expiry: t.expiry(), Unchanged: t.unchanged(),
	})
	if err != nil {
		return nil, fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
	}
	return t.tree, nil
}

// producers are the changelog producers by the value of the option changelog-producer.
var producers = map[string]lsm.Producer{"input": lsm.InputChangelog, "full-compaction": lsm.FullCompactionChangelog, "lookup": lsm.LookupChangelog}

// lookup says what compactions of level 0 do with older rows of its keys at higher levels.
func (t *Table) lookup() lsm.Lookup { return lookupOf(t.opts, t.HasPrimaryKey()) }

func lookupOf(o options.Options, keyed bool) lsm.Lookup {
	producer := options.ChangelogProducer.Get(o)
	switch engine := options.MergeEngine.Get(o); {
	case !keyed || producer == "full-compaction":
	case engine == "first-row":
		return lsm.LookupFirst
	case producer != "lookup" && !options.ForceLookup.Get(o) && !options.DeletionVectors.Get(o):
	case engine == "deduplicate":
		return lsm.LookupNewest
	default:
		return lsm.LookupFold
	}
	return lsm.NoLookup
}

// unchanged says which rows changelogs leave out.
func (t *Table) unchanged() *lsm.Unchanged {
	if !options.RowDeduplicate.Get(t.opts) {
		return nil
	}
	return &lsm.Unchanged{Ignore: options.RowDeduplicateIgnore.Get(t.opts)}
}

// localMerge is what merges rows before they are distributed to buckets, nil if nothing does.
func (t *Table) localMerge() (write.Local, error) {
	o := t.opts
	if !t.HasPrimaryKey() || !options.LocalMerge.Set(o) {
		return nil, nil
	}
	keys := t.schema.PrimaryKeys
	engine, err := t.engine()
	if err != nil {
		return nil, err
	}
	tree, err := lsm.NewTable(lsm.Config{
		Fields: t.schema.Fields, Keys: keys, Engine: engine, Sequence: options.SequenceField.Get(o), Descending: options.SequenceOrder.Get(o) == "descending",
	})
	if err != nil {
		return nil, fmt.Errorf("table %s: %w: %w", t.id, ErrInvalid, err)
	}
	l, err := tree.NewLocal(options.LocalMerge.Get(o))
	if l == nil || err != nil {
		return nil, t.wrap(err)
	}
	return l, nil
}

// plainTable is what the buckets of an append table have in common.
func (t *Table) plainTable() *appendtbl.Table {
	o := t.opts
	ratio, err := strconv.ParseFloat(options.SmallFileRatio.Get(o), 64)
	if err != nil || ratio <= 0 || ratio > 1 {
		ratio = 0.7
	}
	return appendtbl.NewTable(appendtbl.Config{
		Store: appendtbl.Files(t.files), Fields: t.schema.Fields, Ordered: t.buckets() > 0 && options.BucketOrdered.Get(o), IgnoreDelete: options.IgnoreDelete.Get(o),
		// Compaction here does not write the ids of rows.
		WriteOnly: options.WriteOnly.Get(o) || options.RowTracking.Get(o), ForceCompact: options.ForceCompact.Get(o), Compaction: t.plainEvents(), Gone: t.gone(),
		Order: t.order,
		Pick:  appendtbl.PickOptions{TargetSize: t.targetFileSize(), MinFiles: options.MinFileNum.Get(o), SmallRatio: ratio, OpenCost: options.SplitOpenCost.Get(o), RewriteAll: options.ForceRewrite.Get(o)},
	})
}

func (t *Table) treeEvents() lsm.Events {
	e := t.env.events
	ev := lsm.Events{}
	if f := e.Compacted; f != nil {
		ev.Compaction = func(c lsm.Compaction) {
			if c.Err == nil {
				t.env.tell("Compacted", func() {
					f(compactEvent(CompactEvent{Table: t.id.String(), Bucket: c.Location.Bucket, OutLevel: c.Level, UpgradedWithoutRewrite: c.Upgraded}, c.Before, c.After))
				})
			}
		}
	}
	ev.Stall = func(s lsm.Stall) {
		x := PauseEvent{Table: t.id.String(), Bucket: s.Location.Bucket, Reason: s.Reason}
		switch {
		case !s.Done && e.Paused != nil:
			t.env.tell("Paused", func() { e.Paused(x) })
		case s.Done && e.Resumed != nil:
			t.env.tell("Resumed", func() { e.Resumed(x) })
		}
	}
	return ev
}

// Ident is the name of the table.
func (t *Table) Ident() Ident { return t.id }

// Name is the name of the table as text: db.table.
func (t *Table) Name() string { return t.id.String() }

// Path is the folder of the table.
func (t *Table) Path() string { return t.path }

// Fields are the columns, those of the system table if this is one.
func (t *Table) Fields() ([]types.Field, error) {
	if t.id.System != "" {
		f, err := t.systemFields()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", t.id, ErrUnsupported, err)
		}
		return f, nil
	}
	return slices.Clone(t.schema.Fields), nil
}

// PrimaryKeys are the columns of the primary key, none for append tables and system tables.
func (t *Table) PrimaryKeys() []string {
	if t.id.System != "" {
		return nil
	}
	return slices.Clone(t.schema.PrimaryKeys)
}

// HasPrimaryKey reports whether rows are merged by key.
func (t *Table) HasPrimaryKey() bool { return len(t.schema.PrimaryKeys) > 0 }

// PartitionKeys are the partition columns.
func (t *Table) PartitionKeys() []string { return slices.Clone(t.schema.PartitionKeys) }

// Options are the options stored in the schema.
func (t *Table) Options() map[string]string { return maps.Clone(t.schema.Options) }

// Comment is the comment of the table.
func (t *Table) Comment() string { return t.schema.Comment }

// SchemaID is the number of the schema that the table was opened with.
func (t *Table) SchemaID() int64 { return t.schema.ID }

// With gives the table with other options for reading and writing than those stored. Options that
// files depend on cannot be replaced, and one that is almost an option is refused as misspelled (ErrInvalid).
func (t *Table) With(ctx context.Context, opts map[string]string) (*Table, error) {
	if len(opts) == 0 {
		return t, nil
	}
	for k := range opts {
		if options.Immutable(k) {
			return nil, invalid("option %s of table %s cannot be replaced", k, t.id)
		}
		if meant, ok := options.Misspelled(k); ok {
			return nil, invalid("option %s is not known: did you mean %s?", k, meant)
		}
		given := options.Of(opts, t.schema.Version)
		if err := options.ValidateFresh(given, k); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if options.Bucket.Set(given) && options.Bucket.Get(given) != options.Bucket.Get(t.opts) {
			return nil, invalid("option bucket of table %s cannot be replaced: its rows lie in other buckets", t.id)
		}
	}
	all := maps.Clone(t.dynamic)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, opts)
	if b, ok := opts["branch"]; ok {
		return t.onBranch(ctx, b, all)
	}
	n := t.bare()
	n.dynamic = all
	return n, n.use(ctx, t.schema)
}

// wrap names the table in an error, once.
func (t *Table) wrap(err error) error {
	name := "table " + t.id.String()
	if err == nil || strings.HasPrefix(err.Error(), name+": ") || strings.HasPrefix(err.Error(), name+" ") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// CheckOption tells whether a table option may have a value, as far as that does not depend on the table: what CreateTable
// and writers would say, before there is one. Options that are not known may have any.
func CheckOption(key, value string) error {
	return checkWritten(options.Of(map[string]string{key: value}, 0), true)
}

// warnMisspelled tells of options that are kept in a table, as another engine may know them, but look like a slip.
func (e *env) warnMisspelled(table string, keys iter.Seq[string]) {
	for _, k := range slices.Sorted(keys) {
		if meant, ok := options.Misspelled(k); ok {
			e.log.Warn("option "+k+" is not known and has no effect: did you mean "+meant+"?", "table", table)
		}
	}
}

// onBranch opens another branch of the table.
func (t *Table) onBranch(ctx context.Context, name string, dynamic map[string]string) (*Table, error) {
	delete(dynamic, "branch")
	id := t.id
	if id.Branch = name; name == "main" {
		id.Branch = ""
	}
	if err := checkBranch(id); err != nil {
		return nil, err
	}
	return openTable(ctx, t.env, id, t.path, dynamic)
}

// checkBranch refuses names of branches that would lead out of the table's folder.
func checkBranch(id Ident) error {
	if id.Branch == "" {
		return nil
	}
	if err := paths.CheckBranch(id.Branch); err != nil {
		return fmt.Errorf("table %s: %w", id, err)
	}
	return nil
}

// Refresh gives the table with its newest schema.
func (t *Table) Refresh(ctx context.Context) (*Table, error) {
	n, err := openTable(ctx, t.env, t.id, t.path, t.dynamic)
	if err == nil && n.buckets() == t.buckets() {
		n.sameBuckets.Store(t.sameBuckets.Load())
	}
	return n, err
}

// Incarnation tells the table from another one that was made under its name after it was dropped: it is of the table's
// first schema, which holds the time at which it was made.
func (t *Table) Incarnation(ctx context.Context) (string, error) {
	ids, err := t.schemas.List(ctx)
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("no schema: %w", ErrNotExist)
	}
	if err != nil {
		return "", t.wrap(err)
	}
	data, err := fileio.ReadFile(ctx, t.env.fs, t.schemas.Path(ids[0]))
	if err != nil {
		return "", t.wrap(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// latest reads the newest snapshot, nil if the table has none.
func (t *Table) latest(ctx context.Context) (*snapshot.Snapshot, error) {
	s, err := t.snaps.Latest(ctx)
	if errors.Is(err, snapshot.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, t.wrap(err)
	}
	return s, nil
}

// version is the release of the format whose fields new files have.
func (t *Table) version() manifest.Version {
	if t.ver != 0 {
		return t.ver
	}
	switch t.schema.Version {
	case 1:
		return manifest.V07
	case 2:
		return manifest.V08
	}
	return manifest.Latest
}

// learned gives the table as it is written: at the release of the format that it has been written at so far.
func (t *Table) learned(ctx context.Context) (*Table, error) {
	c, err := t.committerOf()
	if err != nil {
		return nil, err
	}
	v, err := c.Version(ctx)
	if err != nil {
		return nil, t.wrap(err)
	}
	if v == t.version() {
		return t, nil
	}
	n := t.bare()
	n.ver = v
	return n, n.use(ctx, t.schema)
}
