package decode

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Canal decodes Canal's JSON. Its values are texts; their types are told by mysqlType.
type Canal struct {
	opts   Options
	shapes shapes

	// of the current message
	s    scanner
	m    canalMessage
	rows []member // of all rows of data, one after the other
	ends []int    // where each row of data ends in rows
	old  []member
	olds []int
}

type canalMessage struct {
	kind, db, table []byte // with quotes
	types, keys     []byte
	es, ts, sql     []byte
	data, old       state
	ddl, isRecord   bool
}

// NewCanal makes a decoder of canal-json.
func NewCanal(opts Options) *Canal { return &Canal{opts: opts} }

const canalFormat = "canal-json"

// statements are the types of messages about a statement, which isDdl may not say.
var statements = map[string]bool{"CREATE": true, "ALTER": true, "ERASE": true, "TRUNCATE": true, "RENAME": true, "CINDEX": true, "DINDEX": true}

func (c *Canal) fail(r Reason, what, do string) *Error {
	return &Error{Reason: r, Format: canalFormat, Offset: -1, What: what, Do: do}
}

// Decode implements Decoder. Canal's messages have no key; one is not looked at.
func (c *Canal) Decode(key, value []byte) (Event, error) {
	ev, err := c.decode(value)
	if err != nil {
		err.Format = canalFormat
		return Event{Kind: Bad, Table: c.table()}, err
	}
	return ev, nil
}

func (c *Canal) decode(value []byte) (Event, *Error) {
	c.s = scanner{data: value}
	c.m = canalMessage{}
	switch c.s.ws() {
	case '{':
		c.read()
	case 0:
		if c.s.pos == len(value) {
			return Event{}, nil
		}
		c.s.value()
	default:
		if v, ok := c.s.value(); ok && !isNull(v) {
			return Event{}, c.fail(WrongShape, "the message is no object", "each message, or line, must be one change event")
		}
	}
	if c.s.err == nil && (c.s.ws() != 0 || c.s.pos < len(value)) {
		c.s.fail("something follows the message")
	}
	if c.s.err != nil {
		return Event{}, c.s.err
	}
	if !c.m.isRecord {
		return Event{}, nil // null
	}
	return c.event()
}

// read reads the message.
func (c *Canal) read() {
	s, m := &c.s, &c.m
	m.isRecord = true
	s.pos++
	for first := true; ; first = false {
		name, more := s.member(first)
		if !more {
			return
		}
		var ok bool
		switch {
		case is(name, "data"):
			c.rows, c.ends, m.data, ok = c.list(c.rows[:0], c.ends[:0])
		case is(name, "old"):
			c.old, c.olds, m.old, ok = c.list(c.old[:0], c.olds[:0])
		case is(name, "type"):
			m.kind, ok = s.value()
		case is(name, "database"):
			m.db, ok = s.value()
		case is(name, "table"):
			m.table, ok = s.value()
		case is(name, "mysqlType"):
			m.types, ok = s.value()
		case is(name, "pkNames"):
			m.keys, ok = s.value()
		case is(name, "es"):
			m.es, ok = s.value()
		case is(name, "ts"):
			m.ts, ok = s.value()
		case is(name, "sql"):
			m.sql, ok = s.value()
		case is(name, "isDdl"):
			var v []byte
			v, ok = s.value()
			m.ddl = string(v) == "true" || string(v) == `"true"`
		default:
			_, ok = s.value()
		}
		if !ok {
			return
		}
	}
}

// list reads an array of rows. A single object counts as an array of one.
func (c *Canal) list(into []member, ends []int) ([]member, []int, state, bool) {
	s := &c.s
	row := func() bool {
		s.pos++
		for first := true; ; first = false {
			name, more := s.member(first)
			if !more {
				ends = append(ends, len(into))
				return s.err == nil
			}
			v, ok := s.value()
			if !ok {
				return false
			}
			into = append(into, member{name, v})
		}
	}
	switch s.ws() {
	case 'n':
		_, ok := s.value()
		return into, ends, null, ok
	case '{':
		ok := row()
		return into, ends, object, ok
	case '[':
	default:
		_, ok := s.value()
		return into, ends, other, ok
	}
	s.pos++
	if s.ws() == ']' {
		s.pos++
		return into, ends, object, true
	}
	for {
		switch b := s.ws(); b {
		case '{':
			if !row() {
				return into, ends, object, false
			}
		case 'n': // an update that changed nothing has a null in old
			if _, ok := s.value(); !ok {
				return into, ends, object, false
			}
			ends = append(ends, len(into))
		default:
			_, ok := s.value()
			return into, ends, other, ok && s.fail("a list of rows holds something else than objects")
		}
		b := s.ws()
		s.pos++
		if b == ']' {
			return into, ends, object, true
		}
		if b != ',' {
			s.pos--
			return into, ends, object, s.failEnd(b)
		}
	}
}

// event makes the event of the message that was read.
func (c *Canal) event() (Event, *Error) {
	m := &c.m
	ev := Event{Kind: Rows, Table: c.table(), Millis: millis(m.es)}
	if ev.Millis == 0 {
		ev.Millis = millis(m.ts)
	}
	word := ""
	if m.kind != nil {
		word = text(m.kind)
	}
	noRows := m.data == absent || m.data == null || (m.data == object && len(c.ends) == 0)
	if m.ddl || noRows && statements[word] {
		ev.Kind = DDL
		if m.sql != nil && !isNull(m.sql) {
			ev.DDL = text(m.sql)
		}
		if ev.DDL == "" && word != "" {
			ev.DDL = word + " TABLE " + ev.Table.Name
		}
		return ev, nil
	}
	if m.kind == nil {
		return ev, c.fail(Lacks, `"type" is missing`, "is it a message of Canal?")
	}
	var kind types.RowKind
	switch word {
	case "INSERT", "ROW":
		kind = types.Insert
	case "UPDATE":
		kind = types.UpdateAfter
	case "DELETE":
		kind = types.Delete
	default:
		if noRows {
			return Event{}, nil // QUERY, TRANSACTIONBEGIN and the like
		}
		return ev, c.fail(WrongShape, "type is "+strconv.Quote(word), "known are INSERT, UPDATE, DELETE, ROW and statements with isDdl")
	}
	switch {
	case m.data == absent || m.data == null:
		return ev, c.fail(Lacks, `"data" is missing in a message of type `+word, "")
	case m.data != object:
		return ev, c.fail(WrongShape, `"data" is no list of rows`, "")
	case len(c.ends) == 0:
		return Event{}, nil
	}
	return ev, c.changes(&ev, kind)
}

func (c *Canal) table() TableID {
	var t TableID
	if c.m.db != nil {
		t.Database = text(c.m.db)
	}
	if c.m.table != nil {
		t.Name = text(c.m.table)
	}
	return t
}

// changes fills in the rows.
func (c *Canal) changes(ev *Event, kind types.RowKind) *Error {
	widest, start := c.rows[:c.ends[0]], 0
	for _, end := range c.ends {
		if end-start > len(widest) {
			widest = c.rows[start:end]
		}
		start = end
	}
	if len(widest) == 0 {
		return c.fail(WrongShape, "the row has no columns", "")
	}
	shape, err := c.shape(widest)
	if err != nil {
		return err
	}
	hasOld := kind == types.UpdateAfter && c.m.old == object
	if hasOld && len(c.olds) != len(c.ends) {
		return c.fail(WrongShape, `"old" has `+strconv.Itoa(len(c.olds))+` rows and "data" has `+strconv.Itoa(len(c.ends)), "")
	}
	n := len(c.ends)
	if hasOld {
		n *= 2
	}
	ev.Shape, ev.Table, ev.Rows = shape, shape.Table, c.shapes.newRows(n)[:0]
	start, oldStart := 0, 0
	for i, end := range c.ends {
		values := c.shapes.newValues(len(shape.Columns))
		if !shape.fill(values, c.rows[start:end]) {
			return c.fail(WrongShape, "the rows of the message have different columns", "")
		}
		if hasOld {
			before := c.shapes.newValues(len(values))
			copy(before, values)
			shape.fill(before, c.old[oldStart:c.olds[i]])
			ev.Rows = append(ev.Rows, Row{types.UpdateBefore, before})
			oldStart = c.olds[i]
		}
		ev.Rows = append(ev.Rows, Row{kind, values})
		start = end
	}
	return nil
}

// shape gives the shape of a row of the current message.
func (c *Canal) shape(row []member) (*Shape, *Error) {
	m := &c.m
	list := c.shapes.of(m.db, nil, m.table)
	for i, s := range *list {
		if s.types == string(m.types) && s.pkNames == string(m.keys) && s.matches(row) {
			if i > 0 {
				return used(list, i), nil
			}
			return s, nil
		}
	}
	if err := checkNames(row); err != nil {
		return nil, err
	}
	s := &Shape{Table: c.table(), types: string(m.types), pkNames: string(m.keys)}
	told, err := c.typeMembers()
	if err != nil {
		return nil, err
	}
	var keys []string
	if m.keys != nil && json.Unmarshal(m.keys, &keys) != nil {
		return nil, c.fail(WrongShape, `"pkNames" is no list of names`, "")
	}
	for i := range told {
		col := mysqlColumn(text(told[i].value), c.opts)
		col.Name = text(told[i].name)
		s.Columns = append(s.Columns, col)
	}
	inOrder := len(told) <= len(row)
	for i := range row {
		name := text(row[i].name)
		at := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
		if at < 0 {
			at = len(s.Columns)
			s.Columns = append(s.Columns, Column{Name: name})
		}
		inOrder = inOrder && at == i
		s.at = append(s.at, at)
		s.raw = append(s.raw, string(row[i].name))
	}
	if inOrder {
		s.at = nil
	}
	for i, k := range keys {
		at := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == k })
		if at < 0 { // MySQL does not tell them apart by case
			at = slices.IndexFunc(s.Columns, func(c Column) bool { return strings.EqualFold(c.Name, k) })
		}
		if at < 0 {
			return nil, c.fail(Lacks, `the row has no column `+strconv.Quote(k)+`, which is in "pkNames"`, "")
		}
		keys[i] = s.Columns[at].Name
	}
	s.keys = keys
	for i := range s.Columns {
		s.Columns[i].PrimaryKey = slices.Contains(keys, s.Columns[i].Name)
		s.Columns[i].Zone = c.opts.Zone
	}
	remember(list, s)
	return s, nil
}

// typeMembers reads mysqlType; absent and null are the same.
func (c *Canal) typeMembers() ([]member, *Error) {
	if c.m.types == nil || isNull(c.m.types) {
		return nil, nil
	}
	main := c.s
	defer func() { c.s = main }()
	c.s = scanner{data: c.m.types}
	told, ends, st, ok := c.list(nil, nil)
	if !ok || st != object || len(ends) != 1 || c.m.types[0] != '{' {
		return nil, c.fail(WrongShape, `"mysqlType" is no object of types`, "")
	}
	return told, checkNames(told)
}
