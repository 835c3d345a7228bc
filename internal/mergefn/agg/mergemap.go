package agg

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// mergeMap makes one map of all, with the last value of each key. Taking a map back takes its keys away.
type mergeMap struct {
	t types.Type
	// time is the field of the values with their time, which decides which value of a key is the last; -1: the order
	// of rows decides.
	time int
}

func newMergeMap(c Config) (Func, error) {
	if c.Field.Type.Kind != types.Map {
		return nil, wrongType("merge_map", c, "MAP")
	}
	return &mergeMap{c.Field.Type, -1}, nil
}

func newMergeMapWithKeyTime(c Config) (Func, error) {
	t := c.Field.Type
	if t.Kind != types.Map || t.Elem == nil || t.Elem.Kind != types.Row || len(t.Elem.Fields) < 2 {
		return nil, wrongType("merge_map_with_keytime", c, "MAP<…, ROW<…>> with two or more fields in the row")
	}
	fields := t.Elem.Fields
	at := len(fields) - 1
	if name, ok := c.Option("ts-field"); ok {
		name = strings.TrimSpace(name)
		if at = slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == name }); at < 0 {
			return nil, fmt.Errorf("ts-field: the rows of type %s have no field %q", t.Elem, name)
		}
	}
	if k := fields[at].Type.Kind; k != types.Varchar && k != types.Char {
		return nil, fmt.Errorf("ts-field: times are texts, but the field %q has type %s (name another with the option ts-field)", fields[at].Name, fields[at].Type)
	}
	return &mergeMap{t, at}, nil
}

func (f *mergeMap) Retracts() bool { return f.time < 0 }

func (f *mergeMap) Fold(in *Input) (Result, error) {
	e := elementsOf(in.Column)
	var keys []arrow.Array
	if len(e.arrs) > 0 {
		keys = e.member(0)
	}
	m := merged{keyed{picked: picked{elements: e}, hash: hashOfElements(*f.t.Key, keys), of: func(dst []byte, r batch.Ref) []byte {
		return batch.AppendComparable(dst, keys[r.Src], int(r.Row))
	}}}
	if f.time < 0 {
		return e.fold(in, f.t, &m)
	}
	m2 := timed{merged: m}
	if len(e.arrs) > 0 {
		values := e.member(1)
		times := make([]arrow.Array, len(values))
		for i, v := range values {
			times[i] = v.(*array.Struct).Field(f.time)
		}
		m2.null, m2.time = Validities(values), textsOf(times)
	}
	return e.fold(in, f.t, &m2)
}

// merged is a map of which the last value of a key counts.
type merged struct{ keyed }

func (m *merged) first(els []batch.Ref) error {
	for _, r := range els {
		m.put(r)
	}
	return nil
}

func (m *merged) add(els []batch.Ref) error {
	_ = m.first(els)
	m.built()
	return nil
}

func (m *merged) older(els []batch.Ref) error {
	newer := m.swap()
	_ = m.first(els)
	return m.add(newer)
}

func (m *merged) retract(els []batch.Ref) error {
	for _, r := range els {
		m.remove(r)
	}
	if len(els) > 0 {
		m.built()
	}
	return nil
}

// timed is a map of which the value of a key with the greatest time counts, of equal times the first. A NULL takes
// the key away whatever its time; values without a time count only in the map that is first.
type timed struct {
	merged
	null []Validity // of values
	time texts
}

func (t *timed) add(els []batch.Ref) error {
	for _, r := range els {
		switch i, ok := t.find(r); {
		case !t.null[r.Src].At(r.Row):
			t.remove(r)
		case t.time.isNull(r):
		case !ok:
			t.append(r)
		default:
			if had := t.entries[i]; !t.null[had.Src].At(had.Row) || t.time.isNull(had) || bytes.Compare(t.time.at(r), t.time.at(had)) > 0 {
				t.entries[i] = r
			}
		}
	}
	t.built()
	return nil
}

func (t *timed) older(els []batch.Ref) error {
	newer := t.swap()
	_ = t.first(els)
	return t.add(newer)
}
