package systable

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/types"
)

func gone(err error) bool { return errors.Is(err, iofs.ErrNotExist) }

func (s *Source) entries(ctx context.Context) ([]manifest.Entry, error) {
	if s.Snapshot == nil {
		return nil, nil
	}
	return s.Planner.Entries(ctx, s.Snapshot, plan.Request{})
}

var filesTable = &table{
	name: "files",
	fields: cols("partition STRING", "bucket INT NOT NULL", "file_path STRING NOT NULL", "file_format STRING NOT NULL", "schema_id BIGINT NOT NULL",
		"level INT NOT NULL", "record_count BIGINT NOT NULL", "file_size_in_bytes BIGINT NOT NULL", "min_key STRING", "max_key STRING",
		"null_value_counts STRING NOT NULL", "min_value_stats STRING NOT NULL", "max_value_stats STRING NOT NULL", "min_sequence_number BIGINT",
		"max_sequence_number BIGINT", "creation_time TIMESTAMP(3)", "deleteRowCount BIGINT", "file_source STRING", "first_row_id BIGINT", "write_cols ARRAY<STRING>"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		entries, err := s.entries(ctx)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for i := range entries {
			row, err := s.fileRow(ctx, &entries[i])
			if err != nil {
				return nil, err
			}
			out = append(out, row)
		}
		return out, nil
	},
}

func (s *Source) fileRow(ctx context.Context, e *manifest.Entry) ([]types.Datum, error) {
	f := e.File
	_, path, err := s.Files.Path(ctx, datafile.Location{Partition: e.Partition, Bucket: e.Bucket}, f)
	if err != nil {
		return nil, err
	}
	part, err := s.partition(e.Partition)
	if err != nil {
		return nil, err
	}
	sc, err := s.Schemas.Get(ctx, f.SchemaID)
	if err != nil {
		return nil, err
	}
	st, err := valueStats(sc, f)
	if err != nil {
		return nil, err
	}
	row := []types.Datum{
		part, int64(e.Bucket), path, f.Name[strings.LastIndexByte(f.Name, '.')+1:], f.SchemaID, int64(f.Level), f.Rows, f.Size,
		nil, nil, st[0], st[1], st[2], f.MinSequence, f.MaxSequence, instant(f.CreationMillis), nil, nil, nil, nil,
	}
	if len(s.Schema.PrimaryKeys) > 0 {
		key := sc.TrimmedPrimaryKey()
		if row[8], err = tuple(f.MinKey, key, "[", "]"); err != nil {
			return nil, err
		}
		if row[9], err = tuple(f.MaxKey, key, "[", "]"); err != nil {
			return nil, err
		}
	}
	if f.DeleteRows >= 0 {
		row[16] = f.DeleteRows
	}
	switch f.Source {
	case manifest.SourceAppend:
		row[17] = "APPEND"
	case manifest.SourceCompact:
		row[17] = "COMPACT"
	}
	if f.FirstRowID >= 0 {
		row[18] = f.FirstRowID
	}
	return row, nil
}

func (s *Source) partitionFields() []types.Field {
	var out []types.Field
	for _, k := range s.Schema.PartitionKeys {
		for _, f := range s.Schema.Fields {
			if f.Name == k {
				out = append(out, f)
			}
		}
	}
	return out
}

// partition writes a partition as {a, b}.
func (s *Source) partition(b []byte) (types.Datum, error) {
	return tuple(b, s.partitionFields(), "{", "}")
}

// tuple writes the values of a row, separated by commas.
func tuple(b []byte, fields []types.Field, open, end string) (types.Datum, error) {
	ts := make([]types.Type, len(fields))
	for i, f := range fields {
		ts[i] = f.Type
	}
	vals, err := binrow.DecodeWithArity(b, ts)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(vals))
	for i, v := range vals {
		parts[i] = show(ts[i], v)
	}
	return open + strings.Join(parts, ", ") + end, nil
}

func show(t types.Type, v types.Datum) string {
	if v == nil {
		return "null"
	}
	return types.FormatDatum(t, v)
}

// valueStats writes null counts, minima and maxima as {a=…, b=…}, by column name.
func valueStats(sc *schema.Schema, f *manifest.DataFile) (out [3]string, err error) {
	fields := sc.Fields
	if f.HasValueStatsCols {
		fields = nil
		for _, name := range f.ValueStatsCols {
			for _, x := range sc.Fields {
				if x.Name == name {
					fields = append(fields, x)
				}
			}
		}
	}
	ts := make([]types.Type, len(fields))
	for i, x := range fields {
		ts[i] = x.Type
	}
	// A file without statistics has rows of no columns.
	if n, err := binrow.Arity(f.ValueStats.Min); err == nil && n == 0 {
		fields, ts = nil, nil
	}
	lo, err := binrow.DecodeWithArity(f.ValueStats.Min, ts)
	if err != nil {
		return out, err
	}
	hi, err := binrow.DecodeWithArity(f.ValueStats.Max, ts)
	if err != nil {
		return out, err
	}
	order := make([]int, len(fields))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(fields[a].Name, fields[b].Name) })
	var parts [3][]string
	for _, i := range order {
		name := fields[i].Name
		count := "null"
		if i < len(f.ValueStats.NullCounts) && f.ValueStats.NullCounts[i] >= 0 {
			count = types.FormatDatum(types.Type{Kind: types.BigInt}, f.ValueStats.NullCounts[i])
		}
		parts[0] = append(parts[0], name+"="+count)
		parts[1] = append(parts[1], name+"="+show(ts[i], lo[i]))
		parts[2] = append(parts[2], name+"="+show(ts[i], hi[i]))
	}
	for i := range out {
		out[i] = "{" + strings.Join(parts[i], ", ") + "}"
	}
	return out, nil
}

var manifestsTable = &table{
	name: "manifests",
	fields: cols("file_name STRING NOT NULL", "file_size BIGINT NOT NULL", "num_added_files BIGINT NOT NULL", "num_deleted_files BIGINT NOT NULL",
		"schema_id BIGINT NOT NULL", "min_partition_stats STRING", "max_partition_stats STRING", "min_row_id BIGINT", "max_row_id BIGINT"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		if s.Snapshot == nil {
			return nil, nil
		}
		metas, err := s.Planner.Metas(ctx, s.Snapshot)
		if err != nil {
			return nil, err
		}
		if list := s.Snapshot.ChangelogManifestList; list != "" {
			more, err := s.Manifests.ReadList(ctx, list)
			if err != nil {
				return nil, err
			}
			metas = append(metas, more...)
		}
		var out [][]types.Datum
		for _, m := range metas {
			row := []types.Datum{m.Name, m.Size, m.Added, m.Deleted, m.SchemaID, nil, nil, nil, nil}
			if row[5], err = s.partition(m.PartitionStats.Min); err != nil {
				return nil, err
			}
			if row[6], err = s.partition(m.PartitionStats.Max); err != nil {
				return nil, err
			}
			if m.HasRowIDs {
				row[7], row[8] = m.MinRowID, m.MaxRowID
			}
			out = append(out, row)
		}
		return out, nil
	},
}

// sum of the files of a partition or bucket.
type sum struct {
	partition          []byte
	bucket             int
	rows, bytes, files int64
	updated            int64
}

// sums adds up files by partition, and by bucket if asked, in the order of the partitions' paths.
func (s *Source) sums(ctx context.Context, byBucket bool) ([]*sum, error) {
	entries, err := s.entries(ctx)
	if err != nil {
		return nil, err
	}
	type id struct {
		partition string
		bucket    int
	}
	at := map[id]*sum{}
	var out []*sum
	for i := range entries {
		e := &entries[i]
		k := id{partition: string(e.Partition)}
		if byBucket {
			k.bucket = e.Bucket
		}
		x := at[k]
		if x == nil {
			x = &sum{partition: e.Partition, bucket: k.bucket}
			at[k] = x
			out = append(out, x)
		}
		x.rows += e.File.Rows
		x.bytes += e.File.Size
		x.files++
		x.updated = max(x.updated, e.File.CreationMillis)
	}
	names := map[*sum]string{}
	for _, x := range out {
		if names[x], err = s.Paths.PartitionPath(x.partition); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b *sum) int {
		return cmp.Or(cmp.Compare(names[a], names[b]), cmp.Compare(a.bucket, b.bucket))
	})
	return out, nil
}

var partitionsTable = &table{
	name: "partitions",
	fields: cols("partition STRING", "record_count BIGINT NOT NULL", "file_size_in_bytes BIGINT NOT NULL", "file_count BIGINT NOT NULL",
		"last_update_time TIMESTAMP(3)", "created_at TIMESTAMP(3)", "created_by STRING", "updated_by STRING", "options STRING"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		sums, err := s.sums(ctx, false)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, x := range sums {
			name, err := s.Paths.PartitionPath(x.partition)
			if err != nil {
				return nil, err
			}
			out = append(out, []types.Datum{paths.Unescape(strings.TrimSuffix(name, "/")), x.rows, x.bytes, x.files, instant(x.updated), nil, nil, nil, nil})
		}
		return out, nil
	},
}

var bucketsTable = &table{
	name: "buckets",
	fields: cols("partition STRING", "bucket INT NOT NULL", "record_count BIGINT NOT NULL", "file_size_in_bytes BIGINT NOT NULL",
		"file_count BIGINT NOT NULL", "last_update_time TIMESTAMP(3)"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		sums, err := s.sums(ctx, true)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, x := range sums {
			part, err := s.partition(x.partition)
			if err != nil {
				return nil, err
			}
			out = append(out, []types.Datum{part, int64(x.bucket), x.rows, x.bytes, x.files, instant(x.updated)})
		}
		return out, nil
	},
}
