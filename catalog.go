package tarn

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/metastore"
	msfs "github.com/tarnlake/tarn/internal/metastore/fs"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

// OpenOptions of Open and OpenTable. The zero value has the defaults.
type OpenOptions struct {
	// FileIO configures the file system: s3.endpoint, s3.access-key, …
	FileIO map[string]string
	// NoSync leaves out the syncing of files to local disks: faster, and what was committed may be
	// lost if the machine (not the process) stops.
	NoSync bool
	// Log gets what is worth knowing but no error; nil is none.
	Log *slog.Logger
	// Events are called when something happens; nil is none.
	Events *Events
	// Clock is the time of commits, tags and expiry; nil is time.Now.
	Clock func() time.Time
	// CacheBytes bounds the memory for metadata files; 0 is 128 MB.
	CacheBytes int64
}

// env is what all tables of a catalog share.
type env struct {
	fs     fileio.FS
	opts   OpenOptions
	cache  *manifest.Cache
	now    func() time.Time
	log    *slog.Logger
	events *Events

	mu         sync.Mutex
	isPortable map[string]bool // data files that were asked for
}

func newEnv(fs fileio.FS, o *OpenOptions) *env {
	e := &env{fs: fs, isPortable: map[string]bool{}}
	if o != nil {
		e.opts = *o
	}
	e.now, e.log, e.events = e.opts.Clock, e.opts.Log, e.opts.Events
	if e.now == nil {
		e.now = time.Now
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.events == nil {
		e.events = &Events{}
	}
	size := e.opts.CacheBytes
	if size <= 0 {
		size = 128 << 20
	}
	e.cache = manifest.NewCache(size)
	return e
}

// wallMillis is the time that files are stamped with: the wall clock of the clock's zone, as if it was in
// UTC. So the format has it.
func (e *env) wallMillis() int64 {
	now := e.now()
	_, east := now.Zone()
	return now.UnixMilli() + int64(east)*1000
}

// Catalog is a warehouse: databases with tables in them.
type Catalog struct {
	env       *env
	ms        metastore.Metastore
	warehouse string
}

// Open opens the warehouse at a path or URI: ./lake, s3://bucket/lake, memory:/lake (of this Catalog alone) or
// memory://name/lake (of all in the process who name it). It need not exist.
func Open(ctx context.Context, warehouse string, o *OpenOptions) (*Catalog, error) {
	fs, root, err := openFS(ctx, warehouse, o)
	if err != nil {
		return nil, err
	}
	return &Catalog{env: newEnv(fs, o), ms: msfs.New(fs, root), warehouse: root}, nil
}

func openFS(ctx context.Context, uri string, o *OpenOptions) (fileio.FS, string, error) {
	opts := map[string]string{}
	if o != nil {
		for k, v := range o.FileIO {
			opts[k] = v
		}
		if o.NoSync {
			opts[open.SyncOption] = "false"
		}
	}
	fs, root, err := open.FS(ctx, uri, opts)
	if err != nil {
		return nil, "", err // it says so itself
	}
	return fs, strings.TrimRight(root, "/"), nil
}

// OpenTable opens one table by its own path or URI, without a catalog. A system table is opened by
// its name after a $ (…/orders$snapshots).
func OpenTable(ctx context.Context, uri string, o *OpenOptions) (*Table, error) {
	base, system, _ := strings.Cut(uri, "$")
	branch := ""
	if b, ok := strings.CutPrefix(system, "branch_"); ok {
		branch, system, _ = strings.Cut(b, "$")
	}
	if err := checkBranch(Ident{Table: base, Branch: branch}); err != nil {
		return nil, err
	}
	fs, root, err := openFS(ctx, base, o)
	if err != nil {
		return nil, err
	}
	id := Ident{Table: root[strings.LastIndexByte(root, '/')+1:], Branch: branch, System: system}
	if i := strings.LastIndexByte(root, '/'); i > 0 {
		db := root[:i]
		id.Database = strings.TrimSuffix(db[strings.LastIndexByte(db, '/')+1:], ".db")
	}
	return openTable(ctx, newEnv(fs, o), id, root, nil)
}

// Warehouse is the path of the warehouse.
func (c *Catalog) Warehouse() string { return c.warehouse }

// FS is the file system of the warehouse, for what jobs keep beside the tables.
func (c *Catalog) FS() fileio.FS { return c.env.fs }

// Databases lists the databases by name.
func (c *Catalog) Databases(ctx context.Context) ([]string, error) { return c.ms.Databases(ctx) }

// CreateDatabase makes a database; the error is ErrExist if it is there.
func (c *Catalog) CreateDatabase(ctx context.Context, db string, options map[string]string) error {
	return c.ms.CreateDatabase(ctx, db, options)
}

// DatabaseOptions gives the options of a database; the error is ErrNotExist if there is none.
func (c *Catalog) DatabaseOptions(ctx context.Context, db string) (map[string]string, error) {
	return c.ms.DatabaseOptions(ctx, db)
}

// DropDatabase removes a database, with its tables if cascade; else the error is ErrNotEmpty if it
// has any.
func (c *Catalog) DropDatabase(ctx context.Context, db string, cascade bool) error {
	return c.ms.DropDatabase(ctx, db, cascade)
}

// Tables lists the tables of a database by name. Where folders cannot be looked into, it gives the others beside the error.
func (c *Catalog) Tables(ctx context.Context, db string) ([]string, error) {
	return c.ms.Tables(ctx, db)
}

// TableDef describes a table to be made.
type TableDef struct {
	// Fields are the columns; their ids are given by CreateTable.
	Fields []types.Field
	// PrimaryKeys name the columns of the key, in the order of the key; none make an append table, whose
	// rows are never replaced. A key has all partition columns in it.
	PrimaryKeys []string
	// PartitionKeys name the columns whose values are folders of their own; none: the table is not partitioned.
	PartitionKeys []string
	// Options are those of docs/options.md, such as bucket, the number of buckets.
	Options map[string]string
	Comment string
}

// CreateTable makes a table in a database that exists. The error is ErrExist if it is there, and
// wraps ErrInvalid if the definition is wrong.
func (c *Catalog) CreateTable(ctx context.Context, name string, def TableDef) (*Table, error) {
	id, path, err := c.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	if id.System != "" || id.Branch != "" {
		return nil, invalid("%s: a system table or branch cannot be created as a table", name)
	}
	if _, err := c.ms.DatabaseOptions(ctx, id.Database); err != nil {
		return nil, err
	}
	s, err := schema.Create(schema.Definition{
		Fields: def.Fields, PrimaryKeys: def.PrimaryKeys, PartitionKeys: def.PartitionKeys,
		Options: def.Options, Comment: def.Comment, TimeMillis: c.env.now().UnixMilli(),
	})
	if err == nil {
		err = checkEngine(s)
	}
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w: %w", name, ErrInvalid, err)
	}
	if _, ok := def.Options["path"]; ok {
		return nil, fmt.Errorf("create table %s: %w", name, invalid("option path: a table is where its warehouse is, at %s", path))
	}
	m := schema.NewManager(c.env.fs, path)
	if err := newTable(c.env, id, path, m, nil).use(ctx, s); err != nil { // nobody could open it
		return nil, fmt.Errorf("create %w", err)
	}
	if _, err := m.Latest(ctx); err == nil {
		return nil, fmt.Errorf("table %s %w", name, ErrExist)
	} else if !errors.Is(err, iofs.ErrNotExist) {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	if err := m.Commit(ctx, s); err != nil {
		if errors.Is(err, iofs.ErrExist) {
			return nil, fmt.Errorf("table %s %w", name, ErrExist)
		}
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	c.env.warnMisspelled(name, maps.Keys(def.Options))
	return openTable(ctx, c.env, id, path, nil)
}

func (c *Catalog) resolve(ctx context.Context, name string) (Ident, string, error) {
	id, err := ParseIdent(name)
	if err != nil {
		return id, "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	path, err := c.ms.TablePath(ctx, id.Database, id.Table)
	return id, path, err
}

// Table opens a table, a branch or a system table by name. The error is ErrNotExist if there is none.
func (c *Catalog) Table(ctx context.Context, name string) (*Table, error) {
	id, path, err := c.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	return openTable(ctx, c.env, id, path, nil)
}

// DropTable removes a table with all its files; the error is ErrNotExist if there is none.
func (c *Catalog) DropTable(ctx context.Context, name string) error {
	id, path, err := c.resolve(ctx, name)
	if err != nil {
		return err
	}
	if id.System != "" || id.Branch != "" {
		return invalid("%s is no table that can be dropped", name)
	}
	if err := c.ms.DropTable(ctx, id.Database, id.Table); err != nil {
		return err
	}
	c.env.cache.Drop(path)
	return nil
}

// DropUnused removes a table that CreateTable made and that is not needed after all, as what was to fill it failed. One that
// others have written to, altered, or made anew under its name meanwhile stays, and the error tells.
func (c *Catalog) DropUnused(ctx context.Context, t *Table) error {
	now, err := c.Table(ctx, t.Name())
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	snap, err := now.latest(ctx)
	switch {
	case err != nil:
		return err
	case snap != nil:
		return fmt.Errorf("table %s stays: it has been written to, snapshot %d is there", t.id, snap.ID)
	case !reflect.DeepEqual(now.schema, t.schema):
		return fmt.Errorf("table %s stays: somebody else has changed it or made it anew", t.id)
	}
	return c.DropTable(ctx, t.Name())
}

// RenameTable gives a table another name, maybe in another database. On object stores its files are
// copied: nobody may write meanwhile.
func (c *Catalog) RenameTable(ctx context.Context, from, to string) error {
	a, _, err := c.resolve(ctx, from)
	if err != nil {
		return err
	}
	b, _, err := c.resolve(ctx, to)
	if err != nil {
		return err
	}
	if a.System+a.Branch+b.System+b.Branch != "" {
		return invalid("rename %s to %s: only tables can be renamed", from, to)
	}
	return c.ms.RenameTable(ctx, a.Database, a.Table, b.Database, b.Table)
}

// AlterTable changes the schema of a table. Of several changes all happen or none; changes that race
// with others are applied to what these left. The error wraps ErrInvalid if a change is refused.
func (c *Catalog) AlterTable(ctx context.Context, name string, changes ...SchemaChange) error {
	t, err := c.Table(ctx, name)
	if err != nil {
		return err
	}
	return t.Alter(ctx, changes...)
}
