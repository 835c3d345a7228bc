package systable

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/cast"
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

// placed are the entries without those of rows that have no bucket yet, which a scan does not see either.
func (s *Source) placed(ctx context.Context) ([]manifest.Entry, error) {
	entries, err := s.entries(ctx)
	return slices.DeleteFunc(slices.Clone(entries), func(e manifest.Entry) bool { return e.Bucket == paths.PostponeBucket }), err
}

var filesTable = &table{
	name: "files",
	fields: cols("partition STRING", "bucket INT NOT NULL", "file_path STRING NOT NULL", "file_format STRING NOT NULL", "schema_id BIGINT NOT NULL",
		"level INT NOT NULL", "record_count BIGINT NOT NULL", "file_size_in_bytes BIGINT NOT NULL", "min_key STRING", "max_key STRING",
		"null_value_counts STRING NOT NULL", "min_value_stats STRING NOT NULL", "max_value_stats STRING NOT NULL", "min_sequence_number BIGINT",
		"max_sequence_number BIGINT", "creation_time TIMESTAMP(3)", "deleteRowCount BIGINT", "file_source STRING", "first_row_id BIGINT", "write_cols ARRAY<STRING>"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		entries, err := s.placed(ctx)
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
	st, err := s.valueStats(sc, f)
	if err != nil {
		return nil, err
	}
	if f.ExternalPath != "" {
		path = f.ExternalPath // with its scheme
	}
	row := []types.Datum{
		part, int64(e.Bucket), path, f.Name[strings.LastIndexByte(f.Name, '.')+1:], f.SchemaID, int64(f.Level), f.Rows, f.Size,
		nil, nil, st[0], st[1], st[2], f.MinSequence, f.MaxSequence, instant(f.CreationMillis), nil, nil, nil, nil,
	}
	if len(s.Schema.PrimaryKeys) > 0 {
		key := sc.TrimmedPrimaryKey()
		if row[8], err = tuple(f.MinKey, key, "[", "]", internal); err != nil {
			return nil, err
		}
		if row[9], err = tuple(f.MaxKey, key, "[", "]", internal); err != nil {
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
	if f.WriteCols != nil {
		row[19] = f.WriteCols
	}
	return row, nil
}

// partition writes a partition as {a, b}.
func (s *Source) partition(b []byte) (string, error) {
	return tuple(b, s.Schema.FieldsNamed(s.Schema.PartitionKeys), "{", "}", types.FormatDatum)
}

// tuple writes the values of a row, separated by commas, each as text says.
func tuple(b []byte, fields []types.Field, open, end string, text func(types.Type, types.Datum) string) (string, error) {
	vals, err := binrow.DecodeWithArity(b, types.TypesOf(fields))
	if err != nil {
		return "", err
	}
	parts := make([]string, len(vals))
	for i, v := range vals {
		parts[i] = text(fields[i].Type, v)
	}
	return open + strings.Join(parts, ", ") + end, nil
}

// columnStats are the statistics of a column as a file has them.
type columnStats struct {
	field  types.Field
	lo, hi types.Datum
	nulls  types.Datum
}

// statsOf gives the statistics of a file by the ids of its columns.
func statsOf(sc *schema.Schema, f *manifest.DataFile) (map[int]columnStats, error) {
	fields, _ := datafile.StatsFields(sc.Fields, f)
	// A file without statistics has rows of no columns.
	if n, err := binrow.Arity(f.ValueStats.Min); err == nil && n == 0 {
		fields = nil
	}
	lo, err := binrow.DecodeWithArity(f.ValueStats.Min, types.TypesOf(fields))
	if err != nil {
		return nil, err
	}
	hi, err := binrow.DecodeWithArity(f.ValueStats.Max, types.TypesOf(fields))
	if err != nil {
		return nil, err
	}
	out := make(map[int]columnStats, len(fields))
	for i, x := range fields {
		c := columnStats{field: x, lo: lo[i], hi: hi[i]}
		if i < len(f.ValueStats.NullCounts) && f.ValueStats.NullCounts[i] >= 0 {
			c.nulls = f.ValueStats.NullCounts[i]
		}
		out[x.ID] = c
	}
	return out, nil
}

// valueStats writes null counts, minima and maxima of all columns of the table as {a=…, b=…}, by column
// name. Those of a file of an older schema are brought to the new one, as its rows are.
func (s *Source) valueStats(sc *schema.Schema, f *manifest.DataFile) (out [3]string, err error) {
	have, err := statsOf(sc, f)
	if err != nil {
		return out, err
	}
	fields := slices.Clone(s.Schema.Fields)
	slices.SortFunc(fields, func(a, b types.Field) int { return cmp.Compare(a.Name, b.Name) })
	var parts [3][]string
	for _, x := range fields {
		c, ok := have[x.ID]
		if !ok && !slices.ContainsFunc(sc.Fields, func(y types.Field) bool { return y.ID == x.ID }) {
			c.nulls = f.Rows // the column came later
		}
		for i, v := range []types.Datum{c.nulls, c.lo, c.hi} {
			t := types.Type{Kind: types.BigInt}
			if i > 0 {
				if t = x.Type; v != nil && !t.EqualShape(c.field.Type) {
					if v, err = cast.Value(v, c.field.Type, t); err != nil {
						v = nil // a value that is none of the new type: reading the file says so
					}
				}
			}
			parts[i] = append(parts[i], x.Name+"="+internal(t, v))
		}
	}
	for i := range out {
		out[i] = "{" + strings.Join(parts[i], ", ") + "}"
	}
	return out, nil
}

// internal is the text of a value where the reference shows its internal form.
func internal(t types.Type, v types.Datum) string {
	if v == nil {
		return "null"
	}
	return paths.InternalText(t, v)
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
		more, err := s.Manifests.ReadList(ctx, s.Snapshot.Changelog())
		if err != nil {
			return nil, err
		}
		metas = append(metas, more...)
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
	partition          string
	bucket             int
	rows, bytes, files int64
	updated            int64
}

// sumsOf adds up files by the text of their partition, and by bucket if asked, in the order of these.
func sumsOf(entries []manifest.Entry, byBucket bool, text func([]byte) (string, error)) (out []*sum, err error) {
	type id struct {
		partition string
		bucket    int
	}
	at := map[id]*sum{}
	texts := map[string]string{}
	for i := range entries {
		e := &entries[i]
		k := id{partition: string(e.Partition)}
		if byBucket {
			k.bucket = e.Bucket
		}
		x := at[k]
		if x == nil {
			name, known := texts[k.partition]
			if !known {
				if name, err = text(e.Partition); err != nil {
					return nil, err
				}
				texts[k.partition] = name
			}
			x = &sum{partition: name, bucket: k.bucket}
			at[k] = x
			out = append(out, x)
		}
		x.rows += e.File.Rows
		x.bytes += e.File.Size
		x.files++
		x.updated = max(x.updated, e.File.CreationMillis)
	}
	slices.SortStableFunc(out, func(a, b *sum) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket))
	})
	return out, nil
}

var partitionsTable = &table{
	name: "partitions",
	fields: cols("partition STRING", "record_count BIGINT NOT NULL", "file_size_in_bytes BIGINT NOT NULL", "file_count BIGINT NOT NULL",
		"last_update_time TIMESTAMP(3)", "created_at TIMESTAMP(3)", "created_by STRING", "updated_by STRING", "options STRING"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		entries, err := s.placed(ctx)
		if err != nil {
			return nil, err
		}
		sums, err := sumsOf(entries, false, s.Paths.PartitionText)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, x := range sums {
			out = append(out, []types.Datum{x.partition, x.rows, x.bytes, x.files, instant(x.updated), nil, nil, nil, nil})
		}
		return out, nil
	},
}

var bucketsTable = &table{
	name: "buckets",
	fields: cols("partition STRING", "bucket INT NOT NULL", "record_count BIGINT NOT NULL", "file_size_in_bytes BIGINT NOT NULL",
		"file_count BIGINT NOT NULL", "last_update_time TIMESTAMP(3)"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		entries, err := s.entries(ctx)
		if err != nil {
			return nil, err
		}
		sums, err := sumsOf(entries, true, s.partition)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, x := range sums {
			out = append(out, []types.Datum{x.partition, int64(x.bucket), x.rows, x.bytes, x.files, instant(x.updated)})
		}
		return out, nil
	},
}
