package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"github.com/tarnlake/tarn/internal/avro"
)

// Filter leaves out entries while a manifest is decoded. All members may be nil. A filter has to
// decide the same for the entry that adds a file and for the one that deletes it; otherwise deleted
// files come back.
type Filter struct {
	// Manifest says whether a manifest can have wanted entries at all, by its line in the list.
	Manifest func(*Meta) bool
	// Partition is asked once for each partition of a manifest.
	Partition func(partition []byte) bool
	// Bucket is asked next, with the number of buckets of the partition at that time.
	Bucket func(partition []byte, bucket, totalBuckets int) bool
	// Entry sees the whole entry, which is only lent for the call.
	Entry func(*Entry) bool
}

// Decode reads the entries of a manifest. They share memory with each other and with data, which must
// not change afterwards. The filter may be nil; its Manifest is not asked.
func Decode(data []byte, f *Filter) ([]Entry, error) {
	c, err := openFile(data)
	if err != nil {
		return nil, err
	}
	return decodeEntries(c, f)
}

func decodeEntries(c *avro.Container, f *Filter) ([]Entry, error) {
	prog, err := compile(c.Type(), entryFields)
	if err != nil {
		return nil, err
	}
	d := decoder{f: f}
	if d.f == nil {
		d.f = &Filter{}
	}
	err = eachBlock(c, func(b []byte, count int64) error {
		d.r = reader{avro.Cursor{B: b}}
		d.room(count)
		for range count {
			if err := d.entry(prog); err != nil {
				return err
			}
		}
		return d.r.End()
	})
	return d.out, err
}

// reader is a cursor that knows the fields of the format.
type reader struct{ avro.Cursor }

// openFile reads the header of a file.
func openFile(data []byte) (*avro.Container, error) {
	c, err := avro.Open(data)
	if errors.Is(err, avro.ErrMagic) && (strings.HasPrefix(string(data), "ORC") || strings.HasPrefix(string(data), "PAR1")) {
		return nil, fmt.Errorf("manifest.format other than avro: %w", errors.ErrUnsupported)
	}
	return c, err
}

func eachBlock(c *avro.Container, f func(b []byte, count int64) error) error {
	for {
		at := c.Offset()
		b, count, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// Each record of a schema that was accepted has several fields, so at least as many bytes.
		if count > int64(len(b)) {
			return fmt.Errorf("block at offset %d: %d records in %d bytes", at, count, len(b))
		}
		if err := f(b, count); err != nil {
			return fmt.Errorf("block at offset %d: %w", at, err)
		}
	}
}

// decoder builds entries. Structs, null counts and partitions come from arenas, so that an entry costs
// no allocation of its own.
type decoder struct {
	r     reader
	f     *Filter
	out   []Entry
	files []DataFile
	nums  []int64
	parts partitions
	cols  [3]struct { // lists of names are mostly the same in all files
		raw []byte
		v   []string
	}
	lent Entry
}

// room makes place for the entries of a block, as far as its size makes the count credible.
func (d *decoder) room(count int64) {
	n := int(min(count, int64(len(d.r.B)/24+1)))
	if d.f.Partition != nil || d.f.Bucket != nil || d.f.Entry != nil {
		n = min(n, 32)
	}
	if cap(d.out)-len(d.out) < n {
		grown := make([]Entry, len(d.out), max(len(d.out)+n, 2*cap(d.out)))
		copy(grown, d.out)
		d.out = grown
	}
	if len(d.files) < n {
		d.files = make([]DataFile, n)
	}
}

// partitions keeps one copy of each partition and what the filter says of it.
type partitions struct {
	last *part
	all  map[string]*part
}

type part struct {
	b      []byte
	wanted bool
}

func (p *partitions) get(b []byte, want func([]byte) bool) *part {
	if p.last != nil && bytes.Equal(p.last.b, b) {
		return p.last
	}
	q := p.all[string(b)]
	if q == nil {
		q = &part{b: bytes.Clone(b), wanted: true}
		if want != nil {
			q.wanted = want(q.b)
		}
		if p.all == nil {
			p.all = map[string]*part{}
		}
		p.all[string(q.b)] = q
	}
	p.last = q
	return q
}

var (
	errNull    = errors.New("entry is null")
	errKind    = errors.New("entry is neither ADD (0) nor DELETE (1)")
	errVersion = errors.New("entry is of a version that is not supported")
)

func (d *decoder) entry(prog *program) error {
	r := &d.r
	if r.IsNull(int(prog.nullAt)) {
		r.Fail(errNull)
	}
	e := Entry{}
	wanted := true
	var kept []byte
	var p *part
	mark := len(d.nums)
	for i := range prog.steps {
		s := &prog.steps[i]
		if s.op == opUnknown {
			kept = s.unknown.keep(r, kept, inEntry)
			continue
		}
		if r.absent(s) {
			continue
		}
		switch s.op {
		case opVersion:
			// Only version 2 was ever written for manifests; 1 belongs to table store 0.1.
			if v := r.Long(); v != 2 && r.Err == nil {
				return fmt.Errorf("%w: %d", errVersion, v)
			}
		case opKind:
			k := r.Long()
			if (k != 0 && k != 1) && r.Err == nil {
				return fmt.Errorf("%w: %d", errKind, k)
			}
			e.Kind = Kind(k)
		case opPartition:
			p = d.parts.get(r.Bytes(), d.f.Partition)
			e.Partition = p.b
			wanted = p.wanted
		case opBucket:
			e.Bucket = int(int32(r.Long()))
		case opTotalBuckets:
			e.TotalBuckets = int(int32(r.Long()))
		case opFile:
			// Partition and bucket stand in front of the file in what all writers write.
			if wanted && d.f.Bucket != nil {
				wanted = d.f.Bucket(e.Partition, e.Bucket, e.TotalBuckets)
			}
			if !wanted {
				r.skipFields(s.sub)
				continue
			}
			d.file(s.sub)
		}
	}
	if r.Err != nil {
		return r.Err
	}
	if !wanted {
		return nil
	}
	e.File = &d.files[0]
	if len(kept) > 0 {
		e.File.Unknown = append(kept, e.File.Unknown...)
	}
	if d.f.Entry != nil {
		d.lent = e // e itself stays on the stack
		if !d.f.Entry(&d.lent) {
			d.nums = d.nums[:min(mark, len(d.nums))]
			return nil // the struct is used for the next entry
		}
	}
	d.files = d.files[1:]
	d.out = append(d.out, e)
	return nil
}

// absent says whether the field is null.
func (r *reader) absent(s *step) bool {
	if !r.IsNull(int(s.nullAt)) {
		return false
	}
	if s.must {
		r.Fail(fmt.Errorf("field %s is null", s.name))
	}
	return true
}

// skipFields passes over a record.
func (r *reader) skipFields(p *program) {
	for i := range p.steps {
		s := &p.steps[i]
		if s.op == opUnknown {
			r.SkipValue(s.unknown.typ, 0)
			continue
		}
		if r.absent(s) {
			continue
		}
		switch s.op {
		case opKeyStats, opValueStats:
			r.skipFields(s.sub)
		case opName, opMinKey, opMaxKey, opEmbeddedIndex, opExternalPath, opMinValues, opMaxValues:
			r.Bytes()
		case opExtraFiles, opValueStatsCols, opWriteCols, opNullCounts:
			for n := r.BlockLen(); n > 0 && r.Err == nil; n = r.BlockLen() {
				for ; n > 0 && r.Err == nil; n-- {
					if r.IsNull(int(s.elemAt)) {
						continue
					}
					if s.op == opNullCounts {
						r.Long()
					} else {
						r.Bytes()
					}
				}
			}
		default:
			r.Long()
		}
		if r.Err != nil {
			return
		}
	}
}

func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fileName reads the name of a file, which lies in a folder that the name does not choose.
func (r *reader) fileName() string {
	name := text(r.Bytes())
	r.checkName(name)
	return name
}

func (r *reader) checkName(name string) {
	if err := CheckName(name); err != nil {
		r.Fail(err)
	}
}

// file reads a `_FILE` into the next free struct.
func (d *decoder) file(prog *program) {
	r := &d.r
	if len(d.files) == 0 {
		d.files = make([]DataFile, 32)
	}
	f := &d.files[0]
	*f = DataFile{DeleteRows: -1, Source: SourceUnknown, FirstRowID: -1}
	for i := range prog.steps {
		s := &prog.steps[i]
		if s.op == opUnknown {
			f.Unknown = s.unknown.keep(r, f.Unknown, inFile)
			continue
		}
		if s.nullAt >= 0 && r.absent(s) {
			continue
		}
		switch s.op {
		case opName:
			f.Name = r.fileName()
		case opSize:
			f.Size = r.Long()
		case opRows:
			f.Rows = r.Long()
		case opMinKey:
			f.MinKey = r.Bytes()
		case opMaxKey:
			f.MaxKey = r.Bytes()
		case opKeyStats:
			d.stats(s.sub, &f.KeyStats)
		case opValueStats:
			d.stats(s.sub, &f.ValueStats)
		case opMinSequence:
			f.MinSequence = r.Long()
		case opMaxSequence:
			f.MaxSequence = r.Long()
		case opSchemaID:
			f.SchemaID = r.Long()
		case opLevel:
			f.Level = int(int32(r.Long()))
		case opExtraFiles:
			f.ExtraFiles = d.names(0, int(s.elemAt))
			for _, x := range f.ExtraFiles {
				r.checkName(x)
			}
		case opCreation:
			f.CreationMillis = r.Long()
		case opDeleteRows:
			f.DeleteRows = r.Long()
		case opEmbeddedIndex:
			f.EmbeddedIndex = r.Bytes()
		case opSource:
			f.Source = FileSource(r.Long())
		case opValueStatsCols:
			f.ValueStatsCols, f.HasValueStatsCols = d.names(1, int(s.elemAt)), true
		case opExternalPath:
			f.ExternalPath = text(r.Bytes())
		case opFirstRowID:
			f.FirstRowID = r.Long()
		case opWriteCols:
			f.WriteCols, f.HasWriteCols = d.names(2, int(s.elemAt)), true
		}
		if r.Err != nil {
			return
		}
	}
}

// names reads an array of strings. The same one as before in the same place is shared.
func (d *decoder) names(slot, elemAt int) []string {
	r := &d.r
	if r.P < len(r.B) && r.B[r.P] == 0 {
		r.P++
		return nil
	}
	c := &d.cols[slot]
	if bytes.HasPrefix(r.B[r.P:], c.raw) && c.raw != nil {
		r.P += len(c.raw)
		return c.v
	}
	from := r.P
	var v []string
	for n := r.BlockLen(); n > 0 && r.Err == nil; n = r.BlockLen() {
		for ; n > 0 && r.Err == nil; n-- {
			if r.IsNull(elemAt) {
				continue
			}
			v = append(v, text(r.Bytes()))
		}
	}
	if r.Err != nil {
		return nil
	}
	c.raw, c.v = r.B[from:r.P], v[:len(v):len(v)]
	return c.v
}

func (d *decoder) stats(prog *program, to *Stats) {
	r := &d.r
	for i := range prog.steps {
		s := &prog.steps[i]
		if s.op == opUnknown {
			r.SkipValue(s.unknown.typ, 0)
			continue
		}
		if r.absent(s) {
			continue
		}
		switch s.op {
		case opMinValues:
			to.Min = r.Bytes()
		case opMaxValues:
			to.Max = r.Bytes()
		case opNullCounts:
			to.NullCounts = d.counts(int(s.elemAt))
		}
	}
}

var noCounts = []int64{}

// counts reads null counts into the arena.
func (d *decoder) counts(elemAt int) []int64 {
	r := &d.r
	n := r.BlockLen()
	if n == 0 {
		return noCounts
	}
	if int64(cap(d.nums)-len(d.nums)) < n {
		d.nums = make([]int64, 0, max(int(n), min(4096, len(r.B))))
	}
	from := len(d.nums)
	for ; n > 0 && r.Err == nil; n = r.BlockLen() {
		for ; n > 0 && r.Err == nil; n-- {
			// Nearly all are small and not null: two bytes.
			if p := r.P; elemAt == 0 && p+1 < len(r.B) && r.B[p] == 2 && r.B[p+1] < 0x80 {
				c := r.B[p+1]
				d.nums = append(d.nums, int64(c>>1)^-int64(c&1))
				r.P = p + 2
				continue
			}
			v := int64(-1)
			if !r.IsNull(elemAt) {
				v = r.Long()
			}
			d.nums = append(d.nums, v)
		}
	}
	return d.nums[from:len(d.nums):len(d.nums)]
}
