// Package decode turns messages of change-data-capture tools into events: rows that changed, with the
// columns they had then. There is a Decoder for each format.
//
// Values stay as they came, slices of the message, until AppendTo puts them into a column of a batch:
// what they are is told by the Column, what they become by the type of the table.
package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tarnlake/tarn/types"
)

// TableID names a table as the source does. What a message does not tell is empty; without a Name
// the message can only be meant for the one table of a job.
type TableID struct {
	Database string
	Schema   string // of databases that have schemas (PostgreSQL, SQL Server, Oracle)
	Name     string
}

// String joins what is known by dots.
func (t TableID) String() string {
	return strings.Join(slices.DeleteFunc([]string{t.Database, t.Schema, t.Name}, func(s string) bool { return s == "" }), ".")
}

// Kind says what an Event is.
type Kind uint8

// The kinds of events.
const (
	// Skip is a message without changes: a tombstone, a heartbeat, the border of a transaction.
	Skip Kind = iota
	// Rows are changed rows of one table, in order.
	Rows
	// DDL is a statement that changed a table. It is information only: the columns that follow from it
	// come with the next rows.
	DDL
	// Bad is a message that could not be understood: Err says why.
	Bad
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Skip:
		return "skip"
	case Rows:
		return "rows"
	case DDL:
		return "ddl"
	case Bad:
		return "bad"
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Event is what one message says.
type Event struct {
	Kind  Kind
	Table TableID // of Rows and DDL, as far as told
	// Shape is that of all Rows; events of the same shape share it, so what was worked out for it can be
	// kept by its pointer.
	Shape  *Shape
	Rows   []Row
	DDL    string // the statement
	Millis int64  // when the source made the change, milliseconds since 1970 UTC; 0 if not told
	Err    error  // of Bad
	// Raw is the message: what a dead-letter file keeps. Set by sources, and by decoders if Bad.
	Raw []byte
	// Position is where the source goes on after this event; set by sources, not by decoders. If it is a
	// fmt.Stringer, errors of the event say by it where the message stands.
	Position Position
}

// Position is a place in a source. It is opaque to all others; the bytes are kept in checkpoints and
// given back to Open of the same kind of source.
type Position interface {
	// MarshalBinary gives the bytes to keep.
	MarshalBinary() ([]byte, error)
}

// Row is a changed row. Values has one for each column of the shape: JSON text, as json.Marshal makes it of numbers, texts,
// truth values and time.Time, or, by the column's Encoding, plain text, bytes in base64 (as it makes them of []byte) and others;
// nil is NULL. They are parts of the message: neither may be changed. The row before an
// update (types.UpdateBefore) stands right before the one after it.
type Row struct {
	Kind   types.RowKind
	Values [][]byte
}

// Shape is the columns of events. It is immutable. One made by hand has Table and Columns.
type Shape struct {
	Table   TableID
	Columns []Column

	// what a message must look like to be of this shape
	raw     []string // names of the row, with their quotes, in the order of the message
	at      []int    // their columns; nil if in order
	schema  *schema  // Debezium: the schema part
	types   string   // Canal: mysqlType as written
	keyRaw  []string // names of the message's key, with their quotes
	pkNames string   // as written
	keys    []string // names of the key, in its order
}

// PrimaryKey gives the names of the key columns, in the order of the key if the message tells it, else of the columns;
// empty if not told.
func (s *Shape) PrimaryKey() []string {
	var out []string
	for _, k := range s.keys {
		if slices.ContainsFunc(s.Columns, func(c Column) bool { return c.PrimaryKey && c.Name == k }) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	if out != nil {
		return out
	}
	for i := range s.Columns {
		if s.Columns[i].PrimaryKey {
			out = append(out, s.Columns[i].Name)
		}
	}
	return out
}

// LowerCase gives the shape with all names of columns in lower case.
func (s *Shape) LowerCase() *Shape {
	low := *s
	low.Columns, low.keys = slices.Clone(s.Columns), slices.Clone(s.keys)
	for i := range low.Columns {
		low.Columns[i].Name = strings.ToLower(low.Columns[i].Name)
	}
	for i := range low.keys {
		low.keys[i] = strings.ToLower(low.keys[i])
	}
	return &low
}

// Column is a column of a message.
type Column struct {
	Name string
	// Type is what the message tells, nullable; of Kind Invalid if it does not. Then the type of the table
	// or of the job counts, else STRING (as the format's own tools have it).
	Type types.Type
	// SourceType is the name of the type in the source or tool, for example tinyint(1) or
	// io.debezium.time.MicroTimestamp; "" if not told. Lower case for SQL types.
	SourceType string
	PrimaryKey bool
	// Encoding is how values are written.
	Encoding Encoding
	// Scale is that of EncodedDecimal; the length of Latin1Padded.
	Scale int
	// Symbols are the words of an ENUM or SET, in order.
	Symbols []string
	// Zone is the time zone of wall-clock values when they become points in time; UTC if nil.
	Zone   *time.Location
	nested *nested
	// base64 tells that bytes are written so, should the table have them: the message does not say what it holds.
	base64 bool
}

// Encoding is how a value is written.
type Encoding uint8

// The encodings.
const (
	JSON           Encoding = iota // JSON of a natural form: numbers, texts, true and false; anything else becomes its text
	Text                           // not JSON: the text itself
	Days                           // number of days since 1970-01-01
	Millis                         // number of milliseconds since 1970 (wall clock)
	Micros                         // number of microseconds
	Nanos                          // number of nanoseconds
	TimeMillis                     // number of milliseconds of the day
	TimeMicros                     // microseconds of the day
	TimeNanos                      // nanoseconds of the day
	Zoned                          // ISO text with a zone: a point in time
	Base64                         // bytes
	Base64Reversed                 // bytes, the least significant first (BIT of Debezium); their text is binary digits
	EncodedDecimal                 // a number, or base64 of the unscaled value, big-endian two's complement
	ScaledDecimal                  // an object of scale and base64 value
	Latin1                         // bytes, each one character of a JSON string (Canal)
	Latin1Padded                   // likewise, without the zeros at the end (BINARY)
	BitNumber                      // BIT as a number
	EnumIndex                      // number of a symbol, from 1; or the symbol itself
	SetMask                        // bits of symbols; or their names with commas between them
	Geometry                       // an object with base64 of the well-known binary form, or text of MySQL's bytes; its text is GeoJSON
)

// Decoder turns messages of one format into events. It is used by one goroutine.
type Decoder interface {
	// Decode decodes one message. key is its key, nil if it has none; value may be nil or empty (a
	// tombstone) or, if key is nil, a line: the value, or the key and behind it the value, or an object
	// with members key and value. An error is an *Error; the event is then of kind Bad, with the table if that was
	// read. The event refers to key and value, which must not change while it is in use.
	Decode(key, value []byte) (Event, error)
}

// Options are those of all decoders.
type Options struct {
	// Zone is the time zone of wall-clock values of the source where they become points in time
	// (a MySQL TIMESTAMP of Canal put into a TIMESTAMP_LTZ); UTC if nil.
	Zone *time.Location
	// TinyInt1NotBool makes TINYINT(1) a TINYINT, not a BOOLEAN.
	TinyInt1NotBool bool
	// ZonedAsLTZ makes points in time (MySQL's TIMESTAMP, timestamptz) TIMESTAMP_LTZ(6) where the format's
	// tools have TIMESTAMP(6) in UTC.
	ZonedAsLTZ bool
}

// formats are the known ones. A new format is one line here.
var formats = map[string]func(Options) Decoder{
	"debezium-json": func(o Options) Decoder { return NewDebezium(o) },
	"canal-json":    func(o Options) Decoder { return NewCanal(o) },
}

// New makes the decoder of a format by its name.
func New(format string, opts Options) (Decoder, error) {
	f := formats[format]
	if f == nil {
		return nil, fmt.Errorf("format %q is not known; known are %s", format, strings.Join(Formats(), ", "))
	}
	return f(opts), nil
}

// Formats gives the names of all formats, in order.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Reason says what is wrong with a message or value.
type Reason uint8

// The reasons.
const (
	NotJSON    Reason = iota + 1 // it is no JSON, or is cut off
	Lacks                        // something that must be there is missing
	WrongShape                   // it is JSON, but not of this format
	WrongValue                   // a value does not fit the type of its column
)

// Error is what is wrong with a message: where, what, and what to do about it.
type Error struct {
	Reason Reason
	Format string // of the message; "" for values
	Offset int    // byte of the message; -1 if it is no single place
	What   string
	Do     string // advice; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Format != "" {
		b.WriteString(e.Format)
		b.WriteString(": ")
	}
	b.WriteString(e.What)
	if e.Offset >= 0 && e.Format != "" {
		fmt.Fprintf(&b, " (byte %d)", e.Offset)
	}
	if e.Do != "" {
		b.WriteString("; ")
		b.WriteString(e.Do)
	}
	return b.String()
}
