package manifest

import (
	"errors"
	"fmt"
	"slices"
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
	kind akind
	must bool // every release writes it, never null
	// sub are the fields of a nested record, or of the records in an array.
	sub  map[string]known
	elem akind // of aArray
}

var (
	statsFields = map[string]known{
		"_MIN_VALUES":  {must: true, op: opMinValues, kind: aBytes},
		"_MAX_VALUES":  {must: true, op: opMaxValues, kind: aBytes},
		"_NULL_COUNTS": {op: opNullCounts, kind: aArray, elem: aLong},
	}
	fileFields = map[string]known{
		"_FILE_NAME":           {must: true, op: opName, kind: aBytes},
		"_FILE_SIZE":           {must: true, op: opSize, kind: aLong},
		"_ROW_COUNT":           {must: true, op: opRows, kind: aLong},
		"_MIN_KEY":             {must: true, op: opMinKey, kind: aBytes},
		"_MAX_KEY":             {must: true, op: opMaxKey, kind: aBytes},
		"_KEY_STATS":           {must: true, op: opKeyStats, kind: aRecord, sub: statsFields},
		"_VALUE_STATS":         {must: true, op: opValueStats, kind: aRecord, sub: statsFields},
		"_MIN_SEQUENCE_NUMBER": {must: true, op: opMinSequence, kind: aLong},
		"_MAX_SEQUENCE_NUMBER": {must: true, op: opMaxSequence, kind: aLong},
		"_SCHEMA_ID":           {must: true, op: opSchemaID, kind: aLong},
		"_LEVEL":               {must: true, op: opLevel, kind: aLong},
		"_EXTRA_FILES":         {must: true, op: opExtraFiles, kind: aArray, elem: aBytes},
		"_CREATION_TIME":       {op: opCreation, kind: aLong},
		"_DELETE_ROW_COUNT":    {op: opDeleteRows, kind: aLong},
		"_EMBEDDED_FILE_INDEX": {op: opEmbeddedIndex, kind: aBytes},
		"_FILE_SOURCE":         {op: opSource, kind: aLong},
		"_VALUE_STATS_COLS":    {op: opValueStatsCols, kind: aArray, elem: aBytes},
		"_EXTERNAL_PATH":       {op: opExternalPath, kind: aBytes},
		"_FIRST_ROW_ID":        {op: opFirstRowID, kind: aLong},
		"_WRITE_COLS":          {op: opWriteCols, kind: aArray, elem: aBytes},
	}
	entryFields = map[string]known{
		"_VERSION":       {must: true, op: opVersion, kind: aLong},
		"_KIND":          {must: true, op: opKind, kind: aLong},
		"_PARTITION":     {must: true, op: opPartition, kind: aBytes},
		"_BUCKET":        {must: true, op: opBucket, kind: aLong},
		"_TOTAL_BUCKETS": {must: true, op: opTotalBuckets, kind: aLong},
		"_FILE":          {must: true, op: opFile, kind: aRecord, sub: fileFields},
	}
	metaFields = map[string]known{
		"_VERSION":           {must: true, op: opVersion, kind: aLong},
		"_FILE_NAME":         {must: true, op: opName, kind: aBytes},
		"_FILE_SIZE":         {must: true, op: opSize, kind: aLong},
		"_NUM_ADDED_FILES":   {must: true, op: opAdded, kind: aLong},
		"_NUM_DELETED_FILES": {must: true, op: opDeleted, kind: aLong},
		"_PARTITION_STATS":   {must: true, op: opPartitionStats, kind: aRecord, sub: statsFields},
		"_SCHEMA_ID":         {must: true, op: opSchemaID, kind: aLong},
		"_MIN_BUCKET":        {op: opMinBucket, kind: aLong},
		"_MAX_BUCKET":        {op: opMaxBucket, kind: aLong},
		"_MIN_LEVEL":         {op: opMinLevel, kind: aLong},
		"_MAX_LEVEL":         {op: opMaxLevel, kind: aLong},
		"_MIN_ROW_ID":        {op: opMinRowID, kind: aLong},
		"_MAX_ROW_ID":        {op: opMaxRowID, kind: aLong},
	}
	vectorFields = map[string]known{
		"f0":           {must: true, op: opVectorFile, kind: aBytes},
		"f1":           {must: true, op: opVectorOffset, kind: aLong},
		"f2":           {must: true, op: opVectorLength, kind: aLong},
		"_CARDINALITY": {op: opCardinality, kind: aLong},
	}
	indexFields = map[string]known{
		"_VERSION":                  {must: true, op: opVersion, kind: aLong},
		"_KIND":                     {must: true, op: opKind, kind: aLong},
		"_PARTITION":                {must: true, op: opPartition, kind: aBytes},
		"_BUCKET":                   {must: true, op: opBucket, kind: aLong},
		"_INDEX_TYPE":               {must: true, op: opIndexType, kind: aBytes},
		"_FILE_NAME":                {must: true, op: opName, kind: aBytes},
		"_FILE_SIZE":                {must: true, op: opSize, kind: aLong},
		"_ROW_COUNT":                {must: true, op: opRows, kind: aLong},
		"_DELETIONS_VECTORS_RANGES": {op: opVectors, kind: aArray, elem: aRecord, sub: vectorFields},
		"_EXTERNAL_PATH":            {op: opExternalPath, kind: aBytes},
	}
)

// step is a field of a program.
type step struct {
	op      op
	name    string
	must    bool // null is an error
	nullAt  int8 // branch of null, -1: not nullable
	elemAt  int8 // aArray: the same of its elements
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
func compile(t *atype, fields map[string]known) (*program, error) {
	rec, nullAt := t.nullable()
	if rec.kind != aRecord {
		return nil, errRecord
	}
	p := &program{nullAt: int8(nullAt)}
	var missing []string
	for name, k := range fields {
		if k.must && rec.field(name) == nil {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("writer's schema has no field %s", slices.Min(missing))
	}
	for i := range rec.fields {
		f := &rec.fields[i]
		k, ok := fields[f.name]
		if !ok {
			p.steps = append(p.steps, step{op: opUnknown, unknown: newUnknown(f)})
			continue
		}
		s, err := fit(f.typ, k)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		s.name, s.must = f.name, k.must
		p.steps = append(p.steps, s)
	}
	return p, nil
}

var errShape = errors.New("type is not what the format says")

func fit(t *atype, k known) (step, error) {
	t, nullAt := t.nullable()
	s := step{op: k.op, nullAt: int8(nullAt), elemAt: -1}
	if t.kind != k.kind {
		return s, errShape
	}
	var err error
	switch t.kind {
	case aRecord:
		s.sub, err = compile(t, k.sub)
		if s.sub != nil {
			s.sub.nullAt = -1
		}
	case aArray:
		e, at := t.items.nullable()
		if e.kind != k.elem {
			return s, errShape
		}
		s.elemAt = int8(at)
		if e.kind == aRecord {
			s.sub, err = compile(e, k.sub)
		}
	}
	return s, err
}
