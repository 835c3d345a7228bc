package tarn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/options"
	"github.com/tarnlake/tarn/internal/plan"
)

// What the format knows and this library does not is refused by name: rows that are wrong are worse
// than none.

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// explain makes errors of lower packages that tell of something unsupported into ErrUnsupported.
func explain(err error) error {
	if (errors.Is(err, datafile.ErrFormat) || errors.Is(err, plan.ErrRescaled)) && !errors.Is(err, ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// checkTable refuses tables whose metadata cannot be read.
func (t *Table) checkTable() error {
	if v, _ := t.opts.Text(options.ManifestFormat.Key()); v != "" && slices.Contains([]string{"orc", "parquet"}, strings.ToLower(v)) {
		return t.wrap(unsupported("option manifest.format=%s; there is avro", v))
	}
	if k := options.TableType.Get(t.opts); k != "table" && k != "materialized-table" {
		return t.wrap(unsupported("option type=%s", k))
	}
	return nil
}

// rangeOptions ask for something else than the rows of one snapshot.
var rangeOptions = []interface {
	Key() string
	Set(options.Options) bool
}{
	options.IncrementalToTag, options.ScanFileMillis, options.ScanCreationMillis,
	options.FallbackBranch,
}

// otherBranches are options, unknown otherwise, that add rows of other branches.
var otherBranches = []string{"chain-table.enabled", "scan.fallback-snapshot-branch", "scan.fallback-delta-branch", "scan.primary-branch"}

// checkScan refuses options of the scan that would have to change what it reads.
func (t *Table) checkScan() error {
	for _, o := range rangeOptions {
		if o.Set(t.opts) {
			v, _ := t.opts.Text(o.Key())
			return unsupported("option %s=%s", o.Key(), v)
		}
	}
	for _, k := range otherBranches {
		if v, ok := t.opts.Text(k); ok && !strings.EqualFold(v, "false") {
			return unsupported("option %s=%s", k, v)
		}
	}
	if m := options.ScanMode.Get(t.opts); slices.Contains([]string{"from-creation-timestamp", "from-file-creation-time"}, m) {
		return unsupported("option scan.mode=%s", m)
	}
	return t.checkTravel()
}

// checkVectors refuses tables with a key where deletion vectors are not looked at.
func (t *Table) checkVectors() error {
	if err := t.checkWhole(); err != nil {
		return err
	}
	if options.DeletionVectors.Get(t.opts) && t.HasPrimaryKey() {
		return unsupported("deletion-vectors.enabled")
	}
	return nil
}

// checkWhole refuses tables whose files may hold parts of rows.
func (t *Table) checkWhole() error {
	if v, _ := t.opts.Text("data-evolution.enabled"); strings.EqualFold(v, "true") {
		return unsupported("data-evolution.enabled (files that hold some columns of rows in other files)")
	}
	return nil
}

// checkWrite refuses tables whose options have values that no file can be written by, before any row is taken.
func (t *Table) checkWrite() error { return checkWritten(t.opts, t.HasPrimaryKey()) }

func checkWritten(o options.Options, keyed bool) error {
	for _, k := range slices.Sorted(maps.Keys(o.Values())) {
		if err := options.ValidateFresh(o, k); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	formats := map[string]string{options.FileFormat.Get(o): options.FileFormat.Key()}
	if keyed {
		levels, err := options.PerLevel(options.FormatPerLevel, o)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		for _, f := range levels {
			formats[f] = options.FormatPerLevel.Key()
		}
		if f := options.ChangelogFormat.Get(o); f != "" {
			formats[f] = options.ChangelogFormat.Key()
		}
	}
	for _, f := range slices.Sorted(maps.Keys(formats)) {
		if _, err := datafile.FormatByName(f); err != nil {
			return unsupported("option %s=%s: files are written as parquet or avro", formats[f], f)
		}
	}
	return nil
}

// checkSplits refuses files of another key, and those that hold some of the table's columns only. Those that have all,
// and perhaps the ids of rows, are as good as any.
func (t *Table) checkSplits(ctx context.Context, splits []plan.Split) error {
	for i := range splits {
		for _, f := range slices.Concat(splits[i].Files, splits[i].Before) {
			if err := t.files.CheckKey(ctx, f); err != nil {
				return err
			}
			if !f.HasWriteCols || f.WriteCols == nil {
				continue
			}
			sc, err := t.schemas.Get(ctx, f.SchemaID)
			if err != nil {
				return err
			}
			for _, c := range sc.Fields {
				if !slices.Contains(f.WriteCols, c.Name) {
					return unsupported("data file %s holds the columns %s only (data evolution)", f.Name, strings.Join(f.WriteCols, ", "))
				}
			}
		}
	}
	return nil
}
