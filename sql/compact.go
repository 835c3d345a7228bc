package sql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn"
)

// compact is the procedure of one table.
func (s *Session) compact(ctx context.Context, t *tarn.Table, a map[string]string) (string, error) {
	for _, k := range []string{"where", "buckets"} {
		if a[k] != "" {
			return "", fmt.Errorf("sys.compact: argument %s is %w", k, tarn.ErrUnsupported)
		}
	}
	var o tarn.CompactOptions
	var err error
	if o.IdleTime, err = idleTime(a); err != nil {
		return "", err
	}
	if o.Full, err = full(a); err != nil {
		return "", err
	}
	if o.Partitions, err = partitionSpecs(t, a["partitions"]); err != nil {
		return "", err
	}
	o.Order = a["order_strategy"]
	for c := range strings.SplitSeq(a["order_by"], ",") {
		if c = strings.TrimSpace(c); c != "" {
			o.OrderBy = append(o.OrderBy, c)
		}
	}
	switch {
	case (o.Order == "") != (len(o.OrderBy) == 0):
		return "", fmt.Errorf("%w: sys.compact: order_strategy and order_by go together", tarn.ErrInvalid)
	case o.Order != "" && o.IdleTime > 0:
		return "", fmt.Errorf("%w: sys.compact: partition_idle_time does not go with order_by", tarn.ErrInvalid)
	}
	with, err := pairs("options", a["options"])
	if err != nil {
		return "", err
	}
	if t, err = t.With(ctx, with); err != nil {
		return "", err
	}
	r, err := t.Compact(ctx, o)
	if err == nil && r.SnapshotID == 0 {
		return "nothing to compact", nil
	}
	return fmt.Sprintf("compacted, snapshot %d", r.SnapshotID), err
}

// compactDatabase is the procedure of many tables. It tells a line of each.
func (s *Session) compactDatabase(ctx context.Context, _ *tarn.Table, a map[string]string) (string, error) {
	switch strings.ToLower(a["mode"]) {
	case "", "divided", "combined": // how jobs of the reference share tables; here they share one process
	default:
		return "", fmt.Errorf("%w: mode: %q is neither divided nor combined", tarn.ErrInvalid, a["mode"])
	}
	lines := map[string]string{}
	o := tarn.TablesCompactOptions{
		Databases: a["including_databases"], Include: a["including_tables"], Exclude: a["excluding_tables"],
		Done: func(c tarn.TableCompacted) {
			switch {
			case c.Err != nil:
			case c.Result.SnapshotID == 0:
				lines[c.Table] = c.Table + ": nothing to compact"
			default:
				lines[c.Table] = fmt.Sprintf("%s: compacted, snapshot %d", c.Table, c.Result.SnapshotID)
			}
		},
	}
	var err error
	if o.IdleTime, err = idleTime(a); err != nil {
		return "", err
	}
	if o.Full, err = full(a); err != nil {
		return "", err
	}
	if o.Options, err = pairs("table_options", a["table_options"]); err != nil {
		return "", err
	}
	err = s.cat.CompactTables(ctx, o)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		text.WriteString(lines[name] + "\n")
	}
	return text.String(), err
}

// full reads how much is to be compacted: all, unless compact_strategy or full say otherwise.
func full(a map[string]string) (bool, error) {
	all, err := flag(a, "full", true)
	if err != nil {
		return false, err
	}
	switch v := strings.TrimSpace(a["compact_strategy"]); strings.ToLower(v) {
	case "":
		return all, nil
	case "full", "minor":
		if a["full"] != "" {
			return false, fmt.Errorf("%w: compact_strategy and full are the same: give one of them", tarn.ErrInvalid)
		}
		return strings.EqualFold(v, "full"), nil
	default:
		return false, fmt.Errorf("%w: compact_strategy: %q is neither full nor minor", tarn.ErrInvalid, v)
	}
}

// idleTime reads partition_idle_time, 0 if it is not given.
func idleTime(a map[string]string) (time.Duration, error) {
	v := a["partition_idle_time"]
	if v == "" {
		return 0, nil
	}
	d, err := tarn.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%w: partition_idle_time: %q is no length of time, such as 1 d", tarn.ErrInvalid, v)
	}
	return d, nil
}

// pairs reads options as procedures take them: key=value, with commas between them.
func pairs(arg, text string) (map[string]string, error) {
	out := map[string]string{}
	for kv := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(kv) == "" {
			continue
		}
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, fmt.Errorf("%w: %s: %q is no key=value", tarn.ErrInvalid, arg, kv)
		}
		out[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return out, nil
}
