package tarn

import "github.com/tarnlake/tarn/internal/paths"

// Ident names a table of a catalog, a branch of it, or one of its system tables: Database, Table, Branch (""
// is main) and System ("" is the table itself, else "snapshots", "files", …). Its String is what ParseIdent reads.
type Ident = paths.Identifier

// ParseIdent parses "db.table", "db.table$snapshots", "db.table$branch_b" and
// "db.table$branch_b$files".
func ParseIdent(s string) (Ident, error) { return paths.ParseIdentifier(s, "") }
