// Package rescue makes errors of panics. Goroutines that the library starts run under it: nobody else could recover
// there, and the process would end.
package rescue

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic that was stopped.
type Error struct {
	What  string // was being done, and to what
	Value any    // of the panic
	Stack []byte
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: broke down by a fault in the program: %v", e.What, e.Value)
}

// Unwrap gives the value of the panic if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Do calls f; a panic becomes an *Error.
func Do(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{what, p, debug.Stack()}
		}
	}()
	return f()
}
