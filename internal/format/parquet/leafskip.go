package parquet

// settle does what skip left to do.
func (r *leafReader) settle() error {
	if r.pending == 0 {
		return nil
	}
	if r.loaded && r.n.maxRep == 0 && r.pending < int64(r.left) {
		k := int(r.pending)
		r.pending = 0
		r.left -= k
		return r.where(r.skipFlat(k))
	}
	if err := r.jump(); err != nil {
		return err
	}
	if r.n.maxRep > 0 {
		n := r.pending
		r.pending = 0
		for n > 0 {
			k := min(n, 1<<16)
			if err := r.readNested(int(k), true); err != nil {
				return err
			}
			n -= k
		}
		return nil
	}
	for r.pending > 0 {
		if r.left == 0 {
			if err := r.nextPage(); err != nil {
				return err
			}
			continue
		}
		if k := int64(r.left); !r.loaded && k <= r.pending {
			r.left = 0
			r.pending -= k
			continue
		}
		if err := r.load(int(r.pending)); err != nil {
			return err
		}
		k := int(min(r.pending, int64(r.left)))
		if err := r.skipFlat(k); err != nil {
			return r.where(err)
		}
		r.left -= k
		r.pending -= int64(k)
	}
	return nil
}

func (r *leafReader) skipFlat(n int) error {
	if r.n.maxDef == 0 {
		if r.sink == nil {
			return nil
		}
		return r.dropValues(n)
	}
	var lv [512]uint8
	for n > 0 {
		run, v, err := r.def.run()
		if err != nil {
			return err
		}
		k := min(n, run)
		if run == 0 || int(v) > r.n.maxDef {
			k = min(n, len(lv))
			err = r.def.levels(lv[:k], uint8(r.n.maxDef))
			if err == nil {
				err = r.slots(lv[:k], true)
			}
		} else {
			r.def.rle -= k
			if int(v) == r.n.maxDef && r.sink != nil {
				err = r.dropValues(k)
			}
		}
		if err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// jump uses the page index to go to the page of the row wanted, if that is not the page at hand.
func (r *leafReader) jump() error {
	if len(r.index) == 0 {
		return nil
	}
	want := r.next
	k := len(r.index)
	for k > 1 && r.index[k-1].firstRow > want {
		k--
	}
	to := r.index[k-1]
	if to.off < r.pages.pos || to.firstRow <= want-r.pending {
		return nil
	}
	if err := r.pages.seek(to, r.index[0], r.rows-to.firstRow); err != nil {
		return err
	}
	r.left, r.at, r.defs, r.reps = 0, 0, r.defs[:0], r.reps[:0]
	r.pending = want - to.firstRow
	return nil
}
