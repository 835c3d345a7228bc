// Package fs is the metastore of a file-system warehouse: a database is a folder `<name>.db`, a
// table a folder in it that has a schema file.
package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"path"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/metastore"
	"github.com/tarnlake/tarn/internal/paths"
)

// marker makes a database without tables exist on object stores and holds its options. Other engines
// look for folders only.
const marker = ".tarn-database.json"

// Metastore is a warehouse folder.
type Metastore struct {
	fs   fileio.FS
	root string
}

// New opens the warehouse at root. Nothing is created before the first database.
func New(fs fileio.FS, root string) *Metastore {
	return &Metastore{fs, strings.TrimRight(root, "/")}
}

func (m *Metastore) dbPath(db string) (string, error) {
	if err := paths.CheckName("database", db); err != nil {
		return "", err
	}
	return m.root + "/" + paths.DatabaseDir(db), nil
}

// Databases implements metastore.Metastore.
func (m *Metastore) Databases(ctx context.Context) ([]string, error) {
	var out []string
	for info, err := range m.fs.List(ctx, m.root) {
		if err != nil {
			return nil, fmt.Errorf("list databases of %s: %w", m.root, err)
		}
		if name, ok := strings.CutSuffix(path.Base(info.Path), ".db"); ok && info.IsDir && name != "" {
			out = append(out, name)
		}
	}
	return out, nil
}

// exists looks for a folder: object stores have none, only what is in it.
func (m *Metastore) exists(ctx context.Context, dir string) (bool, error) {
	_, err := m.fs.Stat(ctx, dir)
	if errors.Is(err, iofs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CreateDatabase implements metastore.Metastore.
func (m *Metastore) CreateDatabase(ctx context.Context, db string, options map[string]string) error {
	dir, err := m.dbPath(db)
	if err != nil {
		return err
	}
	if _, ok := options["location"]; ok {
		return fmt.Errorf("create database %s: %w: the option location: a database lies in the folder %s of its warehouse", db, paths.ErrInvalid, paths.DatabaseDir(db))
	}
	ok, err := m.exists(ctx, dir)
	if err != nil {
		return fmt.Errorf("create database %s: %w", db, err)
	}
	if ok {
		return fmt.Errorf("database %s %w", db, metastore.ErrExist)
	}
	if options == nil {
		options = map[string]string{}
	}
	data, err := json.Marshal(map[string]any{"options": options})
	if err != nil {
		return fmt.Errorf("create database %s: %w", db, err)
	}
	err = m.fs.PutIfAbsent(ctx, dir+"/"+marker, data)
	if errors.Is(err, iofs.ErrExist) {
		return fmt.Errorf("database %s %w", db, metastore.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", db, err)
	}
	return nil
}

// DatabaseOptions implements metastore.Metastore.
func (m *Metastore) DatabaseOptions(ctx context.Context, db string) (map[string]string, error) {
	dir, err := m.needDB(ctx, db)
	if err != nil {
		return nil, err
	}
	data, err := fileio.ReadFile(ctx, m.fs, dir+"/"+marker)
	if errors.Is(err, iofs.ErrNotExist) { // made by another engine
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("options of database %s: %w", db, err)
	}
	var v struct {
		Options map[string]string `json:"options"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("options of database %s: %s/%s: %w", db, dir, marker, err)
	}
	return maps.Clone(v.Options), nil
}

func (m *Metastore) needDB(ctx context.Context, db string) (string, error) {
	dir, err := m.dbPath(db)
	if err != nil {
		return "", err
	}
	ok, err := m.exists(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("database %s: %w", db, err)
	}
	if !ok {
		return "", fmt.Errorf("database %s %w", db, metastore.ErrNotExist)
	}
	return dir, nil
}

// DropDatabase implements metastore.Metastore.
func (m *Metastore) DropDatabase(ctx context.Context, db string, cascade bool) error {
	dir, err := m.needDB(ctx, db)
	if err != nil {
		return err
	}
	if !cascade {
		tables, err := m.Tables(ctx, db)
		if err != nil {
			return err
		}
		if len(tables) > 0 {
			return fmt.Errorf("database %s %w: it has %d tables; drop them first or drop with CASCADE", db, metastore.ErrNotEmpty, len(tables))
		}
	}
	if err := m.fs.Delete(ctx, dir); err != nil {
		return fmt.Errorf("drop database %s: %w", db, err)
	}
	return nil
}

// Tables implements metastore.Metastore.
func (m *Metastore) Tables(ctx context.Context, db string) ([]string, error) {
	dir, err := m.needDB(ctx, db)
	if err != nil {
		return nil, err
	}
	var out []string
	var bad []error
	for info, err := range m.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("list tables of %s: %w", db, err)
		}
		name := path.Base(info.Path)
		if !info.IsDir || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			continue
		}
		ok, err := m.isTable(ctx, info.Path)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, fmt.Errorf("list tables of %s: %w", db, ctx.Err())
		case err != nil:
			bad = append(bad, fmt.Errorf("table %s.%s: %w", db, name, err))
		case ok:
			out = append(out, name)
		}
	}
	return out, errors.Join(bad...)
}

// isTable looks for a schema file.
func (m *Metastore) isTable(ctx context.Context, dir string) (bool, error) {
	for info, err := range m.fs.List(ctx, dir+"/schema") {
		if err != nil {
			return false, err
		}
		if strings.HasPrefix(path.Base(info.Path), "schema-") {
			return true, nil
		}
	}
	return false, nil
}

// TablePath implements metastore.Metastore.
func (m *Metastore) TablePath(_ context.Context, db, table string) (string, error) {
	dir, err := m.dbPath(db)
	if err != nil {
		return "", err
	}
	if err := paths.CheckName("table", table); err != nil {
		return "", err
	}
	return dir + "/" + table, nil
}

func (m *Metastore) needTable(ctx context.Context, db, table string) (string, error) {
	p, err := m.TablePath(ctx, db, table)
	if err != nil {
		return "", err
	}
	ok, err := m.isTable(ctx, p)
	if err != nil {
		return "", fmt.Errorf("table %s.%s: %w", db, table, err)
	}
	if !ok {
		return "", fmt.Errorf("table %s.%s %w", db, table, metastore.ErrNotExist)
	}
	return p, nil
}

// DropTable implements metastore.Metastore. The schema goes last: a table half dropped can be
// dropped again.
func (m *Metastore) DropTable(ctx context.Context, db, table string) error {
	p, err := m.needTable(ctx, db, table)
	if err != nil {
		return err
	}
	for info, err := range m.fs.List(ctx, p) {
		if err == nil && path.Base(info.Path) != "schema" {
			err = m.fs.Delete(ctx, info.Path)
		}
		if err != nil {
			return fmt.Errorf("drop table %s.%s: %w", db, table, err)
		}
	}
	if err := m.fs.Delete(ctx, p); err != nil {
		return fmt.Errorf("drop table %s.%s: %w", db, table, err)
	}
	return nil
}

// RenameTable implements metastore.Metastore.
func (m *Metastore) RenameTable(ctx context.Context, db, table, toDB, toTable string) error {
	from, err := m.needTable(ctx, db, table)
	if err != nil {
		return err
	}
	if _, err := m.needDB(ctx, toDB); err != nil {
		return err
	}
	to, err := m.TablePath(ctx, toDB, toTable)
	if err != nil {
		return err
	}
	taken, err := m.isTable(ctx, to)
	if err != nil {
		return fmt.Errorf("rename table %s.%s: %w", db, table, err)
	}
	if taken {
		return fmt.Errorf("table %s.%s %w", toDB, toTable, metastore.ErrExist)
	}
	err = m.fs.Rename(ctx, from, to)
	if errors.Is(err, iofs.ErrExist) {
		return fmt.Errorf("table %s.%s %w", toDB, toTable, metastore.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("rename table %s.%s to %s.%s: %w", db, table, toDB, toTable, err)
	}
	return nil
}
