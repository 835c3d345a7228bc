package lsm

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tarnlake/tarn/internal/binrow"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

const (
	// nearKeys is up to how many new rows older ones are looked for by their keys, not only by the range of these.
	nearKeys = 1024
	// nearOthers is the same for types of which values are compared one by one.
	nearOthers = 64
)

// nearOf is a filter that files of higher levels may leave out rows by: those that no key of level 0 is near to. Nil if there is
// none.
func (s *source) nearOf(ctx context.Context, sec section) (predicate.Predicate, error) {
	var zero []*manifest.DataFile
	rows := int64(0)
	for _, x := range sec {
		if x.file.Level == 0 {
			zero, rows = append(zero, x.file), rows+x.file.Rows
		}
	}
	if len(zero) == len(sec) || sec[0].file.Level <= s.level {
		return nil, nil // nothing is looked up in
	}
	if rows > nearKeys {
		return s.t.between(sec), nil
	}
	var cols []types.Field
	for _, f := range s.t.keys {
		many := slices.Contains([]types.Kind{types.Int, types.BigInt, types.Date, types.Varchar, types.Char}, f.Type.Kind)
		if f.Type.Kind != types.Float && f.Type.Kind != types.Double && (many || rows <= nearOthers) {
			cols = append(cols, f)
		}
	}
	if len(cols) == 0 {
		return s.t.between(sec), nil
	}
	in := make([]*predicate.Leaf, len(cols))
	for i, f := range cols {
		in[i] = &predicate.Leaf{Op: predicate.In, Column: f.Name, Type: f.Type}
	}
	for _, f := range zero {
		if err := s.keysIn(ctx, f, cols, in); err != nil {
			return nil, err
		}
	}
	all := make([]predicate.Predicate, len(in))
	for i := range in {
		all[i] = in[i]
	}
	return predicate.All(all...), nil
}

// keysIn adds the values of some key columns of a file to conditions on them.
func (s *source) keysIn(ctx context.Context, f *manifest.DataFile, cols []types.Field, in []*predicate.Leaf) (err error) {
	r, err := s.t.c.Store.Open(ctx, s.loc, f, datafile.ReadOptions{Fields: cols})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i, f := range cols {
			for row := range int(b.NumRows()) {
				in[i].Values = append(in[i].Values, types.DatumAt(b.Column(i), row, f.Type))
			}
		}
	}
}

// between is the range of the first key column in level 0; nil if that cannot be told.
func (t *Table) between(sec section) predicate.Predicate {
	first := t.keys[0]
	if first.Type.Kind == types.Float || first.Type.Kind == types.Double {
		return nil
	}
	var lo, hi *span
	for i := range sec {
		x := &sec[i]
		if x.file.Level != 0 {
			continue
		}
		if lo == nil || x.min.Compare(lo.min) < 0 {
			lo = x
		}
		if hi == nil || x.max.Compare(hi.max) > 0 {
			hi = x
		}
	}
	from, err := t.firstOf(lo.file.MinKey)
	if err != nil {
		return nil
	}
	to, err := t.firstOf(hi.file.MaxKey)
	if err != nil {
		return nil
	}
	return &predicate.Leaf{Op: predicate.Between, Column: first.Name, Type: first.Type, Values: []types.Datum{from, to}}
}

// firstOf is the first column of a key.
func (t *Table) firstOf(key []byte) (types.Datum, error) {
	vals, err := binrow.DecodeWithArity(key, t.keyTypes)
	if err != nil {
		return nil, err
	}
	return vals[0], nil
}
