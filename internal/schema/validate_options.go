package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/types"
)

// aggregates are the aggregate functions of the format; count was one in releases 0.7 and 0.8, and the engine says what to take instead.
var aggregates = []string{
	"sum", "product", "count", "max", "min", "last_value", "last_non_null_value", "first_value", "first_non_null_value",
	"first_not_null_value", "listagg", "bool_and", "bool_or", "collect", "merge_map", "merge_map_with_keytime", "nested_update",
	"nested_partial_update", "theta_sketch", "hll_sketch", "rbm32", "rbm64", "primary-key",
}

// is reads an option that has a fixed set of values.
func (v *validation) is(o *options.Option[string], want string) bool { return o.Get(v.opts) == want }

// options checks options that name columns, or that do not go together.
func (v *validation) options() {
	for _, k := range slices.Sorted(maps.Keys(v.s.Options)) { // one by one: all faults are told
		if err := options.ValidateFresh(v.opts, k); err != nil {
			v.faults = append(v.faults, err)
		}
	}
	if n := strings.TrimSpace(v.s.Options["rowkind.field"]); n != "" {
		if f, ok := v.known("option rowkind.field", n); ok && f.Type.Kind != types.Varchar && f.Type.Kind != types.Char {
			v.add("option rowkind.field: column %q is of type %s, it has to be a string", n, f.Type)
		}
	}
	if n := strings.TrimSpace(v.s.Options["record-level.time-field"]); n != "" {
		kinds := []types.Kind{types.Int, types.BigInt, types.Timestamp, types.TimestampLTZ}
		if f, ok := v.known("option record-level.time-field", n); ok && options.RecordExpireTime.Set(v.opts) && !slices.Contains(kinds, f.Type.Kind) {
			v.add("option record-level.time-field: column %q is of type %s, it has to be INT, BIGINT or a TIMESTAMP", n, f.Type)
		}
	}
	if options.RecordExpireTime.Set(v.opts) && len(v.s.PrimaryKeys) > 0 && strings.TrimSpace(v.s.Options["record-level.time-field"]) == "" {
		v.add("option record-level.expire-time: set record-level.time-field too, the column that says how old a row is")
	}
	if _, ok := v.s.Options["full-compaction.delta-commits"]; ok && len(v.s.PrimaryKeys) == 0 && options.Bucket.Get(v.opts) == -1 {
		v.add("option full-compaction.delta-commits: an append table without buckets cannot have it")
	}
	v.formats()
	v.buckets()
	v.producer()
	v.sequence()
	v.fieldOptions()
	if lo, hi := int64(options.RetainedMin.Get(v.opts)), options.RetainedMax.Get(v.opts); lo < 1 {
		v.add("option snapshot.num-retained.min: at least one snapshot is kept")
	} else if lo > hi {
		v.add("option snapshot.num-retained.min: %d is more than snapshot.num-retained.max, %d", lo, hi)
	}
	if _, ok := v.s.Options["partition.expiration-time"]; ok && len(v.s.PartitionKeys) == 0 {
		v.add("option partition.expiration-time: the table has no partitions")
	}
	if options.ReadSequence.Get(v.opts) && len(v.s.PrimaryKeys) == 0 {
		v.add("option %s: only tables with a primary key can have it", options.ReadSequence.Key())
	}
	if options.RowTracking.Get(v.opts) && (len(v.s.PrimaryKeys) > 0 || options.Bucket.Get(v.opts) != -1) {
		v.add("option row-tracking.enabled: only append tables without buckets can have it")
	}
}

func (v *validation) buckets() {
	s := v.s
	keys := names(s.Options["bucket-key"])
	for _, k := range keys {
		f, ok := v.known("option bucket-key", k)
		switch {
		case !ok:
		case slices.Contains(s.PartitionKeys, k):
			v.add("option bucket-key: column %q is a partition column", k)
		case len(s.PrimaryKeys) > 0 && !slices.Contains(s.PrimaryKeys, k):
			v.add("option bucket-key: column %q is not in the primary key %v", k, s.PrimaryKeys)
		default:
			v.keyType("option bucket-key", f)
		}
	}
	n, err := strconv.Atoi(strings.TrimSpace(s.Options["bucket"]))
	if err != nil {
		if s.Options["bucket"] != "" {
			return // said already
		}
		n = options.Bucket.Get(v.opts)
	}
	switch {
	case n == -1 && len(keys) > 0:
		v.add("option bucket-key: it needs the option bucket, the number of buckets")
	case n == -2 && len(s.PrimaryKeys) == 0:
		v.add("option bucket: -2 (postponed) is for tables with a primary key")
	case n > 0 && len(s.PrimaryKeys) == 0 && keys == nil:
		v.add("an append table with a fixed number of buckets needs the option bucket-key")
	}
}

func (v *validation) producer() {
	producer := options.ChangelogProducer.Get(v.opts)
	firstRow := v.is(options.MergeEngine, "first-row")
	switch {
	case producer != "none" && len(v.s.PrimaryKeys) == 0:
		v.add("option changelog-producer: only a table with a primary key can have it: give the table one, or remove the option")
	case firstRow && producer != "none" && producer != "lookup":
		v.add("option changelog-producer: %s tells of rows that the merge engine first-row leaves out: set it to lookup, or to none", producer)
	}
	if options.DeletionVectors.Get(v.opts) {
		if producer == "full-compaction" {
			v.add("option deletion-vectors.enabled: not with changelog-producer=full-compaction: set that to lookup, input or none")
		}
		if firstRow {
			v.add("option deletion-vectors.enabled: the merge engine first-row has no use for it, it never deletes: remove the option")
		}
	}
	if over := strings.EqualFold(v.s.Options["streaming-read-overwrite"], "true"); over && (producer == "lookup" || producer == "full-compaction") {
		v.add("option streaming-read-overwrite: with changelog-producer=%s changes would be read twice: set one of the two to another value", producer)
	}
}

func (v *validation) sequence() {
	seq := names(v.s.Options["sequence.field"])
	for i, n := range seq {
		v.known("option sequence.field", n)
		if slices.Contains(seq[:i], n) {
			v.add("option sequence.field: column %q comes twice", n)
		}
		if v.s.Options["fields."+n+".aggregate-function"] != "" {
			v.add("option sequence.field: column %q orders rows and cannot have an aggregate function as well: remove fields.%s.aggregate-function", n, n)
		}
	}
	if options.SnapshotOrdering.Get(v.opts) {
		switch key := options.SnapshotOrdering.Key(); {
		case len(v.s.PrimaryKeys) == 0:
			v.add("option %s: only tables with a primary key can have it", key)
		case len(seq) > 0:
			v.add("option %s: not with sequence.field; one of them says which row is newest", key)
		case !options.WriteOnly.Get(v.opts):
			v.add("option %s: set write-only=true too: a writer that compacts would do so before its rows have a snapshot", key)
		}
	}
	if len(seq) == 0 {
		return
	}
	if v.is(options.MergeEngine, "first-row") {
		v.add("option sequence.field: the merge engine first-row keeps the row that was written first, whatever its columns say: remove the option, or take the merge engine deduplicate with sequence.field.sort-order=descending")
	}
	if pk := v.s.PrimaryKeys; len(pk) > 0 && slices.ContainsFunc(v.s.PartitionKeys, func(p string) bool { return !slices.Contains(pk, p) }) {
		v.add("option sequence.field: not with a primary key %v that has not all of the partition columns %v", pk, v.s.PartitionKeys)
	}
}

// fieldOptions checks options fields.<columns>.<name>: aggregate functions and sequence groups.
func (v *validation) fieldOptions() {
	groups := map[string]string{} // column → option of its group
	sequence := map[string]bool{} // columns that order a group
	for _, k := range slices.Sorted(maps.Keys(v.s.Options)) {
		rest, ok := strings.CutPrefix(k, "fields.")
		i := strings.LastIndexByte(rest, '.')
		if !ok || i < 0 {
			continue
		}
		for _, n := range names(rest[:i]) {
			_, known := v.known("option "+k, n)
			if rest[i+1:] != "sequence-group" || !known {
				continue
			}
			sequence[n] = true
			if slices.Contains(v.s.PrimaryKeys, n) {
				v.add("option %s: column %q is in the primary key and cannot order a group, all rows of a key have the same value there: take another column", k, n)
			}
		}
		if rest[i+1:] == "sequence-group" {
			v.group(k, groups)
		}
	}
	engine := options.MergeEngine.Get(v.opts)
	if len(v.s.PrimaryKeys) == 0 || engine != "partial-update" && engine != "aggregation" {
		return
	}
	deflt := v.aggregate("fields.default-aggregate-function")
	if engine == "partial-update" {
		v.partialDeletes(sequence)
	}
	for _, f := range v.s.Fields {
		k := options.Aggregate.Key(f.Name)
		fn := v.aggregate(k)
		if fn != "" && fn != "primary-key" && slices.Contains(v.s.PrimaryKeys, f.Name) {
			v.add("option %s: column %q is in the primary key: all rows that are merged have the same value there; remove the option", k, f.Name)
			continue
		}
		if remove := options.RemoveOnDelete; remove.Get(v.opts) && v.isTrue(options.IgnoreRetract.Key(f.Name)) {
			v.add("option %s: not with %s, by which a -D removes the row: remove one of them", options.IgnoreRetract.Key(f.Name), remove.Key())
		}
		if engine == "partial-update" && fn != "" && fn != "last_non_null_value" && groups[f.Name] == "" && !sequence[f.Name] {
			v.add("option %s: column %q is in no sequence group, so only last_non_null_value can be its aggregate function: put it in one with fields.<sequence column>.sequence-group, or take merge-engine=aggregation", k, f.Name)
		}
		if engine == "partial-update" && fn == "" && deflt != "" && deflt != "last_non_null_value" && groups[f.Name] == "" && !sequence[f.Name] && !slices.Contains(v.s.PrimaryKeys, f.Name) {
			v.add("option fields.default-aggregate-function: column %q is in no sequence group, so only last_non_null_value can be its aggregate function: set %s=last_non_null_value, or put it in a group with fields.<sequence column>.sequence-group", f.Name, k)
		}
	}
}

// partialDeletes checks what deletes do to tables with the engine partial-update. sequence are the columns that order a
// group.
func (v *validation) partialDeletes(sequence map[string]bool) {
	row, group := options.PartialRemove, options.PartialRemoveGroup
	if row.Get(v.opts) && options.IgnoreDelete.Get(v.opts) {
		v.add("option %s: not with ignore-delete, which leaves deletes out: remove one of them", row.Key())
	}
	if row.Get(v.opts) && len(sequence) > 0 {
		v.add("option %s: not with sequence groups, whose deletes set their columns to NULL: set %s=<sequence column> instead, the groups whose deletes remove the row", row.Key(), group.Key())
	}
	names := options.Names(group.Get(v.opts))
	if len(names) > 0 && options.IgnoreDelete.Get(v.opts) {
		v.add("option %s: not with ignore-delete, which leaves deletes out: remove one of them", group.Key())
	}
	for _, n := range names {
		if _, ok := v.known("option "+group.Key(), n); ok && !sequence[n] {
			v.add("option %s: column %q orders no sequence group: name one that does, or set %s", group.Key(), n, options.SequenceGroup.Key(n))
		}
	}
}

// group checks the columns of a sequence group.
func (v *validation) group(option string, groups map[string]string) {
	for _, n := range names(v.s.Options[option]) {
		if _, ok := v.known("option "+option, n); !ok {
			continue
		}
		// In a group a key column could become NULL (BUGS B106).
		if slices.Contains(v.s.PrimaryKeys, n) {
			v.add("option %s: column %q is in the primary key and cannot be in a sequence group, it never changes: take it out", option, n)
		}
		switch other := groups[n]; other {
		case "":
		case option:
			v.add("option %s: column %q comes twice", option, n)
		default:
			v.add("option %s: column %q is in another sequence group, %s: take it out of one of them", option, n, other)
		}
		groups[n] = option
	}
}

// aggregate gives the function of an option, which has to be one of the format's.
func (v *validation) aggregate(option string) string {
	fn := strings.TrimSpace(v.s.Options[option])
	if fn != "" && !slices.Contains(aggregates, fn) {
		v.add("option %s: there is no aggregate function %q; there are %s", option, fn, strings.Join(aggregates, ", "))
	}
	return fn
}

func (v *validation) isTrue(option string) bool {
	return strings.EqualFold(strings.TrimSpace(v.s.Options[option]), "true")
}
