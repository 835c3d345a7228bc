package manifest

import (
	"fmt"
	"math"

	"github.com/tarnlake/tarn/internal/avro"
)

// DecodeList reads a manifest list. The result shares memory with data.
func DecodeList(data []byte) ([]Meta, error) {
	c, err := openFile(data)
	if err != nil {
		return nil, err
	}
	prog, err := compile(c.Type(), metaFields)
	if err != nil {
		return nil, err
	}
	var out []Meta
	d := decoder{f: &Filter{}}
	err = eachBlock(c, func(b []byte, count int64) error {
		d.r = reader{avro.Cursor{B: b}}
		for range count {
			m := Meta{}
			d.meta(prog, &m)
			if d.r.Err != nil {
				return d.r.Err
			}
			out = append(out, m)
		}
		return d.r.End()
	})
	return out, err
}

func (d *decoder) meta(prog *program, m *Meta) {
	r := &d.r
	if r.IsNull(int(prog.nullAt)) {
		r.Fail(errNull)
	}
	m.MinRowID, m.MaxRowID = math.MinInt64, math.MinInt64
	ranges := 0
	for i := range prog.steps {
		s := &prog.steps[i]
		if s.op == opUnknown {
			m.Unknown = s.unknown.keep(r, m.Unknown, inEntry)
			continue
		}
		if r.absent(s) {
			continue
		}
		switch s.op {
		case opVersion:
			if v := r.Long(); v != 2 && r.Err == nil {
				r.Fail(fmt.Errorf("%w: %d", errVersion, v))
			}
		case opName:
			m.Name = r.fileName()
		case opSize:
			m.Size = r.Long()
		case opAdded:
			m.Added = r.Long()
		case opDeleted:
			m.Deleted = r.Long()
		case opPartitionStats:
			d.stats(s.sub, &m.PartitionStats)
		case opSchemaID:
			m.SchemaID = r.Long()
		case opMinBucket:
			m.MinBucket, ranges = int(int32(r.Long())), ranges+1
		case opMaxBucket:
			m.MaxBucket, ranges = int(int32(r.Long())), ranges+1
		case opMinLevel:
			m.MinLevel, ranges = int(int32(r.Long())), ranges+1
		case opMaxLevel:
			m.MaxLevel, ranges = int(int32(r.Long())), ranges+1
		case opMinRowID:
			m.MinRowID = r.Long()
		case opMaxRowID:
			m.MaxRowID = r.Long()
		}
	}
	m.HasRanges = ranges == 4
	m.HasRowIDs = m.MinRowID != math.MinInt64 && m.MaxRowID != math.MinInt64
	if !m.HasRowIDs {
		m.MinRowID, m.MaxRowID = 0, 0
	}
}

// DecodeIndex reads an index manifest. The result shares memory with data.
func DecodeIndex(data []byte) ([]IndexEntry, error) {
	c, err := openFile(data)
	if err != nil {
		return nil, err
	}
	prog, err := compile(c.Type(), indexFields)
	if err != nil {
		return nil, err
	}
	var out []IndexEntry
	d := decoder{f: &Filter{}}
	err = eachBlock(c, func(b []byte, count int64) error {
		d.r = reader{avro.Cursor{B: b}}
		for range count {
			e := IndexEntry{}
			d.index(prog, &e)
			if d.r.Err != nil {
				return d.r.Err
			}
			out = append(out, e)
		}
		return d.r.End()
	})
	return out, err
}

func (d *decoder) index(prog *program, e *IndexEntry) {
	r := &d.r
	if r.IsNull(int(prog.nullAt)) {
		r.Fail(errNull)
	}
	for i := range prog.steps {
		s := &prog.steps[i]
		if s.op == opUnknown {
			if s.unknown.name == "_GLOBAL_INDEX" {
				e.Global = s.unknown.keep(r, e.Global, inEntry)
			} else {
				e.Unknown = s.unknown.keep(r, e.Unknown, inEntry)
			}
			continue
		}
		if r.absent(s) {
			continue
		}
		switch s.op {
		case opVersion:
			if v := r.Long(); v != 1 && r.Err == nil {
				r.Fail(fmt.Errorf("%w: %d", errVersion, v))
			}
		case opKind:
			k := r.Long()
			if (k != 0 && k != 1) && r.Err == nil {
				r.Fail(fmt.Errorf("%w: %d", errKind, k))
			}
			e.Kind = Kind(k)
		case opPartition:
			e.Partition = d.parts.get(r.Bytes(), nil).b
		case opBucket:
			e.Bucket = int(int32(r.Long()))
		case opIndexType:
			e.Type = text(r.Bytes())
		case opName:
			e.Name = r.fileName()
		case opSize:
			e.Size = r.Long()
		case opRows:
			e.Rows = r.Long()
		case opVectors:
			e.Vectors = []VectorRange{}
			d.vectors(s, e)
		case opExternalPath:
			e.External = text(r.Bytes())
		}
	}
}

func (d *decoder) vectors(s *step, e *IndexEntry) {
	r := &d.r
	for n := r.BlockLen(); n > 0 && r.Err == nil; n = r.BlockLen() {
		for ; n > 0 && r.Err == nil; n-- {
			if r.IsNull(int(s.elemAt)) {
				continue
			}
			v := VectorRange{Cardinality: -1}
			for i := range s.sub.steps {
				f := &s.sub.steps[i]
				if f.op == opUnknown {
					r.SkipValue(f.unknown.typ, 0)
					continue
				}
				if r.absent(f) {
					continue
				}
				switch f.op {
				case opVectorFile:
					v.File = text(r.Bytes())
				case opVectorOffset:
					v.Offset = r.Long()
				case opVectorLength:
					v.Length = r.Long()
				case opCardinality:
					v.Cardinality = r.Long()
				}
			}
			e.Vectors = append(e.Vectors, v)
		}
	}
}
