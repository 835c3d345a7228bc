package sql

import "strings"

// EngineError is what DuckDB says about a statement.
type EngineError struct{ Msg string }

// Error is DuckDB's message, without its kind where the kind tells nothing to a user.
func (e *EngineError) Error() string {
	return strings.TrimPrefix(e.Msg, "Invalid Input Error: ")
}

// Error is an error with a hint what to do.
type Error struct {
	Msg  string
	Hint string
	Err  error // what it wraps, or nil
}

func (e *Error) Error() string { return e.Msg }

// Unwrap gives what the error wraps.
func (e *Error) Unwrap() error { return e.Err }
