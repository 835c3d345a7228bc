//go:build duckdb_arrow && cgo

package main

import "testing"

// TestSQLScripts runs the scripts of `tarn sql`.
func TestSQLScripts(t *testing.T) { runScripts(t, "testdata/sql") }

func init() {
	storageCommands = append(storageCommands, storageCommand{
		"sql", "", []string{"sql", "INSERT INTO ods.t VALUES (2, 'B'), (4, 'd')"}, newRows,
	})
}
