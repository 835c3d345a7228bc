package systable

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

var snapshotsTable = &table{
	name: "snapshots",
	fields: cols("snapshot_id BIGINT NOT NULL", "schema_id BIGINT NOT NULL", "commit_user STRING NOT NULL", "commit_identifier BIGINT NOT NULL",
		"commit_kind STRING NOT NULL", "commit_time TIMESTAMP(3) NOT NULL", "base_manifest_list STRING NOT NULL", "delta_manifest_list STRING NOT NULL",
		"changelog_manifest_list STRING", "total_record_count BIGINT", "delta_record_count BIGINT", "changelog_record_count BIGINT", "watermark BIGINT", "next_row_id BIGINT"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		ids, err := s.Snapshots.List(ctx)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, id := range ids {
			x, err := s.Snapshots.Get(ctx, id)
			if gone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, []types.Datum{
				x.ID, x.SchemaID, x.CommitUser, x.CommitIdentifier, string(x.CommitKind), instant(x.TimeMillis),
				x.BaseManifestList, x.DeltaManifestList, text(x.ChangelogManifestList), opt(x.TotalRecordCount), opt(x.DeltaRecordCount),
				opt(x.ChangelogRecordCount), opt(x.Watermark), opt(x.NextRowID),
			})
		}
		return out, nil
	},
}

var schemasTable = &table{
	name: "schemas",
	fields: cols("schema_id BIGINT NOT NULL", "fields STRING NOT NULL", "partition_keys STRING NOT NULL", "primary_keys STRING NOT NULL",
		"options STRING NOT NULL", "comment STRING", "update_time TIMESTAMP(3) NOT NULL"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		ids, err := s.Schemas.List(ctx)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, id := range ids {
			x, err := s.Schemas.Get(ctx, id)
			if err != nil {
				return nil, err
			}
			fields, err := json.Marshal(x.Fields)
			if err != nil {
				return nil, err
			}
			out = append(out, []types.Datum{x.ID, string(fields), jsonList(x.PartitionKeys), jsonList(x.PrimaryKeys), jsonMap(optionsOf(x)), text(x.Comment), instant(x.TimeMillis)})
		}
		return out, nil
	},
}

// optionsOf are the options of a schema. Those that the releases before 0.9 had other defaults of count as set in their schemas.
func optionsOf(x *schema.Schema) map[string]string {
	m := maps.Clone(x.Options)
	if m == nil {
		m = map[string]string{}
	}
	o := options.Of(x.Options, x.Version)
	if n := options.Bucket.Get(o); n > 0 && !options.Bucket.Set(o) {
		m[options.Bucket.Key()] = strconv.Itoa(n)
	}
	if f := options.FileFormat.Get(o); f != options.FileFormat.Get(options.Options{}) && !options.FileFormat.Set(o) {
		m[options.FileFormat.Key()] = f
	}
	return m
}

func jsonList(v []string) string {
	b := []byte{'['}
	for i, s := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = types.AppendJSONString(b, s)
	}
	return string(append(b, ']'))
}

func jsonMap(m map[string]string) string {
	b := []byte{'{'}
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(types.AppendJSONString(b, k), ':')
		b = types.AppendJSONString(b, m[k])
	}
	return string(append(b, '}'))
}

var optionsTable = &table{
	name:   "options",
	fields: cols("key STRING NOT NULL", "value STRING NOT NULL"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		now, err := s.Schemas.Latest(ctx)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		m := optionsOf(now)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, []types.Datum{k, m[k]})
		}
		return out, nil
	},
}

var tagsTable = &table{
	name: "tags",
	fields: cols("tag_name STRING NOT NULL", "snapshot_id BIGINT NOT NULL", "schema_id BIGINT NOT NULL", "commit_time TIMESTAMP(3) NOT NULL",
		"record_count BIGINT", "create_time TIMESTAMP(3)", "time_retained STRING"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		tags, err := s.Snapshots.Tags(ctx)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(tags, func(a, b *snapshot.Tag) int { return strings.Compare(a.Name, b.Name) })
		var out [][]types.Datum
		for _, t := range tags {
			x := t.Snapshot
			row := []types.Datum{t.Name, x.ID, x.SchemaID, instant(x.TimeMillis), opt(x.TotalRecordCount), nil, nil}
			if !t.Created.IsZero() {
				row[5], row[6] = instant(t.Created.UnixMilli()), isoDuration(t.Retained)
			}
			out = append(out, row)
		}
		return out, nil
	},
}

// isoDuration writes a duration as ISO 8601 has it, in hours, minutes and seconds: PT720H, PT1M0.5S.
func isoDuration(d time.Duration) string {
	if d == 0 {
		return "PT0S"
	}
	b := []byte("PT")
	if h := d / time.Hour; h != 0 {
		b = append(strconv.AppendInt(b, int64(h), 10), 'H')
	}
	if m := d % time.Hour / time.Minute; m != 0 {
		b = append(strconv.AppendInt(b, int64(m), 10), 'M')
	}
	if s := d % time.Minute; s != 0 {
		b = append(b, strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%09d", s/time.Second, s%time.Second), "0"), ".")...)
		b = append(b, 'S')
	}
	return string(b)
}

var consumersTable = &table{
	name:   "consumers",
	fields: cols("consumer_id STRING NOT NULL", "next_snapshot_id BIGINT NOT NULL"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		all, err := s.Snapshots.Consumers(ctx)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out = append(out, []types.Datum{name, all[name]})
		}
		return out, nil
	},
}

var branchesTable = &table{
	name:   "branches",
	fields: cols("branch_name STRING NOT NULL", "create_time TIMESTAMP(3) NOT NULL"),
	rows: func(ctx context.Context, s *Source) ([][]types.Datum, error) {
		names, err := s.Snapshots.Branches(ctx)
		if err != nil {
			return nil, err
		}
		var out [][]types.Datum
		for _, n := range names {
			at, err := s.Snapshots.BranchTime(ctx, n)
			if gone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, []types.Datum{n, instant(at.UnixMilli())})
		}
		return out, nil
	},
}
