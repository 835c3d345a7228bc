package sql

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
)

// EngineError is what DuckDB says about a statement.
type EngineError struct {
	Kind string // Parser, Binder, Catalog, Conversion, …
	Msg  string
	// Place is where in the script the mistake is, nil if the engine did not tell.
	Place *parse.Error
	Hint  string

	pos     int  // in the text that the engine got, -1 unknown
	noTable bool // the engine does not know a table
}

// engineMessage reads a message of the engine, which is told to give them as JSON.
func engineMessage(msg string) *EngineError {
	var m struct {
		Kind     string `json:"exception_type"`
		Msg      string `json:"exception_message"`
		Position string `json:"position"`
		Subtype  string `json:"error_subtype"`
	}
	i := strings.IndexByte(msg, '{')
	if i < 0 || json.Unmarshal([]byte(msg[i:]), &m) != nil || m.Kind == "" {
		kind, rest, ok := strings.Cut(msg, " Error: ")
		if !ok || strings.ContainsAny(kind, "\n:") {
			return &EngineError{Msg: msg, pos: -1}
		}
		e := &EngineError{Kind: kind, Msg: rest, pos: -1}
		e.ofDamage()
		return e
	}
	// The tables of the lake are queries to the engine, of which it says this.
	m.Msg = strings.Replace(m.Msg, "Values list \"", "Table \"", 1)
	e := &EngineError{Kind: m.Kind, Msg: m.Msg, pos: -1}
	e.ofDamage()
	e.noTable = e.Kind == "Catalog" && m.Subtype == "MISSING_ENTRY" && strings.HasPrefix(e.Msg, "Table with")
	if n, err := strconv.Atoi(m.Position); err == nil {
		e.pos = n
	}
	return e
}

// ofDamage rewrites what the engine says of a Parquet file whose metadata it cannot read: it does not name the file.
func (e *EngineError) ofDamage() {
	if e.Kind == "Invalid" && (strings.Contains(e.Msg, "TProtocolException") || strings.HasPrefix(e.Msg, "don't know what type")) {
		e.Msg = "a Parquet file is damaged (" + strings.TrimRight(e.Msg, ": ") + ")"
		e.Hint = "SET 'tarn.sql.raw-files' = 'false' before the query, or --no-raw-files, tells which file of the table"
	}
}

// Error is DuckDB's message, with the line that it is about. The kind of the error is left out where it tells
// nothing to a user.
func (e *EngineError) Error() string {
	switch {
	case e.Place != nil:
		return e.Place.Error()
	case e.Kind == "" || e.Kind == "Invalid Input" || e.Kind == "Binder" || e.Kind == "Parser" || e.Kind == "Catalog":
		return e.Msg
	}
	return e.Kind + " Error: " + e.Msg
}

// Unwrap tells whether the statement was wrong (tarn.ErrInvalid), names something that is not there
// (tarn.ErrNotExist), or is one that the engine does not have (tarn.ErrUnsupported).
func (e *EngineError) Unwrap() error {
	switch {
	case e.noTable:
		return tarn.ErrNotExist
	case e.Kind == "Parser", e.Kind == "Binder", e.Kind == "Catalog", e.Kind == "Syntax":
		return tarn.ErrInvalid
	case e.noCast():
		return tarn.ErrInvalid
	case e.Kind == "Not implemented":
		return tarn.ErrUnsupported
	}
	return nil
}

// ofCast says that a value could not become one of another type.
func (e *EngineError) ofCast() bool {
	return e.Kind == "Conversion" || e.Kind == "Out of Range" || e.Kind == "Binder" && strings.HasPrefix(e.Msg, "STRUCT to STRUCT cast")
}

// noCast says that a type cannot become another, whatever the value.
func (e *EngineError) noCast() bool {
	return e.Kind == "Conversion" && strings.HasPrefix(e.Msg, "Unimplemented type for cast")
}

// Error is an error with a hint what to do.
type Error struct {
	Msg  string
	Hint string
	Err  error // what it wraps, or nil
}

// Error is the message without the hint.
func (e *Error) Error() string { return e.Msg }

// Unwrap gives what the error wraps.
func (e *Error) Unwrap() error { return e.Err }

// StatementError is the error of a statement of a script. Its text is that of Err.
type StatementError struct {
	Line int // where the statement begins, from 1
	Err  error
}

// Error is the text of the statement's error.
func (e *StatementError) Error() string { return e.Err.Error() }

// Unwrap gives the error of the statement.
func (e *StatementError) Unwrap() error { return e.Err }

// PartialError comes behind rows of a result that is not complete: it tells what is missing.
type PartialError struct{ Err error }

// Error tells what is missing.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap gives what is missing.
func (e *PartialError) Unwrap() error { return e.Err }
