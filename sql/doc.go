// Package sql is the SQL of the lake: a session that runs queries in an embedded DuckDB and
// statements that DuckDB does not have (package parse) on a Catalog.
//
// A query's tables are replaced by views: over DuckDB's own Parquet reader for files that can be
// read as they are, and over a table function that pulls Arrow batches for the rest. The function
// is told which columns are wanted each time it is started, so a table may be named several times in
// a query. Filters that reach the tables are found by explaining the query over empty tables of the
// same columns; they leave out files and row groups, and DuckDB applies them again.
//
// DuckDB needs cgo and the build tag duckdb_arrow. Without them the package builds, statements on
// the catalog work, and queries fail with an error that says so.
package sql
