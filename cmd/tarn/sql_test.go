//go:build duckdb_arrow && cgo

package main

import "testing"

// TestSQLScripts runs the scripts of `tarn sql`.
func TestSQLScripts(t *testing.T) { runScripts(t, "testdata/sql") }
