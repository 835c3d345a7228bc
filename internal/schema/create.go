package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Definition describes a table to be made.
type Definition struct {
	Fields        []types.Field // ids do not matter
	PrimaryKeys   []string
	PartitionKeys []string
	Options       map[string]string
	Comment       string
	TimeMillis    int64
}

// names splits a list of names as options hold them; blanks around a name do not count. Nil for none.
func names(s string) []string {
	var out []string
	for _, n := range strings.Split(s, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// Create makes the first schema of a table: ids are given to all fields, nested ones too, key columns
// become NOT NULL, and primary key and partition columns may come as options (primary-key, partition),
// as the reference takes them. The error names all that is wrong.
func Create(d Definition) (*Schema, error) {
	s := &Schema{Version: LatestVersion, Options: map[string]string{}, Comment: d.Comment, TimeMillis: d.TimeMillis}
	s.PrimaryKeys, s.PartitionKeys = slices.Clone(d.PrimaryKeys), slices.Clone(d.PartitionKeys)
	for k, v := range d.Options {
		switch k {
		case "primary-key":
			if len(s.PrimaryKeys) > 0 {
				return nil, errors.New("the primary key is given twice: as key and as option primary-key")
			}
			s.PrimaryKeys = names(v)
		case "partition":
			if len(s.PartitionKeys) > 0 {
				return nil, errors.New("the partition columns are given twice: as such and as option partition")
			}
			s.PartitionKeys = names(v)
		default:
			s.Options[k] = v
		}
	}
	id := -1
	for _, f := range d.Fields {
		if err := f.Type.Validate(); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		id++
		f.ID = id
		f.Type = types.AssignIDs(f.Type, &id)
		if slices.Contains(s.PrimaryKeys, f.Name) {
			f.Type.NotNull = true
		}
		s.Fields = append(s.Fields, f)
	}
	s.HighestFieldID = id
	if err := errors.Join(s.faults()...); err != nil {
		return nil, err
	}
	return s, nil
}
