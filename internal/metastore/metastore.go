// Package metastore keeps track of databases and tables. Metastore is what a catalog needs; one
// sub-package implements each kind.
package metastore

import (
	"context"
	"errors"
)

// Errors that a Metastore wraps.
var (
	ErrNotExist = errors.New("does not exist")
	ErrExist    = errors.New("already exists")
	ErrNotEmpty = errors.New("is not empty")
)

// Metastore knows the databases and tables of a warehouse. It is safe for concurrent use. Names are
// checked: one that would leave the warehouse is an error.
type Metastore interface {
	// Databases lists the databases by name.
	Databases(ctx context.Context) ([]string, error)
	// CreateDatabase makes a database with options; ErrExist if it is there.
	CreateDatabase(ctx context.Context, db string, options map[string]string) error
	// DatabaseOptions gives the options of a database; ErrNotExist if there is none.
	DatabaseOptions(ctx context.Context, db string) (map[string]string, error)
	// DropDatabase removes a database, with its tables if cascade, else ErrNotEmpty if it has any.
	DropDatabase(ctx context.Context, db string, cascade bool) error
	// Tables lists the tables of a database by name. Where folders cannot be looked into, it gives the others beside the error.
	Tables(ctx context.Context, db string) ([]string, error)
	// TablePath is where a table is or would be.
	TablePath(ctx context.Context, db, table string) (string, error)
	// DropTable removes a table and all its files; ErrNotExist if there is none.
	DropTable(ctx context.Context, db, table string) error
	// RenameTable gives a table another name, maybe in another database; ErrExist if that is taken.
	RenameTable(ctx context.Context, db, table, toDB, toTable string) error
}
