package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/types"
)

// describe makes the line of a manifest list for a manifest of these entries, but for name and size.
func (s *Store) describe(entries []Entry) (Meta, error) {
	m := Meta{
		SchemaID: math.MinInt64, HasRanges: true, HasRowIDs: true,
		MinBucket: math.MaxInt32, MaxBucket: math.MinInt32, MinLevel: math.MaxInt32, MaxLevel: math.MinInt32,
		MinRowID: math.MaxInt64, MaxRowID: math.MinInt64,
	}
	for i := range entries {
		e := &entries[i]
		if e.Kind == Add {
			m.Added++
		} else {
			m.Deleted++
		}
		f := e.File
		m.SchemaID = max(m.SchemaID, f.SchemaID)
		m.MinBucket, m.MaxBucket = min(m.MinBucket, e.Bucket), max(m.MaxBucket, e.Bucket)
		m.MinLevel, m.MaxLevel = min(m.MinLevel, f.Level), max(m.MaxLevel, f.Level)
		if f.FirstRowID < 0 {
			m.HasRowIDs = false
		}
		m.MinRowID, m.MaxRowID = min(m.MinRowID, f.FirstRowID), max(m.MaxRowID, f.FirstRowID+f.Rows-1)
	}
	if !m.HasRowIDs {
		m.MinRowID, m.MaxRowID = 0, 0
	}
	var err error
	m.PartitionStats, err = partitionStats(s.c.Partition, entries)
	return m, err
}

// partitionStats are minimum, maximum and number of nulls of each partition column.
func partitionStats(ts []types.Type, entries []Entry) (Stats, error) {
	if len(ts) == 0 {
		return Stats{Min: []byte(emptyRow), Max: []byte(emptyRow), NullCounts: noCounts}, nil
	}
	// The same partition mostly comes many times in a row.
	counts := map[string]int64{}
	var last []byte
	var run int64
	for i := range entries {
		if p := entries[i].Partition; bytes.Equal(p, last) {
			run++
		} else {
			if run > 0 {
				counts[string(last)] += run
			}
			last, run = p, 1
		}
	}
	counts[string(last)] += run
	lo, hi := make([]types.Datum, len(ts)), make([]types.Datum, len(ts))
	nulls := make([]int64, len(ts))
	for p, n := range counts {
		vals, err := binrow.DecodeWithArity([]byte(p), ts)
		if err != nil {
			return Stats{}, fmt.Errorf("manifest: partition %x: %w", p, err)
		}
		for i, v := range vals {
			switch {
			case v == nil:
				nulls[i] += n
			case lo[i] == nil:
				lo[i], hi[i] = v, v
			default:
				if CompareValues(v, lo[i]) < 0 {
					lo[i] = v
				}
				if CompareValues(v, hi[i]) > 0 {
					hi[i] = v
				}
			}
		}
	}
	minRow, err := binrow.EncodeWithArity(ts, lo)
	if err != nil {
		return Stats{}, fmt.Errorf("manifest: statistics of partitions: %w", err)
	}
	maxRow, err := binrow.EncodeWithArity(ts, hi)
	if err != nil {
		return Stats{}, fmt.Errorf("manifest: statistics of partitions: %w", err)
	}
	return Stats{Min: minRow, Max: maxRow, NullCounts: nulls}, nil
}

// MayHold reports whether a manifest can have entries of a partition, by the statistics in its list.
func (s *Store) MayHold(m *Meta, partition []byte) bool {
	ts := s.c.Partition
	if len(ts) == 0 {
		return true
	}
	vals, err := binrow.DecodeWithArity(partition, ts)
	if err != nil {
		return true
	}
	lo, err1 := binrow.DecodeWithArity(m.PartitionStats.Min, ts)
	hi, err2 := binrow.DecodeWithArity(m.PartitionStats.Max, ts)
	if err1 != nil || err2 != nil {
		return true
	}
	for i, v := range vals {
		switch {
		case v == nil:
			if n := m.PartitionStats.NullCounts; i < len(n) && n[i] == 0 {
				return false
			}
		case lo[i] == nil || hi[i] == nil:
			// No bounds: there are only nulls, or nothing is known.
			if n := m.PartitionStats.NullCounts; i < len(n) && n[i] == m.Added+m.Deleted {
				return false
			}
		case CompareValues(v, lo[i]) < 0 || CompareValues(v, hi[i]) > 0:
			return false
		}
	}
	return true
}

// CompareValues orders two values of the same atomic type, neither of them NULL, as Java does.
func CompareValues(a, b types.Datum) int {
	switch a := a.(type) {
	case bool:
		b := b.(bool)
		switch {
		case a == b:
			return 0
		case a:
			return 1
		}
		return -1
	case int64:
		return cmp.Compare(a, b.(int64))
	case float32:
		return compareFloat(float64(a), float64(b.(float32)))
	case float64:
		return compareFloat(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case decimal128.Num:
		return a.Cmp(b.(decimal128.Num))
	case types.Instant:
		b := b.(types.Instant)
		return cmp.Or(cmp.Compare(a.Millis, b.Millis), cmp.Compare(a.Nanos, b.Nanos))
	}
	return 0
}

// compareFloat is Java's order: -0.0 before 0.0, NaN last.
func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return cmp.Compare(math.Float64bits(b)>>63, math.Float64bits(a)>>63)
	}
	nan := func(f float64) int {
		if math.IsNaN(f) {
			return 1
		}
		return 0
	}
	return cmp.Compare(nan(a), nan(b))
}
