package parse

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tarnlake/tarn"
)

// Error is a mistake in the text. Error() shows the line and a caret below the place.
type Error struct {
	Msg  string
	Hint string // what to do about it, may be empty
	Text string // the whole text
	Pos  int    // byte offset into it
	// Incomplete says that the text may be the beginning of something right: a shell asks for more.
	Incomplete bool
	// File is what the text was read from, if that is known.
	File string
}

// Unwrap says that the request was wrong.
func (e *Error) Unwrap() error { return tarn.ErrInvalid }

// Line is the number of the line, from 1, and Column that of the character in it, from 1.
func (e *Error) Line() (line, column int) {
	before := e.Text[:min(e.Pos, len(e.Text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// Message is the message with the place, without the excerpt.
func (e *Error) Message() string {
	line, col := e.Line()
	if e.File != "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, line, col, e.Msg)
	}
	return fmt.Sprintf("line %d, column %d: %s", line, col, e.Msg)
}

// Excerpt is the line of the mistake and a caret below it. Long lines are cut around the place.
func (e *Error) Excerpt() string {
	pos := min(e.Pos, len(e.Text))
	start := strings.LastIndexByte(e.Text[:pos], '\n') + 1
	end := len(e.Text)
	if i := strings.IndexByte(e.Text[pos:], '\n'); i >= 0 {
		end = pos + i
	}
	before, after := []rune(e.Text[start:pos]), []rune(strings.TrimRight(e.Text[pos:end], "\r"))
	if len(before) > 60 {
		before = append([]rune("…"), before[len(before)-59:]...)
	}
	if len(after) > 60 {
		after = append(after[:59:59], '…')
	}
	pad := make([]rune, len(before))
	for i, r := range before {
		pad[i] = ' '
		if r == '\t' {
			pad[i] = '\t'
		}
	}
	return "  " + string(before) + string(after) + "\n  " + string(pad) + "^"
}

// Error is the message, and below it the line with the place marked.
func (e *Error) Error() string { return e.Message() + "\n" + e.Excerpt() }
