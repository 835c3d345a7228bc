// Package parse reads the SQL that DuckDB does not have: statements that create, change and fill
// tables of the lake, and, in queries, which tables are meant and as of when.
//
// It is a tokenizer and a recursive-descent parser. It knows statements of the lake completely and
// of queries only where tables stand: everything else of a query is left as written, for DuckDB to
// judge. Positions are byte offsets into the text that was given to Script.
package parse
