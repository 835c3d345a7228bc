package agg

import (
	"bytes"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// listagg writes texts one behind the other, with a delimiter between. Empty texts and NULL are left out.
type listagg struct {
	delimiter []byte
	// distinct: of a text that comes later only those parts (between delimiters) are taken that are not there yet.
	distinct bool
}

func newListagg(c Config) (Func, error) {
	if t := c.Field.Type; t.Kind != types.Varchar || t.Length != math.MaxInt32 {
		return nil, wrongType("listagg", c, "STRING")
	}
	f := &listagg{delimiter: []byte(","), distinct: flag(c, "distinct")}
	if d, ok := c.Option("list-agg-delimiter"); ok {
		f.delimiter = []byte(d)
	}
	return f, nil
}

// flag tells whether an option of the column is true.
func flag(c Config, name string) bool {
	v, _ := c.Option(name)
	return strings.EqualFold(strings.TrimSpace(v), "true")
}

func (*listagg) Retracts() bool { return false }

func (f *listagg) Fold(in *Input) (Result, error) {
	col := textsOf(in.Column)
	out := array.NewStringBuilder(memory.DefaultAllocator)
	defer out.Release()
	out.Reserve(len(in.Ends))
	l := list{listagg: f}
	from, total := int32(0), 0
	for _, end := range in.Ends {
		l.reset()
		for i := from; i < end; i++ {
			if r := in.Refs[i]; !col.isNull(r) {
				l.fold(col.at(r), in.Ops != nil && in.Ops[i] == AddOlder)
			}
		}
		from = end
		if total += len(l.text); total > math.MaxInt32 {
			return Result{}, batch.ErrTooLarge
		}
		if l.some {
			out.BinaryBuilder.Append(l.text)
		} else {
			out.AppendNull()
		}
	}
	return Result{Values: out.NewArray()}, nil
}

// list is the text of one group.
type list struct {
	*listagg
	some bool
	text []byte
	seen map[string]struct{} // the parts of text, if they are asked for; nil: not known
}

func (l *list) reset() { l.some, l.text, l.seen = false, l.text[:0], nil }

func (l *list) fold(v []byte, older bool) {
	switch {
	case !l.some, len(l.text) == 0:
		l.some, l.text = true, append(l.text, v...)
	case len(v) == 0:
	case older:
		newer := bytes.Clone(l.text)
		l.text, l.seen = append(l.text[:0], v...), nil
		l.add(newer)
	default:
		l.add(v)
	}
}

// add writes a text, which is not empty, behind one that is not empty.
func (l *list) add(v []byte) {
	if !l.distinct {
		l.text = append(append(l.text, l.delimiter...), v...)
		return
	}
	if l.seen == nil {
		l.seen = map[string]struct{}{}
		for _, p := range l.parts(l.text) {
			l.seen[string(p)] = struct{}{}
		}
	}
	for _, p := range l.parts(v) {
		if _, ok := l.seen[string(p)]; !ok && len(p) > 0 {
			l.seen[string(p)] = struct{}{}
			l.text = append(append(l.text, l.delimiter...), p...)
		}
	}
}

// parts takes a text apart at delimiters, at blanks if the delimiter is empty.
func (l *list) parts(v []byte) [][]byte {
	if len(l.delimiter) == 0 {
		return bytes.Split(v, []byte(" "))
	}
	return bytes.Split(v, l.delimiter)
}
