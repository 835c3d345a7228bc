// Package systable makes the system tables of a table: t$snapshots, t$files and so on. Names and
// columns are those of the reference.
package systable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// Source is the table that a system table tells of.
type Source struct {
	Schema    *schema.Schema // of Snapshot, or the newest
	Schemas   *schema.Manager
	Snapshots *snapshot.Store
	Manifests *manifest.Store
	Planner   *plan.Planner
	Files     *datafile.Store
	Paths     *paths.Table
	// Snapshot is the one that $files, $manifests, $partitions and $buckets tell of, nil if the table
	// has none.
	Snapshot *snapshot.Snapshot
}

// table is one system table.
type table struct {
	name   string
	fields []types.Field
	rows   func(ctx context.Context, s *Source) ([][]types.Datum, error)
}

// tables are those known. A new one is a file and a line here.
var tables = []*table{
	snapshotsTable, schemasTable, optionsTable, filesTable, manifestsTable, partitionsTable, bucketsTable,
	tagsTable, consumersTable, branchesTable,
}

// later are those of the reference that are not there yet.
var later = []string{"statistics", "aggregation_fields", "table_indexes", "row_tracking", "file_key_ranges"}

// Names lists the system tables.
func Names() []string {
	out := make([]string, len(tables), len(tables)+3)
	for i, t := range tables {
		out[i] = t.name
	}
	out = append(out, ReadOptimized, AuditLog, Binlog)
	slices.Sort(out)
	return out
}

func find(name string) (*table, error) {
	for _, t := range tables {
		if t.name == strings.ToLower(name) {
			return t, nil
		}
	}
	if slices.Contains(later, strings.ToLower(name)) {
		return nil, fmt.Errorf("system table $%s is not supported yet; there are %s", name, strings.Join(Names(), ", "))
	}
	return nil, fmt.Errorf("unknown system table $%s; there are %s", name, strings.Join(Names(), ", "))
}

// Fields are the columns of a system table.
func Fields(name string) ([]types.Field, error) {
	t, err := find(name)
	if err != nil {
		return nil, err
	}
	return t.fields, nil
}

// Read makes the rows of a system table.
func Read(ctx context.Context, name string, s *Source) (arrow.RecordBatch, error) {
	t, err := find(name)
	if err != nil {
		return nil, err
	}
	rows, err := t.rows(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("system table $%s: %w", name, err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types.WideArrowSchema(t.fields))
	for _, r := range rows {
		for i, v := range r {
			if err := appendValue(b.Field(i), t.fields[i].Type, v); err != nil {
				return nil, fmt.Errorf("system table $%s: column %s: %w", name, t.fields[i].Name, err)
			}
		}
	}
	return b.NewRecordBatch(), nil
}

// appendValue appends a value of an atomic type, or names to an ARRAY<STRING>.
func appendValue(b array.Builder, t types.Type, v types.Datum) error {
	names, ok := v.([]string)
	if !ok {
		return types.AppendDatum(b, t, v)
	}
	list := b.(*array.ListBuilder)
	list.Append(true)
	for _, n := range names {
		list.ValueBuilder().(*array.StringBuilder).Append(n)
	}
	return nil
}

// cols makes columns from "name TYPE".
func cols(spec ...string) []types.Field {
	out := make([]types.Field, len(spec))
	for i, s := range spec {
		name, typ, _ := strings.Cut(s, " ")
		out[i] = types.Field{ID: i, Name: name, Type: types.MustParse(typ)}
	}
	return out
}

// opt turns a pointer into a value or NULL.
func opt(p *int64) types.Datum {
	if p == nil {
		return nil
	}
	return *p
}

// text turns an empty string into NULL.
func text(s string) types.Datum {
	if s == "" {
		return nil
	}
	return s
}

func instant(ms int64) types.Datum { return types.Instant{Millis: ms} }
