package types

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokWord             // keyword or name as written
	tokName             // name in backticks
	tokText             // string in single quotes
	tokNumber           // digits
	tokPunct            // < > ( ) , .
)

type token struct {
	kind tokenKind
	text string
	pos  int // byte offset in the text
}

// lex splits the text of a type. Quotes are doubled to stand for themselves.
func lex(s string) ([]token, error) {
	var out []token
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case strings.IndexByte("<>(),.", c) >= 0:
			out = append(out, token{tokPunct, s[i : i+1], i})
			i++
		case c == '\'' || c == '`':
			text, n, ok := quoted(s[i:], c)
			if !ok {
				return nil, typeError(s, i, "the quote %q is never closed", string(c))
			}
			kind := tokText
			if c == '`' {
				kind = tokName
			}
			out = append(out, token{kind, text, i})
			i += n
		case c >= '0' && c <= '9':
			n := i
			for n < len(s) && s[n] >= '0' && s[n] <= '9' {
				n++
			}
			out = append(out, token{tokNumber, s[i:n], i})
			i = n
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if unicode.IsSpace(r) {
				i += size
				continue
			}
			n := i
			for n < len(s) {
				r, size = utf8.DecodeRuneInString(s[n:])
				if unicode.IsSpace(r) || strings.ContainsRune("<>(),.'`", r) {
					break
				}
				n += size
			}
			out = append(out, token{tokWord, s[i:n], i})
			i = n
		}
	}
	return out, nil
}

// quoted reads a quoted text at the start of s and the number of bytes it took.
func quoted(s string, quote byte) (string, int, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != quote {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		return b.String(), i + 1, true
	}
	return "", 0, false
}

func typeError(s string, pos int, format string, args ...any) error {
	const most = 120 // a type that does not parse may be anything, of any length
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Errorf("types: parse type %q, at byte %d: %s", s, pos, fmt.Sprintf(format, args...))
}
