package demo

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/types"
)

// Source gives the changes of a Shop as events. Its position is how many there were.
type Source struct {
	shop   *Shop
	seed   uint64
	events int
	n      uint64
	shapes map[string]*decode.Shape
	out    []decode.Event
}

// NewSource makes a source of a shop of about the given number of changes.
func NewSource(seed uint64, events int) *Source {
	return &Source{shop: New(seed, events), seed: seed, events: events, shapes: map[string]*decode.Shape{}}
}

// Shop is the shop behind the source: what a lake has to hold.
func (s *Source) Shop() *Shop { return s.shop }

// position counts events.
type position uint64

// MarshalBinary implements decode.Position.
func (p position) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(p)), nil
}

// Open implements source.Source. The shop does again what it did, without telling.
func (s *Source) Open(ctx context.Context, from []byte) error {
	if from == nil {
		return nil
	}
	if len(from) != 8 {
		return fmt.Errorf("demo: %x is no position of this source", from)
	}
	for want := binary.BigEndian.Uint64(from); s.n < want; {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, ok := s.shop.Next()
		if !ok {
			return fmt.Errorf("demo: position %d is behind the end", want)
		}
		s.n++
		if c.DDL != nil {
			s.shapes[c.Database+"."+c.Table] = shapeOf(c.DDL.Table)
		}
	}
	return nil
}

// Fetch implements source.Source.
func (s *Source) Fetch(ctx context.Context) ([]decode.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	const most = 512
	s.out = s.out[:0]
	for len(s.out) < most {
		c, ok := s.shop.Next()
		if !ok {
			break
		}
		s.n++
		ev := decode.Event{Table: decode.TableID{Database: c.Database, Name: c.Table}, Millis: c.Millis, Position: position(s.n)}
		if c.DDL != nil {
			s.shapes[c.Database+"."+c.Table] = shapeOf(c.DDL.Table)
			ev.Kind, ev.DDL = decode.DDL, c.DDL.Text
		} else {
			ev.Kind, ev.Shape = decode.Rows, s.shapes[c.Database+"."+c.Table]
			ev.Rows = []decode.Row{{Kind: c.Kind, Values: valuesOf(c.Row)}}
		}
		s.out = append(s.out, ev)
	}
	if len(s.out) == 0 {
		return nil, io.EOF
	}
	return s.out, nil
}

// Ack implements source.Source: the shop keeps nothing for anyone.
func (s *Source) Ack(context.Context, []byte) error { return nil }

// Close implements source.Source.
func (s *Source) Close() error { return nil }

func shapeOf(t *Table) *decode.Shape {
	sh := &decode.Shape{Table: decode.TableID{Database: t.Database, Name: t.Name}}
	for _, f := range t.Fields {
		c := decode.Column{Name: f.Name, Type: f.Type.AsNullable()}
		if f.Type.Kind == types.Timestamp {
			c.Encoding = decode.Millis
		}
		for _, k := range t.PrimaryKey {
			c.PrimaryKey = c.PrimaryKey || k == f.Name
		}
		sh.Columns = append(sh.Columns, c)
	}
	return sh
}

// valuesOf writes a row's values as text, all in one piece of memory.
func valuesOf(row []types.Datum) [][]byte {
	buf := make([]byte, 0, 24*len(row))
	ends := make([]int, len(row))
	for i, v := range row {
		switch x := v.(type) {
		case int64:
			buf = strconv.AppendInt(buf, x, 10)
		case string:
			buf = types.AppendJSONString(buf, x)
		case decimal128.Num:
			buf = append(buf, x.ToString(2)...)
		case types.Instant:
			buf = strconv.AppendInt(buf, x.Millis, 10)
		}
		ends[i] = len(buf)
	}
	out := make([][]byte, len(row))
	from := 0
	for i, v := range row {
		if v != nil {
			out[i] = buf[from:ends[i]:ends[i]]
		}
		from = ends[i]
	}
	return out
}
