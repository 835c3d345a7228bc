package jsonrow

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/types"
)

// KindMember is the member that holds the row kind, in rows that have one.
const KindMember = "_kind"

// Decoder turns objects into batches. It is used by one goroutine.
type Decoder struct {
	fields []types.Field
	schema *arrow.Schema
	at     map[string]int
	b      *array.RecordBuilder
	kinds  []types.RowKind
	mixed  bool // a row is not +I
	row    []any
	seen   []bool
}

// NewDecoder makes a Decoder for the columns of a table.
func NewDecoder(fields []types.Field) *Decoder {
	d := &Decoder{fields: fields, schema: types.WideArrowSchema(fields), at: map[string]int{}, row: make([]any, len(fields)), seen: make([]bool, len(fields))}
	d.b = array.NewRecordBuilder(memory.DefaultAllocator, d.schema)
	for i, f := range fields {
		d.at[f.Name] = i
	}
	return d
}

// Len is the number of rows since the last Batch.
func (d *Decoder) Len() int { return len(d.kinds) }

// Decode adds one row. Members may come in any order; one that is missing is NULL; one that no column
// has, or that comes twice, is an error. After an error the row is not there.
func (d *Decoder) Decode(line []byte) error {
	kind, err := d.parse(line)
	if err != nil {
		return err
	}
	for i, v := range d.row {
		if v == nil && d.fields[i].Type.NotNull && !kind.IsRetract() {
			return fmt.Errorf("column %s is NOT NULL and has no value", d.fields[i].Name)
		}
	}
	for i, v := range d.row {
		appendTo(d.b.Field(i), d.fields[i].Type, v)
	}
	d.kinds = append(d.kinds, kind)
	d.mixed = d.mixed || kind != types.Insert
	return nil
}

func (d *Decoder) parse(line []byte) (kind types.RowKind, err error) {
	clear(d.row)
	clear(d.seen)
	hasKind := false
	s := &scanner{b: line}
	if err := s.expect('{'); err != nil {
		return 0, err
	}
	for n := 0; s.peek() != '}'; n++ {
		if n > 0 {
			if err := s.expect(','); err != nil {
				return 0, err
			}
		}
		name, err := s.raw()
		if err != nil {
			return 0, err
		}
		if err := s.expect(':'); err != nil {
			return 0, err
		}
		i, ok := d.at[string(name)]
		if !ok && string(name) == KindMember {
			if hasKind {
				return 0, fmt.Errorf("member %q comes twice", KindMember)
			}
			hasKind = true
			if kind, err = d.kind(s); err != nil {
				return 0, err
			}
			continue
		}
		if !ok {
			return 0, fmt.Errorf("unknown column %q; there are %s", name, d.names())
		}
		if d.seen[i] {
			return 0, fmt.Errorf("column %q comes twice", name)
		}
		d.seen[i] = true
		if d.row[i], err = value(s, d.fields[i].Type, 0); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	s.i++
	if s.peek() != 0 {
		return 0, s.errorf("more text after the object: %s", s.found())
	}
	return kind, nil
}

func (d *Decoder) names() string {
	out := make([]string, len(d.fields))
	for i, f := range d.fields {
		out[i] = f.Name
	}
	return strings.Join(out, ", ")
}

func (d *Decoder) kind(s *scanner) (types.RowKind, error) {
	v, err := s.str()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", KindMember, err)
	}
	for k := types.Insert; k <= types.Delete; k++ {
		if k.String() == v {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%s: %q is none of +I, -U, +U, -D", KindMember, v)
}

// Batch gives the rows added since the last call.
func (d *Decoder) Batch() batch.Batch {
	b := batch.Batch{RecordBatch: d.b.NewRecordBatch()}
	if d.mixed {
		b.Kinds = d.kinds
	}
	d.kinds, d.mixed = nil, false
	return b
}

// value reads a value of a type: a types.Datum, []any for ARRAY and ROW, [][2]any for MAP and MULTISET.
func value(s *scanner, t types.Type, depth int) (any, error) {
	if depth > maxDepth {
		return nil, s.errorf("nested deeper than %d", maxDepth)
	}
	if s.word("null") {
		if depth > 0 && t.NotNull { // of columns the caller knows whether it matters
			return nil, s.errorf("null where %s is", t)
		}
		return nil, nil
	}
	switch t.Kind {
	case types.Boolean:
		switch {
		case s.word("true"):
			return true, nil
		case s.word("false"):
			return false, nil
		}
		return nil, s.errorf("want true or false, found %s", s.found())
	case types.TinyInt:
		return integer(s, 8)
	case types.SmallInt:
		return integer(s, 16)
	case types.Int:
		return integer(s, 32)
	case types.BigInt:
		return integer(s, 64)
	case types.Float, types.Double:
		return float(s, t)
	case types.Array:
		return list(s, func() (any, error) { return value(s, *t.Elem, depth+1) })
	case types.Map:
		return pairs(s, *t.Key, *t.Elem, depth)
	case types.Multiset:
		return pairs(s, *t.Elem, types.Type{Kind: types.Int, NotNull: true}, depth)
	case types.Row:
		return members(s, t.Fields, depth)
	case types.Variant:
		bytesType := types.Type{Kind: types.Varbinary, Length: types.MaxLength}
		if s.peek() != '{' {
			return nil, s.errorf("want an object with value and metadata, found %s", s.found())
		}
		v, err := members(s, []types.Field{{Name: "value", Type: bytesType}, {Name: "metadata", Type: bytesType}, {Name: "json", Type: types.StringType}}, depth)
		if err != nil {
			return nil, err
		}
		parts := v.([]any)
		if parts[0] == nil || parts[1] == nil {
			return nil, s.errorf("a VARIANT needs value and metadata")
		}
		return parts[:2], nil
	case types.Decimal:
		if s.peek() != '"' {
			n, err := s.number()
			if err != nil {
				return nil, err
			}
			return ParseDecimal(string(n), t)
		}
	}
	text, err := s.raw()
	if err != nil {
		return nil, err
	}
	return scalar(string(text), t)
}

// scalar reads a value that is written as a string.
func scalar(text string, t types.Type) (any, error) {
	switch t.Kind {
	case types.Decimal:
		return ParseDecimal(text, t)
	case types.Char, types.Varchar:
		return text, nil
	case types.Binary, types.Varbinary:
		b, err := hex.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%.40q is not hexadecimal", text)
		}
		return b, nil
	case types.Date:
		return parseDate(text)
	case types.Time:
		return parseTime(text)
	case types.Timestamp, types.TimestampLTZ:
		return parseInstant(text, t)
	}
	return nil, fmt.Errorf("values of type %s cannot be read", t)
}

func integer(s *scanner, bits int) (any, error) {
	n, err := s.number()
	if err != nil {
		return nil, err
	}
	v, err := strconv.ParseInt(string(n), 10, bits)
	if err != nil {
		if bytes.ContainsAny(n, ".eE") {
			return nil, fmt.Errorf("%s is no integer", n)
		}
		return nil, fmt.Errorf("%s does not fit into %d bits", n, bits)
	}
	return v, nil
}

func float(s *scanner, t types.Type) (any, error) {
	bits := 64
	if t.Kind == types.Float {
		bits = 32
	}
	var v float64
	if s.peek() == '"' {
		text, err := s.str()
		if err != nil {
			return nil, err
		}
		switch text {
		case "NaN":
			v = types.NaN()
		case "Infinity":
			v = math.Inf(1)
		case "-Infinity":
			v = math.Inf(-1)
		default:
			return nil, fmt.Errorf("%.40q is no number; as text there are NaN, Infinity, -Infinity", text)
		}
	} else {
		n, err := s.number()
		if err != nil {
			return nil, err
		}
		if v, err = strconv.ParseFloat(string(n), bits); err != nil {
			return nil, fmt.Errorf("%s does not fit into a %s", n, t)
		}
	}
	if bits == 32 {
		return float32(v), nil
	}
	return v, nil
}

func list(s *scanner, item func() (any, error)) (any, error) {
	if err := s.expect('['); err != nil {
		return nil, err
	}
	out := []any{}
	for s.peek() != ']' {
		if len(out) > 0 {
			if err := s.expect(','); err != nil {
				return nil, err
			}
		}
		v, err := item()
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", len(out), err)
		}
		out = append(out, v)
	}
	s.i++
	return out, nil
}

func pairs(s *scanner, kt, vt types.Type, depth int) (any, error) {
	return list(s, func() (any, error) {
		n := 0
		v, err := list(s, func() (any, error) {
			n++
			switch n {
			case 1:
				return value(s, kt, depth+1)
			case 2:
				return value(s, vt, depth+1)
			}
			return nil, s.errorf("a pair has two values")
		})
		if err != nil {
			return nil, err
		}
		p := v.([]any)
		if len(p) != 2 {
			return nil, s.errorf("a pair has two values, not %d", len(p))
		}
		if p[0] == nil {
			return nil, s.errorf("the key of a pair is null")
		}
		return [2]any{p[0], p[1]}, nil
	})
}

func members(s *scanner, fields []types.Field, depth int) (any, error) {
	if err := s.expect('{'); err != nil {
		return nil, err
	}
	out := make([]any, len(fields))
	seen := make([]bool, len(fields))
	for n := 0; s.peek() != '}'; n++ {
		if n > 0 {
			if err := s.expect(','); err != nil {
				return nil, err
			}
		}
		name, err := s.raw()
		if err != nil {
			return nil, err
		}
		if err := s.expect(':'); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(fields, func(f types.Field) bool { return f.Name == string(name) })
		if i < 0 {
			return nil, fmt.Errorf("unknown field %q", name)
		}
		if seen[i] {
			return nil, fmt.Errorf("field %q comes twice", name)
		}
		seen[i] = true
		if out[i], err = value(s, fields[i].Type, depth+1); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	s.i++
	for i, f := range fields {
		if out[i] == nil && f.Type.NotNull {
			return nil, s.errorf("field %q is NOT NULL and has no value", f.Name)
		}
	}
	return out, nil
}

// appendTo adds a value that value made; it cannot fail.
func appendTo(b array.Builder, t types.Type, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch x := b.(type) {
	case *array.MapBuilder:
		kt, vt := t.Key, t.Elem
		if t.Kind == types.Multiset {
			kt, vt = t.Elem, &types.Type{Kind: types.Int, NotNull: true}
		}
		x.Append(true)
		for _, p := range v.([]any) {
			kv := p.([2]any)
			appendTo(x.KeyBuilder(), *kt, kv[0])
			appendTo(x.ItemBuilder(), *vt, kv[1])
		}
	case *array.ListBuilder:
		x.Append(true)
		for _, e := range v.([]any) {
			appendTo(x.ValueBuilder(), *t.Elem, e)
		}
	case *array.StructBuilder:
		x.Append(true)
		for i, e := range v.([]any) {
			ft := types.Type{Kind: types.Varbinary, Length: types.MaxLength}
			if t.Kind == types.Row {
				ft = t.Fields[i].Type
			}
			appendTo(x.FieldBuilder(i), ft, e)
		}
	default:
		if err := types.AppendDatum(b, t, v); err != nil {
			b.AppendNull() // parsing has checked what AppendDatum checks
		}
	}
}
