package metatest

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tarnlake/tarn"
)

// kindColumn is the column of rowkind.field.
const kindColumn = "rk"

// producers are the changelog producers by engine.
var producers = map[string][]string{
	"deduplicate":    {"none", "none", "input", "lookup", "full-compaction"},
	"partial-update": {"none", "input", "lookup", "full-compaction"},
	"aggregation":    {"none", "input", "lookup", "full-compaction"},
	"first-row":      {"none", "lookup"},
}

// tells reports whether compactions make the changelog.
func (w *world) tells() bool { return w.producer == "lookup" || w.producer == "full-compaction" }

// someOptions are options that make no difference to the rows; a few of them are set in each history.
var someOptions = map[string][]string{
	"file.compression.zstd-level":         {"3", "9"},
	"file.compression.per.level":          {"0:lz4,1:none,5:snappy"},
	"file.suffix.include.compression":     {"true"},
	"file.block-size":                     {"1 b", "1 kb"},
	"data-file.prefix":                    {"part-"},
	"data-file.path-directory":            {"data"},
	"metadata.stats-dense-store":          {"false"},
	"metadata.stats-keep-first-n-columns": {"0", "1"},
	"metadata.stats-mode.per.level":       {"0:none,5:full"},
	"manifest.compression":                {"snappy", "deflate", "none"},
	"manifest.delete-file-drop-stats":     {"true"},
	"tarn.write-version":                  {"0.9", "1.0", "1.1", "1.2"},
	"partition.legacy-name":               {"false"},
	"partition.default-name":              {"nothing"},
	"dynamic-partition-overwrite":         {"false"},
	"commit.force-compact":                {"true"},
	"commit.discard-duplicate-files":      {"true"},
	"snapshot.ignore-empty-commit":        {"false"},
	"commit.force-create-snapshot":        {"true"},
	"compaction.min.file-num":             {"2", "3"},
	"compaction.small-file-ratio":         {"0.1", "1.0"},
	"compaction.force-rewrite-all-files":  {"true"},
	"read.batch-size":                     {"1", "3"},
	"bucket-append-ordered":               {"false"},
	"snapshot.expire.limit":               {"1"},
	"fields.k0.stats-mode":                {"none", "full"},
	"write-buffer-spill.max-disk-size":    {"1 b", "4 kb"},
	"spill-compression":                   {"lz4", "none"},
}

// keyedOptions are further ones of tables with a primary key.
var keyedOptions = map[string][]string{
	"local-sort.max-num-file-handles":           {"2", "3"},
	"sort-spill-threshold":                      {"2"},
	"num-sorted-run.stop-trigger":               {"5", "8"},
	"compaction.max-size-amplification-percent": {"0", "50", "10000"},
	"compaction.total-size-threshold":           {"10 kb", "1 mb"},
	"compaction.incremental-size-threshold":     {"1 b", "5 kb"},
	"compaction.optimization-interval":          {"1 ms"},
	"compaction.force-up-level-0":               {"true"},
	"full-compaction.delta-commits":             {"1", "2"},
	"overwrite-upgrade":                         {"false"},
}

// drawSome sets a few options.
func drawSome(t *rapid.T, o map[string]string, from map[string][]string) {
	names := slices.Sorted(maps.Keys(from))
	for range rapid.IntRange(0, 4).Draw(t, "more options") {
		name := rapid.SampledFrom(names).Draw(t, "option")
		o[name] = rapid.SampledFrom(from[name]).Draw(t, "value")
	}
}

// batch is a batch of rows for a writer: their kinds stand in a column if the table has one for that.
func (w *world) batch(cols []column, rows []row) tarn.Batch {
	if w.rowKinds {
		plain := make([]row, len(rows))
		for i, r := range rows {
			plain[i] = row{vals: r.vals}
		}
		rows = plain
	}
	return batchOf(w.t, cols, rows)
}
