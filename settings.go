package tarn

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/lsm"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/schema"
)

// This file turns table options into the settings of the packages below.

func (t *Table) pathsConfig() paths.Config {
	o := t.opts
	return paths.Config{
		Partition: t.schema.FieldsNamed(t.schema.PartitionKeys), DefaultPartition: options.PartitionDefault.Get(o),
		PlainNames: !options.PartitionLegacy.Get(o), Branch: t.id.Branch, DataPrefix: options.DataFilePrefix.Get(o),
		ChangelogPrefix: options.ChangelogPrefix.Get(o), SuffixCompression: options.SuffixCompression.Get(o),
		DataDirectory: options.DataFileDirectory.Get(o), IndexInDataDir: options.IndexInDataDir.Get(o),
	}
}

func (t *Table) dataConfig() (datafile.Config, error) {
	o := t.opts
	c := datafile.Config{
		FS: t.env.fs, Paths: t.paths, Schemas: t.schemas, Schema: t.schema, KeyValue: t.HasPrimaryKey(),
		Format: options.FileFormat.Get(o), Compression: options.FileCompression.Get(o), CompressionLevel: options.ZstdLevel.Get(o),
		TargetFileSize: t.targetFileSize(), ThinMode: options.ThinMode.Get(o), FormatOptions: o.Values(),
		DenseStats:  options.StatsDense.Get(o) && t.version() >= manifest.V10,
		ClockMillis: t.env.wallMillis, SnapshotOrdering: t.snapshotOrdering(),
	}
	if options.BlockSize.Set(o) {
		c.BlockSize = options.BlockSize.Get(o)
	}
	c.Changelog.Format, c.Changelog.Compression = options.ChangelogFormat.Get(o), options.ChangelogCompression.Get(o)
	var err error
	if c.Stats, err = t.statsModes(false); err != nil {
		return c, err
	}
	if options.ChangelogStats.Set(o) {
		if c.Changelog.Stats, err = t.statsModes(true); err != nil {
			return c, err
		}
	}
	formats, err := options.PerLevel(options.FormatPerLevel, o)
	if err != nil {
		return c, err
	}
	compressions, err := options.PerLevel(options.CompressPerLevel, o)
	if err != nil {
		return c, err
	}
	if formats != nil || compressions != nil {
		c.PerLevel = func(level int) (string, string) { return formats[level], compressions[level] }
	}
	return c, nil
}

func (t *Table) targetFileSize() int64 {
	if options.TargetFileSize.Set(t.opts) {
		return options.TargetFileSize.Get(t.opts)
	}
	if t.HasPrimaryKey() || t.schema.Version < schema.LatestVersion {
		return 128 << 20 // before 0.9 append tables had the same
	}
	return 256 << 20
}

// statsModes gives the statistics kept of each column, in data files or as changelog-file.stats-mode has them.
func (t *Table) statsModes(changelog bool) (func(string, int) format.StatsMode, error) {
	mode := options.StatsMode
	levels, err := options.PerLevel(options.StatsPerLevel, t.opts)
	if changelog {
		mode, levels = options.ChangelogStats, nil
	}
	if err != nil {
		return nil, err
	}
	common, err := statsMode(mode.Get(t.opts))
	if err != nil {
		return nil, fmt.Errorf("option %s: %w", mode.Key(), err)
	}
	perLevel := map[int]format.StatsMode{}
	for l, text := range levels {
		if perLevel[l], err = statsMode(text); err != nil {
			return nil, fmt.Errorf("option %s: %w", options.StatsPerLevel.Key(), err)
		}
	}
	modes := map[string]format.StatsMode{}
	own := map[string]bool{} // columns that do not follow the mode of all
	first := options.StatsFirst.Get(t.opts)
	n := 0
	for _, f := range t.schema.Fields {
		m := common
		if s, ok := options.Stats(t.opts, f.Name); ok {
			if m, err = statsMode(s); err != nil {
				return nil, fmt.Errorf("option fields.%s.stats-mode: %w", f.Name, err)
			}
			own[f.Name] = true
		} else if first >= 0 && n >= first {
			m = format.StatsMode{Kind: format.StatsNone}
			own[f.Name] = true
		}
		n++
		modes[f.Name] = m
	}
	return func(column string, level int) format.StatsMode {
		if m, ok := perLevel[level]; ok && !own[column] {
			return m
		}
		return modes[column]
	}, nil
}

func statsMode(s string) (format.StatsMode, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch s {
	case "none":
		return format.StatsMode{Kind: format.StatsNone}, nil
	case "counts":
		return format.StatsMode{Kind: format.StatsCounts}, nil
	case "full":
		return format.StatsMode{Kind: format.StatsFull}, nil
	}
	if n, ok := strings.CutPrefix(s, "truncate("); ok {
		if v, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(n, ")"))); err == nil && v > 0 {
			return format.StatsMode{Kind: format.StatsTruncate, Length: v}, nil
		}
	}
	return format.StatsMode{}, fmt.Errorf("%q is not known; there are none, counts, truncate(n), full", s)
}

func (t *Table) planConfig() plan.Config {
	o := t.opts
	engine := options.MergeEngine.Get(o)
	c := plan.Config{
		Manifests: t.manifests, Schemas: t.schemas, Schema: t.schema, KeyValue: t.HasPrimaryKey(),
		Combines:       engine == "partial-update" || engine == "aggregation",
		BucketFunction: options.BucketFunction.Get(o),
		Postponed:      t.buckets() == paths.PostponeBucket,
		Vectors:        options.DeletionVectors.Get(o),
		Packing:        plan.Packing{TargetSize: options.SplitTargetSize.Get(o), OpenCost: options.SplitOpenCost.Get(o)},
	}
	if t.buckets() > 0 {
		c.BucketKeys = t.schema.BucketKeys()
	}
	return c
}

func (t *Table) buckets() int { return options.Bucket.Get(t.opts) }

func (t *Table) levels() lsm.LevelOptions {
	o := t.opts
	l := lsm.LevelOptions{
		NumLevels: options.NumLevels.Get(o), Trigger: options.CompactionTrigger.Get(o), StopTrigger: options.StopTrigger.Get(o),
		SizeRatio: options.SizeRatio.Get(o), MaxSizeAmp: options.MaxAmplification.Get(o), ForceUp: options.ForceUpLevel0.Get(o) || t.lookup() != lsm.NoLookup,
		Interval: options.OptimizeInterval.Get(o).Milliseconds(),
	}
	if t.lookup() != lsm.NoLookup && options.LookupCompact.Get(o) == "gentle" {
		l.Gentle = options.LookupMaxInterval.Get(o)
		if l.Gentle == 0 {
			l.Gentle = 2 * l.Trigger
		}
		l.Gentle = max(l.Gentle, l.Trigger)
	}
	if l.SizeRatio == 0 {
		l.SizeRatio = -1
	}
	if l.MaxSizeAmp == 0 {
		l.MaxSizeAmp = -1
	}
	if options.TotalSizeThreshold.Set(o) {
		l.TotalSize = options.TotalSizeThreshold.Get(o)
	}
	if options.IncrementThreshold.Set(o) {
		l.Incremental = options.IncrementThreshold.Get(o)
	}
	if from, to := options.OffPeakStart.Get(o), options.OffPeakEnd.Get(o); from >= 0 && to >= 0 {
		l.OffPeak = lsm.OffPeak{From: from, To: to, Ratio: options.OffPeakRatio.Get(o)}
	}
	return l
}

func (t *Table) spill() lsm.SpillOptions {
	o := t.opts
	s := lsm.SpillOptions{Buffer: options.BufferSpillable.Get(o), Compression: options.SpillCompression.Get(o)}
	if options.BufferMaxDisk.Set(o) {
		s.MaxDisk = options.BufferMaxDisk.Get(o)
	}
	return s
}

// fanIn is how many sorted runs are merged at once; more are merged in passes.
func (t *Table) fanIn() int {
	n := options.MaxFileHandles.Get(t.opts)
	if s := options.SortSpillThreshold.Get(t.opts); s > 0 {
		n = min(n, max(s, 2))
	}
	return n
}

// manifestEncoding leaves the compression to the version that the table is written at, unless an option
// says otherwise: releases before 0.9 do not read zstd here.
func (t *Table) manifestEncoding() manifest.Encoding {
	if !options.ManifestCompression.Set(t.opts) {
		return manifest.Encoding{}
	}
	return manifest.Encoding{Compression: options.ManifestCompression.Get(t.opts)}
}

// expiry says which rows compactions drop, nil if none.
func (t *Table) expiry() *lsm.Expiry {
	if !options.RecordExpireTime.Set(t.opts) {
		return nil
	}
	return &lsm.Expiry{
		Column: options.RecordExpireField.Get(t.opts), Seconds: int64(options.RecordExpireTime.Get(t.opts).Seconds()),
		Now: func() int64 { return t.env.now().Unix() },
	}
}

// snapshotOrdering says that of two versions of a key that of the later snapshot is newer.
func (t *Table) snapshotOrdering() bool {
	return t.HasPrimaryKey() && options.SnapshotOrdering.Get(t.opts)
}

// checkOrdering refuses what would compact rows before they have a snapshot, where that is what orders them.
func (t *Table) checkOrdering(compact bool) error {
	if compact != options.WriteOnly.Get(t.opts) || !t.snapshotOrdering() {
		return nil
	}
	return invalid("table %s: with sequence.snapshot-ordering rows are written with write-only=true, and compacted by Table.Compact (tarn compact, CALL sys.compact)", t.id)
}

// ParseDuration reads a length of time as options of tables have it: a number and a unit (1 d, 10 min, 5s), milliseconds without one.
func ParseDuration(s string) (time.Duration, error) { return options.ParseDuration(s) }
