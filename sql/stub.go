//go:build !duckdb_arrow || !cgo

package sql

import "errors"

// errNoEngine tells why queries do not run in this build.
var errNoEngine = errors.New("this build has no SQL engine: build with cgo and -tags duckdb_arrow")

func openEngine(engineOptions) (engine, error) { return nil, errNoEngine }
