package manifest

import (
	"fmt"
	"math"
)

// DecodeList reads a manifest list. The result shares memory with data.
func DecodeList(data []byte) ([]Meta, error) {
	c, err := openContainer(data)
	if err != nil {
		return nil, err
	}
	prog, err := compile(c.typ, metaFields)
	if err != nil {
		return nil, err
	}
	var out []Meta
	d := decoder{f: &Filter{}}
	err = eachBlock(c, func(b []byte, count int64) error {
		d.r = reader{b: b}
		for range count {
			m := Meta{}
			d.meta(prog, &m)
			if d.r.err != nil {
				return d.r.err
			}
			out = append(out, m)
		}
		return d.r.finish()
	})
	return out, err
}

func (d *decoder) meta(prog *program, m *Meta) {
	r := &d.r
	if r.isNull(int(prog.nullAt)) {
		r.fail(errNull)
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
			if v := r.long(); v != 2 && r.err == nil {
				r.fail(fmt.Errorf("%w: %d", errVersion, v))
			}
		case opName:
			m.Name = r.fileName()
		case opSize:
			m.Size = r.long()
		case opAdded:
			m.Added = r.long()
		case opDeleted:
			m.Deleted = r.long()
		case opPartitionStats:
			d.stats(s.sub, &m.PartitionStats)
		case opSchemaID:
			m.SchemaID = r.long()
		case opMinBucket:
			m.MinBucket, ranges = int(int32(r.long())), ranges+1
		case opMaxBucket:
			m.MaxBucket, ranges = int(int32(r.long())), ranges+1
		case opMinLevel:
			m.MinLevel, ranges = int(int32(r.long())), ranges+1
		case opMaxLevel:
			m.MaxLevel, ranges = int(int32(r.long())), ranges+1
		case opMinRowID:
			m.MinRowID = r.long()
		case opMaxRowID:
			m.MaxRowID = r.long()
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
	c, err := openContainer(data)
	if err != nil {
		return nil, err
	}
	prog, err := compile(c.typ, indexFields)
	if err != nil {
		return nil, err
	}
	var out []IndexEntry
	d := decoder{f: &Filter{}}
	err = eachBlock(c, func(b []byte, count int64) error {
		d.r = reader{b: b}
		for range count {
			e := IndexEntry{}
			d.index(prog, &e)
			if d.r.err != nil {
				return d.r.err
			}
			out = append(out, e)
		}
		return d.r.finish()
	})
	return out, err
}

func (d *decoder) index(prog *program, e *IndexEntry) {
	r := &d.r
	if r.isNull(int(prog.nullAt)) {
		r.fail(errNull)
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
			if v := r.long(); v != 1 && r.err == nil {
				r.fail(fmt.Errorf("%w: %d", errVersion, v))
			}
		case opKind:
			k := r.long()
			if (k != 0 && k != 1) && r.err == nil {
				r.fail(fmt.Errorf("%w: %d", errKind, k))
			}
			e.Kind = Kind(k)
		case opPartition:
			e.Partition = d.parts.get(r.bytes(), nil).b
		case opBucket:
			e.Bucket = int(int32(r.long()))
		case opIndexType:
			e.Type = text(r.bytes())
		case opName:
			e.Name = r.fileName()
		case opSize:
			e.Size = r.long()
		case opRows:
			e.Rows = r.long()
		case opVectors:
			e.Vectors = []VectorRange{}
			d.vectors(s, e)
		case opExternalPath:
			e.External = text(r.bytes())
		}
	}
}

func (d *decoder) vectors(s *step, e *IndexEntry) {
	r := &d.r
	for n := r.blockLen(); n > 0 && r.err == nil; n = r.blockLen() {
		for ; n > 0 && r.err == nil; n-- {
			if r.isNull(int(s.elemAt)) {
				continue
			}
			v := VectorRange{Cardinality: -1}
			for i := range s.sub.steps {
				f := &s.sub.steps[i]
				if f.op == opUnknown {
					r.skipValue(f.unknown.typ, 0)
					continue
				}
				if r.absent(f) {
					continue
				}
				switch f.op {
				case opVectorFile:
					v.File = text(r.bytes())
				case opVectorOffset:
					v.Offset = r.long()
				case opVectorLength:
					v.Length = r.long()
				case opCardinality:
					v.Cardinality = r.long()
				}
			}
			e.Vectors = append(e.Vectors, v)
		}
	}
}
