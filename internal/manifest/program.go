package manifest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn/internal/avro"
)

// op says what to do with the next field of a record.
type op uint8

const (
	opUnknown op = iota
	opVersion
	opKind
	opPartition
	opBucket
	opTotalBuckets
	opFile
	opName
	opSize
	opRows
	opMinKey
	opMaxKey
	opKeyStats
	opValueStats
	opMinSequence
	opMaxSequence
	opSchemaID
	opLevel
	opExtraFiles
	opCreation
	opDeleteRows
	opEmbeddedIndex
	opSource
	opValueStatsCols
	opExternalPath
	opFirstRowID
	opWriteCols
	// of Stats
	opMinValues
	opMaxValues
	opNullCounts
	// of Meta
	opAdded
	opDeleted
	opPartitionStats
	opMinBucket
	opMaxBucket
	opMinLevel
	opMaxLevel
	opMinRowID
	opMaxRowID
	// of IndexEntry
	opIndexType
	opVectors
	opGlobal
	opVectorFile
	opVectorOffset
	opVectorLength
	opCardinality
)

// known is a field that a record may have: what it is for and the shape it must be of.
type known struct {
	op   op
	kind avro.Kind
	must bool // every release writes it, never null
	// sub are the fields of a nested record, or of the records in an array.
	sub  map[string]known
	elem avro.Kind // of avro.Array
}

var (
	statsFields = map[string]known{
		"_MIN_VALUES":  {must: true, op: opMinValues, kind: avro.Bytes},
		"_MAX_VALUES":  {must: true, op: opMaxValues, kind: avro.Bytes},
		"_NULL_COUNTS": {op: opNullCounts, kind: avro.Array, elem: avro.Long},
	}
	fileFields = map[string]known{
		"_FILE_NAME":           {must: true, op: opName, kind: avro.Bytes},
		"_FILE_SIZE":           {must: true, op: opSize, kind: avro.Long},
		"_ROW_COUNT":           {must: true, op: opRows, kind: avro.Long},
		"_MIN_KEY":             {must: true, op: opMinKey, kind: avro.Bytes},
		"_MAX_KEY":             {must: true, op: opMaxKey, kind: avro.Bytes},
		"_KEY_STATS":           {must: true, op: opKeyStats, kind: avro.Record, sub: statsFields},
		"_VALUE_STATS":         {must: true, op: opValueStats, kind: avro.Record, sub: statsFields},
		"_MIN_SEQUENCE_NUMBER": {must: true, op: opMinSequence, kind: avro.Long},
		"_MAX_SEQUENCE_NUMBER": {must: true, op: opMaxSequence, kind: avro.Long},
		"_SCHEMA_ID":           {must: true, op: opSchemaID, kind: avro.Long},
		"_LEVEL":               {must: true, op: opLevel, kind: avro.Long},
		"_EXTRA_FILES":         {must: true, op: opExtraFiles, kind: avro.Array, elem: avro.Bytes},
		"_CREATION_TIME":       {op: opCreation, kind: avro.Long},
		"_DELETE_ROW_COUNT":    {op: opDeleteRows, kind: avro.Long},
		"_EMBEDDED_FILE_INDEX": {op: opEmbeddedIndex, kind: avro.Bytes},
		"_FILE_SOURCE":         {op: opSource, kind: avro.Long},
		"_VALUE_STATS_COLS":    {op: opValueStatsCols, kind: avro.Array, elem: avro.Bytes},
		"_EXTERNAL_PATH":       {op: opExternalPath, kind: avro.Bytes},
		"_FIRST_ROW_ID":        {op: opFirstRowID, kind: avro.Long},
		"_WRITE_COLS":          {op: opWriteCols, kind: avro.Array, elem: avro.Bytes},
	}
	entryFields = map[string]known{
		"_VERSION":       {must: true, op: opVersion, kind: avro.Long},
		"_KIND":          {must: true, op: opKind, kind: avro.Long},
		"_PARTITION":     {must: true, op: opPartition, kind: avro.Bytes},
		"_BUCKET":        {must: true, op: opBucket, kind: avro.Long},
		"_TOTAL_BUCKETS": {must: true, op: opTotalBuckets, kind: avro.Long},
		"_FILE":          {must: true, op: opFile, kind: avro.Record, sub: fileFields},
	}
	metaFields = map[string]known{
		"_VERSION":           {must: true, op: opVersion, kind: avro.Long},
		"_FILE_NAME":         {must: true, op: opName, kind: avro.Bytes},
		"_FILE_SIZE":         {must: true, op: opSize, kind: avro.Long},
		"_NUM_ADDED_FILES":   {must: true, op: opAdded, kind: avro.Long},
		"_NUM_DELETED_FILES": {must: true, op: opDeleted, kind: avro.Long},
		"_PARTITION_STATS":   {must: true, op: opPartitionStats, kind: avro.Record, sub: statsFields},
		"_SCHEMA_ID":         {must: true, op: opSchemaID, kind: avro.Long},
		"_MIN_BUCKET":        {op: opMinBucket, kind: avro.Long},
		"_MAX_BUCKET":        {op: opMaxBucket, kind: avro.Long},
		"_MIN_LEVEL":         {op: opMinLevel, kind: avro.Long},
		"_MAX_LEVEL":         {op: opMaxLevel, kind: avro.Long},
		"_MIN_ROW_ID":        {op: opMinRowID, kind: avro.Long},
		"_MAX_ROW_ID":        {op: opMaxRowID, kind: avro.Long},
	}
	vectorFields = map[string]known{
		"f0":           {must: true, op: opVectorFile, kind: avro.Bytes},
		"f1":           {must: true, op: opVectorOffset, kind: avro.Long},
		"f2":           {must: true, op: opVectorLength, kind: avro.Long},
		"_CARDINALITY": {op: opCardinality, kind: avro.Long},
	}
	indexFields = map[string]known{
		"_VERSION":                  {must: true, op: opVersion, kind: avro.Long},
		"_KIND":                     {must: true, op: opKind, kind: avro.Long},
		"_PARTITION":                {must: true, op: opPartition, kind: avro.Bytes},
		"_BUCKET":                   {must: true, op: opBucket, kind: avro.Long},
		"_INDEX_TYPE":               {must: true, op: opIndexType, kind: avro.Bytes},
		"_FILE_NAME":                {must: true, op: opName, kind: avro.Bytes},
		"_FILE_SIZE":                {must: true, op: opSize, kind: avro.Long},
		"_ROW_COUNT":                {must: true, op: opRows, kind: avro.Long},
		"_DELETIONS_VECTORS_RANGES": {op: opVectors, kind: avro.Array, elem: avro.Record, sub: vectorFields},
		"_EXTERNAL_PATH":            {op: opExternalPath, kind: avro.Bytes},
	}
)

// step is a field of a program.
type step struct {
	op      op
	name    string
	must    bool // null is an error
	nullAt  int8 // branch of null, -1: not nullable
	elemAt  int8 // avro.Array: the same of its elements
	sub     *program
	unknown *unknownField
}

// program is a writer's schema, compiled: what to do with its fields one after the other.
type program struct {
	nullAt int8 // of the record itself
	steps  []step
}

var errRecord = errors.New("writer's schema is no record")

// compile fits a writer's schema to the fields that are known. Those that must be there are missed: the
// reference fails on them too, and what is taken for zero here would be written as such later.
func compile(t *avro.Type, fields map[string]known) (*program, error) {
	rec, nullAt := t.Nullable()
	if rec.Kind != avro.Record {
		return nil, errRecord
	}
	p := &program{nullAt: int8(nullAt)}
	var missing []string
	for name, k := range fields {
		if k.must && rec.Field(name) == nil {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("writer's schema has no field %s", slices.Min(missing))
	}
	for i := range rec.Fields {
		f := &rec.Fields[i]
		k, ok := fields[f.Name]
		if !ok {
			p.steps = append(p.steps, step{op: opUnknown, unknown: newUnknown(f)})
			continue
		}
		s, err := fit(f.Type, k)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		s.name, s.must = f.Name, k.must
		p.steps = append(p.steps, s)
	}
	return p, nil
}

var errShape = errors.New("type is not what the format says")

func fit(t *avro.Type, k known) (step, error) {
	t, nullAt := t.Nullable()
	s := step{op: k.op, nullAt: int8(nullAt), elemAt: -1}
	if t.Kind != k.kind {
		return s, errShape
	}
	var err error
	switch t.Kind {
	case avro.Record:
		s.sub, err = compile(t, k.sub)
		if s.sub != nil {
			s.sub.nullAt = -1
		}
	case avro.Array:
		e, at := t.Items.Nullable()
		if e.Kind != k.elem {
			return s, errShape
		}
		s.elemAt = int8(at)
		if e.Kind == avro.Record {
			s.sub, err = compile(e, k.sub)
		}
	}
	return s, err
}
