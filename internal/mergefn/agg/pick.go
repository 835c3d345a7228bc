package agg

import "github.com/tarnlake/tarn/internal/batch"

// picking gives one of the values as it is, of any type.
type picking struct {
	retracts bool
	// fold says which of some rows it is, NullRef for none; null tells whether a row is NULL.
	fold func(refs []batch.Ref, ops []Op, null func(batch.Ref) bool) batch.Ref
}

func (p *picking) Retracts() bool { return p.retracts }

func (p *picking) Fold(in *Input) (Result, error) {
	valid := Validities(in.Column)
	null := func(r batch.Ref) bool { return !valid[r.Src].At(r.Row) }
	out := make([]batch.Ref, len(in.Ends))
	from := int32(0)
	var ops []Op
	for i, end := range in.Ends {
		if in.Ops != nil {
			ops = in.Ops[from:end]
		}
		out[i] = p.fold(in.Refs[from:end], ops, null)
		from = end
	}
	return Result{Rows: out}, nil
}

func pick(p picking) func(Config) (Func, error) {
	return func(Config) (Func, error) { return &p, nil }
}

func opAt(ops []Op, i int) Op {
	if ops == nil {
		return Add
	}
	return ops[i]
}

func lastValue(refs []batch.Ref, ops []Op, _ func(batch.Ref) bool) batch.Ref {
	for i := len(refs) - 1; i >= 0; i-- {
		switch opAt(ops, i) {
		case Add, Base:
			return refs[i]
		case Retract:
			return batch.NullRef
		}
	}
	return batch.NullRef
}

func lastNonNullValue(refs []batch.Ref, ops []Op, null func(batch.Ref) bool) batch.Ref {
	if ops == nil {
		for i := len(refs) - 1; i >= 0; i-- {
			if !null(refs[i]) {
				return refs[i]
			}
		}
		return batch.NullRef
	}
	last := batch.NullRef
	for i, r := range refs {
		switch {
		case null(r):
		case ops[i] == Retract:
			last = batch.NullRef
		case ops[i] == Add || last == batch.NullRef:
			last = r
		}
	}
	return last
}

func firstValue(refs []batch.Ref, ops []Op, _ func(batch.Ref) bool) batch.Ref {
	first, some := batch.NullRef, false
	for i, r := range refs {
		switch op := opAt(ops, i); {
		case op == Base:
			first = r
			continue
		case op == AddOlder && some, op == Add && !some:
			first = r
		}
		some = true
	}
	return first
}

func firstNonNullValue(refs []batch.Ref, ops []Op, null func(batch.Ref) bool) batch.Ref {
	first, some := batch.NullRef, false
	for i, r := range refs {
		switch op := opAt(ops, i); {
		case null(r):
			continue
		case op == Base:
			first = r
			continue
		case op == AddOlder && (some || first == batch.NullRef), op == Add && !some:
			first = r
		}
		some = true
	}
	return first
}
