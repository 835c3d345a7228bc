package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/options"
)

// listOptions hold names of columns, separated by commas.
var listOptions = []string{
	"bucket-key", "sequence.field", "rowkind.field", "record-level.time-field", "clustering.columns", "upsert-key", "blob-field",
	"blob-descriptor-field", "blob-external-storage-field", "vector-field", "changelog-producer.row-deduplicate-ignore-fields",
	"partial-update.remove-record-on-sequence-group", "file-index.bloom-filter.columns", "file-index.bitmap.columns",
	"file-index.bsi.columns", "file-index.range-bitmap.columns",
}

// renameInOptions renames a column where options name it: in lists, in keys fields.<column>.… and
// file-index.<kind>.<column>.…, and in sequence groups, whose keys name several.
func renameInOptions(options map[string]string, from, to string) map[string]string {
	rename := func(list string) string {
		parts := names(list)
		found := false
		for i, p := range parts {
			if p == from {
				parts[i], found = to, true
			}
		}
		if !found {
			return list
		}
		return strings.Join(parts, ",")
	}
	out := make(map[string]string, len(options))
	for k, v := range options {
		if slices.Contains(listOptions, k) || strings.HasSuffix(k, ".sequence-group") || strings.HasSuffix(k, ".nested-key") {
			v = rename(v)
		}
		if rest, ok := strings.CutPrefix(k, "fields."); ok {
			if i := strings.LastIndexByte(rest, '.'); i >= 0 {
				k = "fields." + rename(rest[:i]) + rest[i:]
			}
		}
		if rest, ok := strings.CutPrefix(k, "file-index."); ok {
			kind, rest, _ := strings.Cut(rest, ".")
			if i := strings.LastIndexByte(rest, '.'); i >= 0 && rest[:i] == from {
				k = "file-index." + kind + "." + to + rest[i:]
			}
		}
		out[k] = v
	}
	return out
}

func (c SetOption) apply(e *edit) error {
	if v, ok := e.s.Options[c.Key]; ok && v == c.Value {
		return nil
	}
	switch {
	case c.Key == "primary-key", c.Key == "partition":
		return fmt.Errorf("option %s cannot be changed", c.Key)
	case c.Key == "path":
		return fmt.Errorf("option path cannot be changed: a table is where its catalog says")
	case e.o.HasSnapshots:
		if err := e.checkSet(c.Key, c.Value); err != nil {
			return err
		}
	}
	e.s.Options[c.Key] = c.Value
	e.done = true
	return nil
}

// checkSet refuses new values of options on which the rows of a table rest.
func (e *edit) checkSet(key, value string) error {
	was := options.Of(e.base.Options, e.base.Version)
	isTrue := strings.EqualFold(strings.TrimSpace(value), "true")
	switch key {
	case "bucket":
		if options.Bucket.Get(was) == -1 {
			return fmt.Errorf("option bucket: a table without a fixed number of buckets cannot get one any more")
		}
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n == -1 {
			return fmt.Errorf("option bucket: a table with a fixed number of buckets cannot do without any more")
		}
	case "deletion-vectors.enabled":
		if isTrue != options.DeletionVectors.Get(was) && !strings.EqualFold(e.base.Options["deletion-vectors.modifiable"], "true") {
			return fmt.Errorf("option deletion-vectors.enabled cannot be changed any more, rows might come twice; compact the table fully, then set deletion-vectors.modifiable to true first")
		}
	case "ignore-delete":
		if options.IgnoreDelete.Get(was) && !isTrue {
			return fmt.Errorf("option ignore-delete cannot be changed from true to false: deletes are lost already")
		}
	case "ignore-update-before":
		if options.IgnoreUpdateBefore.Get(was) && !isTrue {
			return fmt.Errorf("option ignore-update-before cannot be changed from true to false: rows are lost already")
		}
	case "clustering.columns":
		return e.checkClustering("changed")
	}
	if options.Immutable(key) {
		return fmt.Errorf("option %s cannot be changed any more: files were written by it", key)
	}
	return nil
}

func (e *edit) checkClustering(what string) error {
	if _, ok := e.base.Options["pk-clustering-override"]; ok {
		return fmt.Errorf("option clustering.columns cannot be %s: files are sorted by it (pk-clustering-override)", what)
	}
	return nil
}

func (c ResetOption) apply(e *edit) error {
	_, set := e.s.Options[c.Key]
	if !set && e.o.Idempotent {
		return nil
	}
	if e.o.HasSnapshots {
		switch { // whether it is set or not, as in Java
		case options.Immutable(c.Key), c.Key == "bucket":
			return fmt.Errorf("option %s cannot be reset any more: files were written by it", c.Key)
		case c.Key == "clustering.columns":
			if err := e.checkClustering("reset"); err != nil {
				return err
			}
		case c.Key == options.DeletionVectors.Key():
			if err := e.checkSet(c.Key, "false"); err != nil {
				return err
			}
		}
	}
	if !set {
		return nil
	}
	delete(e.s.Options, c.Key)
	e.done = true
	return nil
}

func (c DropPrimaryKey) apply(e *edit) error {
	if e.o.HasSnapshots {
		return fmt.Errorf("the primary key of a table with snapshots cannot be dropped: its files are merged by it")
	}
	e.done = e.done || len(e.s.PrimaryKeys) > 0
	e.s.PrimaryKeys = nil
	return nil
}
