// Package schema reads and writes schema files (schema/schema-N), applies schema changes, and maps
// the columns of older files to newer schemas.
package schema

import "github.com/tarnlake/tarn/types"

// Schema is one version of a table's schema: the content of a file schema/schema-N. It is immutable.
// Specification: concepts/spec/schema.
type Schema struct {
	Version        int // of the file format: 1 (up to 0.7, not written there), 2 (0.8), 3 (from 0.9)
	ID             int64
	Fields         []types.Field
	HighestFieldID int
	PartitionKeys  []string
	PrimaryKeys    []string
	Options        map[string]string // only what the user gave
	Comment        string
	TimeMillis     int64
	Extra          map[string][]byte // members of the file that are not known here, kept on rewrite (raw JSON)
}
