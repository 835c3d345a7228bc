package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// leafReader reads one column of the file, row group after row group.
type leafReader struct {
	n       *node
	path    string // for errors
	sink    sink   // nil: only levels are wanted
	slotDef uint8  // least definition level of the slots of the array, see node
	collect bool   // levels are wanted, for the groups above

	pages   pages
	vals    values
	pg      page
	loaded  bool
	indexed bool // the page holds indexes into the dictionary
	ready   bool // the sink has the dictionary of this row group
	left    int  // entries left in the page (flat columns)
	pending int64
	group   int
	rows    int64 // of the row group
	next    int64 // next row of the row group that is not passed over, pending ones included
	until   int64 // row before which reading ends for now, if that is known; else it is 0
	index   []pageLocation

	def, rep hybrid
	ix       hybrid
	idx      []uint32
	flag     []uint8

	// Columns inside of lists: the levels of the page.
	defs, reps []uint8
	at         int

	// The levels of the batch, if collect is set.
	outDef, outRep []uint8

	lent bool // the last array was given away, so that its memory is not ours any more
}

func (r *leafReader) fail(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("column %s, row group %d: %w", r.path, r.group, err)
}

// open starts a row group.
func (r *leafReader) open(group int, rows int64, c *columnChunk) error {
	r.group, r.rows, r.next, r.pending, r.until = group, rows, 0, 0, 0
	r.left, r.at, r.defs, r.reps = 0, 0, r.defs[:0], r.reps[:0]
	r.loaded, r.ready, r.index = false, false, nil
	r.pg = page{}
	if err := r.pages.open(c, r.n); err != nil {
		return r.fail(err)
	}
	if r.n.maxRep == 0 && c.numValues != rows {
		return r.fail(fmt.Errorf("the column chunk has %d values, the row group %d rows", c.numValues, rows))
	}
	return nil
}

// skip passes over rows. Pages that are passed over whole are never unpacked.
func (r *leafReader) skip(n int64) {
	r.pending += n
	r.next += n
}

// read appends the next rows to the sink and the levels.
func (r *leafReader) read(n int) error {
	if err := r.settle(); err != nil {
		return r.fail(err)
	}
	r.next += int64(n)
	if r.n.maxRep > 0 {
		return r.fail(r.readNested(n, false))
	}
	for n > 0 {
		if r.left == 0 {
			if err := r.nextPage(); err != nil {
				return r.fail(err)
			}
			continue
		}
		if err := r.load(n); err != nil {
			return r.fail(err)
		}
		k := min(n, r.left)
		if err := r.readFlat(k); err != nil {
			return r.fail(r.where(err))
		}
		r.left -= k
		n -= k
	}
	return nil
}

// where adds the place of the page to an error of its contents.
func (r *leafReader) where(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("page at offset %d: %w", r.pg.off, err)
}

func (r *leafReader) nextPage() error {
	pg, err := r.pages.next()
	if err == io.EOF {
		return errors.New("the column chunk has too few rows")
	}
	if err != nil {
		return err
	}
	r.pg, r.left, r.loaded = pg, pg.values, false
	return nil
}

// load unpacks the page at hand and starts its decoders. Of the rows from its first one to next, n are to be
// read or passed over.
func (r *leafReader) load(n int) error {
	if r.loaded {
		return nil
	}
	if r.until < r.next {
		n = math.MaxInt
	} else {
		n += int(r.until - r.next)
	}
	if err := r.pages.load(&r.pg, n); err != nil {
		return err
	}
	r.loaded = true
	if r.n.maxDef > 0 {
		if err := r.def.reset(r.pg.def, levelWidth(r.n.maxDef)); err != nil {
			return r.where(err)
		}
	}
	if r.n.maxRep > 0 {
		if err := r.rep.reset(r.pg.rep, levelWidth(r.n.maxRep)); err != nil {
			return r.where(err)
		}
	}
	if r.sink == nil {
		return nil
	}
	if err := r.startValues(); err != nil {
		return r.where(err)
	}
	return nil
}

func levelWidth(most int) uint { return uint(bits.Len(uint(most))) }

func (r *leafReader) startValues() error {
	r.indexed = r.pg.enc == encRLEDict || r.pg.enc == encPlainDict
	r.vals.phys, r.vals.width = r.n.phys, r.n.typeLen
	if !r.indexed {
		err := r.vals.reset(r.pg.enc, r.pg.data, r.pg.values)
		r.vals.more = r.pg.more
		return err
	}
	if err := r.dictionary(); err != nil {
		return err
	}
	if len(r.pg.data) == 0 { // all NULL
		return r.ix.reset(nil, 0)
	}
	return r.ix.reset(r.pg.data[1:], uint(r.pg.data[0]))
}

func (r *leafReader) dictionary() error {
	if r.ready {
		return nil
	}
	d := r.pages.dict
	if d == nil {
		return errors.New("the page refers to a dictionary that is not there")
	}
	n, least := int(d.numValues), 1
	if r.n.phys == physBytes {
		least = 4
	} else if r.n.phys != physBool {
		least = r.vals.size()
	}
	if n > len(r.pages.dictB)/least {
		return fmt.Errorf("dictionary: %w", errShortValues)
	}
	if err := r.vals.reset(encPlain, r.pages.dictB, n); err != nil {
		return err
	}
	if err := r.sink.dictionary(&r.vals, n); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	r.pages.dictB = nil
	r.ready = true
	return nil
}

// readFlat reads entries of the page of a column that is in no list.
func (r *leafReader) readFlat(n int) error {
	most := r.n.maxDef
	if r.collect {
		at := len(r.outDef)
		r.outDef = append(r.outDef, make([]uint8, n)...)
		lv := r.outDef[at:]
		if most > 0 {
			if err := r.def.levels(lv, uint8(most)); err != nil {
				return err
			}
		}
		return r.slots(lv, false)
	}
	if most == 0 {
		return r.valuesOf(n)
	}
	for n > 0 {
		run, v, err := r.def.run()
		if err != nil {
			return err
		}
		k := min(n, run)
		switch {
		case run == 0:
			k = min(n, r.def.packed)
			f := r.flags(k)
			if err := unpackLevels(f, r.def.buf[r.def.pos:r.def.end], r.def.bit, r.def.width, uint8(most)); err != nil {
				return err
			}
			r.def.endPacked(k)
			if err := r.flagged(f); err != nil {
				return err
			}
		case int(v) == most:
			r.def.rle -= k
			if err := r.valuesOf(k); err != nil {
				return err
			}
		case int(v) > most:
			return errLevel
		default:
			r.def.rle -= k
			r.sink.nulls(k)
		}
		n -= k
	}
	return nil
}

func (r *leafReader) flags(n int) []uint8 {
	if cap(r.flag) < n {
		r.flag = make([]uint8, n+n/2)
	}
	return r.flag[:n]
}

// valuesOf reads n values none of which is NULL.
func (r *leafReader) valuesOf(n int) error {
	if err := r.dense(n); err != nil {
		return err
	}
	r.sink.valid(n)
	return nil
}

// flagged reads a value for each flag that is 1 and a NULL for each that is 0.
func (r *leafReader) flagged(f []uint8) error {
	k := 0
	for _, x := range f {
		k += int(x)
	}
	if err := r.dense(k); err != nil {
		return err
	}
	r.sink.spread(f, k)
	return nil
}

func (r *leafReader) dense(n int) error {
	if n == 0 {
		return nil
	}
	if !r.indexed {
		return r.sink.dense(&r.vals, n)
	}
	if cap(r.idx) < n {
		r.idx = make([]uint32, n+n/4)
	}
	if err := r.ix.indexes(r.idx[:n]); err != nil {
		return err
	}
	return r.sink.indexed(r.idx[:n])
}

// slots reads the values that definition levels announce, or passes over them.
func (r *leafReader) slots(lv []uint8, drop bool) error {
	if r.sink == nil {
		return nil
	}
	f := r.flags(len(lv))[:0]
	most, k := uint8(r.n.maxDef), 0
	for _, d := range lv {
		if d < r.slotDef {
			continue // an empty or NULL list: no slot
		}
		x := uint8(0)
		if d == most {
			x = 1
			k++
		}
		f = append(f, x)
	}
	if drop {
		return r.dropValues(k)
	}
	if err := r.dense(k); err != nil {
		return err
	}
	r.sink.spread(f, k)
	return nil
}

func (r *leafReader) dropValues(n int) error {
	if r.indexed {
		return r.ix.skip(n)
	}
	return r.vals.skip(n)
}

// readNested reads or passes over whole rows of a column inside of a list. Rows begin where the
// repetition level is 0; they may go over the end of a page.
func (r *leafReader) readNested(n int, drop bool) error {
	rows := 0
	for {
		if r.at == len(r.reps) {
			err := r.nextNested()
			if err == io.EOF && rows == n {
				return nil
			}
			if err == io.EOF {
				err = errors.New("the column chunk has too few rows")
			}
			if err != nil {
				return err
			}
			if len(r.reps) > 0 && rows == 0 && r.reps[0] != 0 {
				return r.where(errors.New("the page begins in the middle of a row"))
			}
			continue
		}
		to := r.at
		for to < len(r.reps) && (r.reps[to] != 0 || rows < n) {
			if r.reps[to] == 0 {
				rows++
			}
			to++
		}
		if err := r.entries(to, drop); err != nil {
			return r.where(err)
		}
		if r.at < len(r.reps) {
			return nil
		}
	}
}

func (r *leafReader) entries(to int, drop bool) error {
	lv := r.defs[r.at:to]
	if r.collect && !drop {
		r.outDef = append(r.outDef, lv...)
		r.outRep = append(r.outRep, r.reps[r.at:to]...)
	}
	r.at = to
	return r.slots(lv, drop)
}

// maxNested bounds the entries of a page inside of lists: their levels are unpacked at once.
const maxNested = 1 << 26

func (r *leafReader) nextNested() error {
	pg, err := r.pages.next()
	if err != nil {
		return err
	}
	if pg.values > maxNested {
		return fmt.Errorf("page at offset %d: %d values of a list", pg.off, pg.values)
	}
	r.pg, r.loaded = pg, false
	if err := r.load(0); err != nil {
		return err
	}
	if cap(r.defs) < pg.values {
		r.defs, r.reps = make([]uint8, pg.values), make([]uint8, pg.values)
	}
	r.defs, r.reps, r.at = r.defs[:pg.values], r.reps[:pg.values], 0
	if err := r.def.levels(r.defs, uint8(r.n.maxDef)); err != nil {
		return r.where(err)
	}
	if err := r.rep.levels(r.reps, uint8(r.n.maxRep)); err != nil {
		return r.where(err)
	}
	return nil
}

// begin starts a batch.
func (r *leafReader) begin(rows int) {
	r.outDef, r.outRep = r.outDef[:0], r.outRep[:0]
	if r.sink != nil {
		r.sink.reset(rows, !r.lent)
		r.lent = false
	}
}
