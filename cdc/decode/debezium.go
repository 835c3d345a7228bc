package decode

import (
	"bytes"
	"crypto/md5" //nolint:gosec // what Java makes UUIDs of
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// Debezium decodes Debezium's JSON, with and without the schema part of Kafka Connect's converter.
type Debezium struct {
	opts    Options
	shapes  shapes
	schemas []*schema // most recently used first
	known   map[string]*schema

	// of the current message
	s      scanner
	m      envelope
	key    []member
	before []member
	after  []member
}

// envelope is what a message holds besides rows.
type envelope struct {
	schema           *schema
	op               []byte
	db, ns, table    []byte // with quotes, nil if not told
	ts, sourceTS     []byte
	ddl, ddlDB       []byte
	keys             []byte // pkNames
	before, after    state
	payload          state
	status           []byte // of messages about transactions
	members          tally
	wrapped          bool // an object of key and value
	wrapKey, wrapVal []byte
}

// tally counts members of a message by what they are of.
type tally struct {
	times       int // when: ts_ms, ts_us, ts_ns
	transaction int // of messages about transactions, but for status
	others      int // of no message of Debezium without an op
}

// state is what a member of the envelope is.
type state uint8

const (
	absent state = iota
	null
	object
	other
)

// NewDebezium makes a decoder of debezium-json.
func NewDebezium(opts Options) *Debezium { return &Debezium{opts: opts} }

const debeziumFormat = "debezium-json"

func (d *Debezium) fail(r Reason, what, do string) *Error {
	return &Error{Reason: r, Format: debeziumFormat, Offset: -1, What: what, Do: do}
}

// Decode implements Decoder.
func (d *Debezium) Decode(key, value []byte) (Event, error) {
	d.m = envelope{}
	ev, err := d.decode(key, value, true)
	if err != nil {
		err.Format = debeziumFormat
		return Event{Kind: Bad, Table: d.table()}, err
	}
	return ev, nil
}

// decode decodes a message; with line true, value may be a line without key of its own.
func (d *Debezium) decode(key, value []byte, line bool) (Event, *Error) {
	d.s = scanner{data: value}
	first := d.s.ws()
	if tab := bytes.IndexByte(value, '\t'); line && key == nil && first != '{' && tab > d.s.pos { // a key that is no object, or null
		return d.decode(value[:tab], value[tab+1:], false)
	}
	switch first {
	case 0:
		if d.s.pos == len(value) {
			return Event{}, nil // a tombstone: nothing to do, the row was deleted before
		}
	case 'n':
		if v, ok := d.s.value(); !ok || !isNull(v) {
			return Event{}, d.s.err
		}
		return Event{}, d.end()
	case '{':
		d.m = envelope{}
		d.before, d.after = d.before[:0], d.after[:0]
		if !d.object(true) {
			return Event{}, d.s.err
		}
		if end := d.s.pos; line && key == nil && d.s.ws() != 0 { // the key stood first
			return d.decode(value[:end], value[d.s.pos:], false)
		}
		if err := d.end(); err != nil {
			return Event{}, err
		}
		if line && d.m.op == nil && d.m.wrapped {
			return d.decode(d.m.wrapKey, d.m.wrapVal, false)
		}
		return d.event(key)
	}
	if _, ok := d.s.value(); !ok {
		return Event{}, d.s.err
	}
	return Event{}, d.fail(WrongShape, "the message is no object", "each message, or line, must be one change event")
}

// end checks that nothing follows the message.
func (d *Debezium) end() *Error {
	if d.s.ws() != 0 || d.s.pos < len(d.s.data) {
		d.s.fail("something follows the message")
	}
	return d.s.err
}

// object reads the message or, below it, its payload.
func (d *Debezium) object(root bool) bool {
	d.s.pos++
	for first := true; ; first = false {
		name, more := d.s.member(first)
		if !more {
			return d.s.err == nil
		}
		if !d.envelopeMember(name, root) {
			return false
		}
	}
}

func (d *Debezium) envelopeMember(name []byte, root bool) bool {
	s, m := &d.s, &d.m
	var ok bool
	switch {
	case is(name, "before"):
		d.before, m.before, ok = d.members(d.before[:0])
	case is(name, "after"):
		d.after, m.after, ok = d.members(d.after[:0])
	case is(name, "source"):
		if s.ws() != '{' {
			_, ok = s.value()
			break
		}
		ok = d.source()
	case is(name, "op"):
		m.op, ok = s.value()
	case is(name, "ts_ms"):
		m.ts, ok = s.value()
	case root && is(name, "schema"):
		ok = d.readSchema()
	case root && is(name, "payload"):
		switch s.ws() {
		case '{':
			m.payload = object
			ok = d.object(false)
		case 'n':
			m.payload = null
			_, ok = s.value()
		default:
			m.payload = other
			_, ok = s.value()
		}
	case is(name, "pkNames"):
		m.keys, ok = s.value()
	case is(name, "ddl"):
		m.ddl, ok = s.value()
	case is(name, "databaseName"):
		m.ddlDB, ok = s.value()
	case root && is(name, "key"):
		m.wrapKey, ok = s.value()
	case root && is(name, "value"):
		m.wrapVal, ok = s.value()
		m.wrapped = true
	case is(name, "status"):
		m.status, ok = s.value()
	case is(name, "id"), is(name, "event_count"), is(name, "data_collections"):
		m.members.transaction++
		_, ok = s.value()
	case is(name, "ts_us"), is(name, "ts_ns"):
		m.members.times++
		_, ok = s.value()
	default:
		m.members.others++
		_, ok = s.value()
	}
	return ok
}

// source reads where a change comes from.
func (d *Debezium) source() bool {
	s, m := &d.s, &d.m
	s.pos++
	for first := true; ; first = false {
		name, more := s.member(first)
		if !more {
			return s.err == nil
		}
		v, ok := s.value()
		if !ok {
			return false
		}
		switch {
		case is(name, "db"):
			m.db = v
		case is(name, "schema"):
			m.ns = v
		case is(name, "table"):
			m.table = v
		case is(name, "ts_ms"):
			m.sourceTS = v
		}
	}
}

// members reads the columns of a row.
func (d *Debezium) members(into []member) ([]member, state, bool) {
	s := &d.s
	switch s.ws() {
	case '{':
	case 'n':
		_, ok := s.value()
		return into, null, ok
	default:
		_, ok := s.value()
		return into, other, ok
	}
	s.pos++
	for first := true; ; first = false {
		name, more := s.member(first)
		if !more {
			return into, object, s.err == nil
		}
		v, ok := s.value()
		if !ok {
			return into, object, false
		}
		into = append(into, member{name, v})
	}
}

// event makes the event of the message that was read.
func (d *Debezium) event(key []byte) (Event, *Error) {
	m := &d.m
	if m.payload == null {
		return Event{}, nil
	}
	if m.payload == other {
		return Event{}, d.fail(WrongShape, "payload is no object", "")
	}
	if m.op == nil {
		return d.withoutOp()
	}
	ev := Event{Kind: Rows, Millis: millis(m.sourceTS)}
	if ev.Millis == 0 {
		ev.Millis = millis(m.ts)
	}
	op := text(m.op)
	switch op {
	case "c", "r", "u", "d":
	case "t":
		ev.Table = d.table()
		ev.Kind, ev.DDL = DDL, "TRUNCATE TABLE "+ev.Table.Name
		return ev, nil
	case "m":
		return Event{}, nil
	default:
		return ev, d.fail(WrongShape, "op is "+strconv.Quote(op), "known are c, r, u, d, t and m")
	}
	for _, p := range []struct {
		name string
		is   state
	}{{"before", m.before}, {"after", m.after}} {
		if p.is == other {
			return ev, d.fail(WrongShape, p.name+" is no object", "messages of MongoDB (debezium-bson) are not supported")
		}
	}
	if err := d.readKey(key); err != nil {
		return ev, err
	}
	return ev, d.changes(&ev, op)
}

// changes fills in the rows.
func (d *Debezium) changes(ev *Event, op string) *Error {
	m := &d.m
	row := d.after
	switch {
	case op == "d":
		row = d.before
		if m.before != object {
			if len(d.key) == 0 {
				return d.fail(Lacks, `a delete has no "before"`, "let the source send the old row (PostgreSQL: REPLICA IDENTITY FULL) or the key of the message")
			}
			row = d.key
		}
	case m.after != object:
		return d.fail(Lacks, `"after" is missing in an event of op `+op, "")
	}
	if len(row) == 0 {
		return d.fail(WrongShape, "the row has no columns", "")
	}
	shape, err := d.shape(row)
	if err != nil {
		return err
	}
	ev.Shape, ev.Table = shape, shape.Table
	values := d.shapes.newValues(len(shape.Columns))
	shape.fill(values, row)
	if op != "u" {
		kind := types.Insert
		if op == "d" {
			kind = types.Delete
			for i, v := range values { // which a delete has no need of
				if isPlaceholder(v) {
					values[i] = nil
				}
			}
		}
		ev.Rows = d.shapes.newRows(1)
		ev.Rows[0] = Row{kind, values}
		return nil
	}
	if m.before != object || len(d.before) == 0 {
		ev.Rows = d.shapes.newRows(1)
		ev.Rows[0] = Row{types.UpdateAfter, values}
		return d.unavailable(shape, values, nil)
	}
	before := d.shapes.newValues(len(values))
	copy(before, values) // what the old row does not tell is as it is now
	shape.fill(before, d.before)
	ev.Rows = d.shapes.newRows(2)
	ev.Rows[0], ev.Rows[1] = Row{types.UpdateBefore, before}, Row{types.UpdateAfter, values}
	return d.unavailable(shape, values, before)
}

// placeholders stand for a value that was not sent, as Debezium writes them for texts and for bytes (in base64 and
// hexadecimal digits), for lists of texts, bytes, numbers and UUIDs, and for maps.
var placeholders = func() map[string]bool {
	const word = "__debezium_unavailable_value"
	uuid := md5.Sum([]byte(word)) // of version 3, as Java makes it of a name
	uuid[6], uuid[8] = uuid[6]&0x0f|0x30, uuid[8]&0x3f|0x80
	digits := hex.EncodeToString(uuid[:])
	text := `"` + word + `"`
	b64 := `"` + base64.StdEncoding.EncodeToString([]byte(word)) + `"`
	numbers := strings.ReplaceAll(strings.Trim(fmt.Sprint([]byte(word)), "[]"), " ", ",")
	all := map[string]bool{}
	for _, v := range []string{
		text, b64, `"` + hex.EncodeToString([]byte(word)) + `"`, "[" + text + "]", "[" + b64 + "]", "[" + numbers + "]", "{" + text + ":" + text + "}",
		`["` + strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-") + `"]`,
	} {
		all[v] = true
	}
	return all
}()

// isPlaceholder tells values that stand for one that was not sent.
func isPlaceholder(v []byte) bool {
	return len(v) > 29 && len(v) < 150 && (v[0] == '"' || v[0] == '[' || v[0] == '{') && placeholders[string(v)]
}

// unavailable puts the old value in place of one that the source did not send because it is large and
// did not change (TOAST of PostgreSQL). Writing the placeholder would destroy the value.
func (d *Debezium) unavailable(shape *Shape, values, before [][]byte) *Error {
	for i, v := range values {
		if !isPlaceholder(v) {
			continue
		}
		if before == nil || isPlaceholder(before[i]) {
			return d.fail(Lacks, "the value of column "+strconv.Quote(shape.Columns[i].Name)+" was not sent since it did not change",
				"let the source send old rows (PostgreSQL: ALTER TABLE … REPLICA IDENTITY FULL)")
		}
		values[i] = before[i]
	}
	for i, v := range before {
		if isPlaceholder(v) {
			before[i] = nil
		}
	}
	return nil
}

// withoutOp is for messages that are no change of a row.
func (d *Debezium) withoutOp() (Event, *Error) {
	m := &d.m
	onlyStatus := m.before == absent && m.after == absent && m.members.others == 0
	switch {
	case m.ddl != nil && (m.ddlDB != nil || m.db != nil):
		ev := Event{Kind: DDL, Table: d.table(), Millis: millis(m.ts)}
		if !isNull(m.ddl) { // of databases whose statements are not read
			ev.DDL = text(m.ddl)
		}
		if ev.Table.Database == "" && m.ddlDB != nil && !isNull(m.ddlDB) {
			ev.Table.Database = text(m.ddlDB)
		}
		return ev, nil
	case onlyStatus && (string(m.status) == `"BEGIN"` || string(m.status) == `"END"`):
		return Event{}, nil // the border of a transaction
	case onlyStatus && m.ts != nil && m.status == nil && m.members.transaction == 0 && m.table == nil:
		return Event{}, nil // a heartbeat
	case m.before == absent && m.after == absent:
		return Event{}, d.fail(Lacks, `there is no "op", "before" or "after"`,
			"is it Debezium's envelope? Rows that the transformation ExtractNewRecordState has unwrapped have lost what changed")
	}
	return Event{}, d.fail(Lacks, `"op" is missing`, "")
}

func (d *Debezium) table() TableID {
	str := func(v []byte) string {
		if v == nil {
			return ""
		}
		return text(v)
	}
	return TableID{str(d.m.db), str(d.m.ns), str(d.m.table)}
}

// readKey reads the names and values of the key of the message into d.key.
func (d *Debezium) readKey(key []byte) *Error {
	d.key = d.key[:0]
	if key = bytes.TrimLeft(key, " \t\r\n"); len(key) == 0 || key[0] != '{' { // a text or number, as from a converter of its own: nothing to learn
		return nil
	}
	main := d.s
	defer func() { d.s = main }()
	d.s = scanner{data: key}
	var ok bool
	if d.key, _, ok = d.members(d.key); !ok {
		d.s.err.What = "the key of the message: " + d.s.err.What
		return d.s.err
	}
	for i := range d.key {
		if is(d.key[i].name, "payload") && len(d.key) <= 2 && d.key[i].value[0] == '{' {
			d.s = scanner{data: d.key[i].value}
			d.key, _, _ = d.members(d.key[:0]) // it was read once, so it is JSON
			break
		}
	}
	return nil
}

// millis reads a number of milliseconds; 0 if it is none.
func millis(raw []byte) int64 {
	if len(raw) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(raw), 10, 64)
	return n
}
