package sql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
)

// procedure is what CALL sys.name runs.
type procedure struct {
	doc  string
	need int      // so many of args have to be given
	args []string // names, in order; the first may be the table
	// run gives lines for people, beside a *tarn.FailedTablesError too. t is nil if no table is among args.
	run func(s *Session, ctx context.Context, t *tarn.Table, args map[string]string) (string, error)
}

// procedures are those supported. A new one is a line here.
var procedures = map[string]procedure{
	"compact": {"merge the files of a table", 1, []string{
		"table", "partitions", "order_strategy", "order_by", "options", "where", "partition_idle_time", "compact_strategy", "buckets", "full",
	}, (*Session).compact},
	"compact_database": {"merge the files of many tables", 0, []string{
		"including_databases", "mode", "including_tables", "excluding_tables", "table_options", "partition_idle_time", "compact_strategy",
	}, (*Session).compactDatabase},
	"expire_snapshots": {"remove snapshots that need not be kept", 1, []string{"table", "retain_max", "retain_min", "older_than"}, func(s *Session, ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
		var o tarn.ExpireOptions
		for k, to := range map[string]*int{"retain_max": &o.RetainMax, "retain_min": &o.RetainMin} {
			if v, ok := a[k]; ok {
				n, err := strconv.Atoi(v)
				if err != nil || n < 1 {
					return "", fmt.Errorf("%w: %s: %q is no number from 1 on", tarn.ErrInvalid, k, v)
				}
				*to = n
			}
		}
		if v, ok := a["older_than"]; ok {
			d, err := s.age(v)
			if err != nil {
				return "", err
			}
			o.TimeRetained = max(d, time.Nanosecond)
		}
		e, err := t.ExpireSnapshots(ctx, o)
		return fmt.Sprintf("%d snapshots expired, %d files removed", e.Snapshots, e.Files), err
	}},
	"create_tag": {"give a snapshot a name under which it is kept", 2, []string{"table", "tag", "snapshot_id"}, func(s *Session, ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
		id, err := optionalID(a["snapshot_id"])
		if err != nil {
			return "", err
		}
		return "tag " + a["tag"] + " created", t.CreateTag(ctx, a["tag"], id)
	}},
	"delete_tag": {"remove a tag", 2, []string{"table", "tag"}, func(s *Session, ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
		err := t.DeleteTag(ctx, a["tag"])
		if errors.Is(err, fs.ErrNotExist) {
			return "", &Error{Msg: fmt.Sprintf("table %s has no tag %s", t.Name(), a["tag"]), Err: tarn.ErrNotExist}
		}
		return "tag " + a["tag"] + " deleted", err
	}},
	"reset_consumer": {"set where a consumer goes on, or delete it", 2, []string{"table", "consumer_id", "next_snapshot_id"}, func(s *Session, ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
		id, err := optionalID(a["next_snapshot_id"])
		if err != nil {
			return "", err
		}
		if id == 0 {
			return "consumer " + a["consumer_id"] + " deleted", t.DeleteConsumer(ctx, a["consumer_id"])
		}
		return fmt.Sprintf("consumer %s goes on at %d", a["consumer_id"], id), t.PutConsumer(ctx, a["consumer_id"], id)
	}},
	"remove_orphan_files": {"remove files that nothing refers to", 1, []string{"table", "older_than", "dry_run"}, func(s *Session, ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
		age := 24 * time.Hour
		if v, ok := a["older_than"]; ok {
			var err error
			if age, err = s.age(v); err != nil {
				return "", err
			}
		}
		dry, err := flag(a, "dry_run", false)
		if err != nil {
			return "", err
		}
		if age == 0 && !dry { // as the reference has it
			return "", fmt.Errorf("%w: older_than has to be before now: files that a writer is about to commit would be removed", tarn.ErrInvalid)
		}
		// What jobs have prepared and not committed yet is referred to by their checkpoints only.
		keep, err := s.cat.PreparedByJobs(ctx, t.Name())
		if err != nil {
			return "", err
		}
		paths, err := t.Orphans(ctx, s.now().Add(-age), dry, keep...)
		if dry {
			return fmt.Sprintf("%d files would be removed", len(paths)), err
		}
		return fmt.Sprintf("%d files removed", len(paths)), err
	}},
	"rescale": {"distribute rows to another number of buckets", 1, []string{"table", "bucket_num", "partitions", "partition"}, func(s *Session, ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
		var o tarn.RescaleOptions
		if v, ok := a["bucket_num"]; ok {
			var err error
			if o.Buckets, err = strconv.Atoi(v); err != nil || o.Buckets < 1 {
				return "", fmt.Errorf("%w: bucket_num: %q is no number from 1 on", tarn.ErrInvalid, v)
			}
		}
		if a["partitions"] != "" && a["partition"] != "" {
			return "", fmt.Errorf("%w: partitions and partition are the same: give one of them", tarn.ErrInvalid)
		}
		var err error
		if o.Partitions, err = partitionSpecs(t, a["partitions"]+a["partition"]); err != nil {
			return "", err
		}
		r, err := t.Rescale(ctx, o)
		if err == nil && r.SnapshotID == 0 {
			return "nothing to rescale", nil
		}
		return fmt.Sprintf("rescaled, snapshot %d", r.SnapshotID), err
	}},
}

// partitionSpecs reads partitions as procedures take them: column=value,… of one, and semicolons between them.
func partitionSpecs(t *tarn.Table, text string) ([]map[string]*string, error) {
	var out []map[string]*string
	for one := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		spec := map[string]*string{}
		for pair := range strings.SplitSeq(one, ",") {
			name, value, ok := strings.Cut(pair, "=")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			i := slices.IndexFunc(t.PartitionKeys(), func(k string) bool { return strings.EqualFold(k, name) })
			switch {
			case !ok:
				return nil, fmt.Errorf("%w: partition %q: write column=value, commas between columns and semicolons between partitions", tarn.ErrInvalid, one)
			case i < 0:
				return nil, fmt.Errorf("%w: partition %q: table %s has no partition column %s", tarn.ErrInvalid, one, t.Name(), name)
			}
			spec[t.PartitionKeys()[i]] = &value
		}
		out = append(out, spec)
	}
	return out, nil
}

// flag reads an argument that is true or false.
func flag(args map[string]string, name string, def bool) (bool, error) {
	v, ok := args[name]
	if !ok {
		return def, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, fmt.Errorf("%w: %s: %q is neither true nor false", tarn.ErrInvalid, name, v)
	}
	return b, nil
}

// age reads an argument that is a duration, or a time in UTC, and gives how long ago that is.
func (s *Session) age(v string) (time.Duration, error) {
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return d, nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04:05.999", time.RFC3339} {
		if at, err := time.Parse(layout, v); err == nil {
			return max(0, s.now().Sub(at)), nil
		}
	}
	return 0, fmt.Errorf("%w: older_than: %q is neither a duration such as 24h nor a time such as 2024-01-31 12:00:00", tarn.ErrInvalid, v)
}

func optionalID(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%w: %q is no number of a snapshot", tarn.ErrInvalid, s)
	}
	return id, nil
}

// known are procedures of the reference that are not supported.
var known = []string{
	"create_branch", "delete_branch", "rename_branch", "fast_forward", "rename_tag", "replace_tag", "rollback_to", "rollback_to_timestamp",
	"rollback_to_watermark", "expire_partitions", "expire_tags", "expire_changelogs", "drop_partition", "merge_into", "compact_manifest",
	"mark_partition_done", "migrate_table", "migrate_database", "migrate_file", "clone", "copy_files", "repair", "rewrite_file_index", "purge_files",
	"clear_consumers", "remove_unexisting_files", "remove_unexisting_manifests", "create_tag_from_timestamp", "create_tag_from_watermark", "query_service",
	"alter_view_dialect", "alter_column_default_value", "create_function", "alter_function", "drop_function", "trigger_tag_automatic_creation",
	"create_global_index", "drop_global_index", "vector_search", "full_text_search", "compact_chain_table", "merge_branch", "reassign_row_id",
	"repair_earliest_snapshot", "rollback_to_as_latest", "materialize_deletion_vectors",
}

func (s *Session) call(ctx context.Context, x *parse.Call) (*Result, error) {
	p, ok := procedures[x.Name]
	if !ok {
		if slices.Contains(known, x.Name) {
			return nil, fmt.Errorf("procedure sys.%s is known and %w yet", x.Name, tarn.ErrUnsupported)
		}
		var names []string
		for n := range procedures {
			names = append(names, n)
		}
		slices.Sort(names)
		e := &Error{Msg: fmt.Sprintf("there is no procedure sys.%s", x.Name), Hint: "there are " + strings.Join(names, ", "), Err: tarn.ErrNotExist}
		if n := parse.Nearest(x.Name, names); n != "" {
			e.Hint = "did you mean sys." + n + "?"
		}
		return nil, e
	}
	args := map[string]string{}
	for i, a := range x.Args {
		name := strings.ToLower(a.Name)
		if name == "" {
			if i >= len(p.args) {
				return nil, fmt.Errorf("%w: sys.%s takes %s", tarn.ErrInvalid, x.Name, strings.Join(p.args, ", "))
			}
			name = p.args[i]
		}
		if !slices.Contains(p.args, name) {
			return nil, fmt.Errorf("%w: sys.%s has no argument %s; it takes %s", tarn.ErrInvalid, x.Name, name, strings.Join(p.args, ", "))
		}
		if _, twice := args[name]; twice {
			return nil, fmt.Errorf("%w: sys.%s: argument %s is given twice", tarn.ErrInvalid, x.Name, name)
		}
		if a.Value.Kind != parse.Null {
			args[name] = a.Value.Text
		}
	}
	for _, n := range p.args[:p.need] {
		if args[n] == "" {
			return nil, fmt.Errorf("%w: sys.%s: argument %s is missing; it takes %s", tarn.ErrInvalid, x.Name, n, strings.Join(p.args, ", "))
		}
	}
	var t *tarn.Table
	if slices.Contains(p.args, "table") {
		db, tab, ok := strings.Cut(args["table"], ".")
		n := parse.TableName{Database: db, Table: tab}
		if !ok {
			n = parse.TableName{Table: args["table"]}
		}
		var err error
		if t, err = s.table(ctx, n); err != nil {
			return nil, err
		}
	}
	text, err := p.run(s, ctx, t, args)
	some := (*tarn.FailedTablesError)(nil)
	if err != nil && (text == "" || !errors.As(err, &some)) {
		return nil, err
	}
	if text == "" {
		return nil, errors.New("the procedure told nothing")
	}
	var rows [][]string
	for line := range strings.Lines(text) {
		rows = append(rows, []string{strings.TrimSuffix(line, "\n")})
	}
	r := texts([]string{"result"}, rows)
	r.missing = err
	return r, nil
}
