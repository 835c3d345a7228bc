package jsonrow

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of what is read.
const maxDepth = 100

// scanner reads JSON text. It is strict: what JSON does not allow is an error.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("column %d: %s", s.i+1, fmt.Sprintf(format, args...))
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}

// peek is the next character that is not a space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i >= len(s.b) {
		return 0
	}
	return s.b[s.i]
}

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return s.errorf("want %q, found %s", c, s.found())
	}
	s.i++
	return nil
}

// found names what stands here, for errors.
func (s *scanner) found() string {
	if s.i >= len(s.b) {
		return "the end"
	}
	end := min(s.i+20, len(s.b))
	return strconv.Quote(string(s.b[s.i:end]))
}

// word takes a literal such as null if it stands here.
func (s *scanner) word(w string) bool {
	s.space()
	if len(s.b)-s.i >= len(w) && string(s.b[s.i:s.i+len(w)]) == w {
		s.i += len(w)
		return true
	}
	return false
}

// number takes the text of a number. It lies in the line.
func (s *scanner) number() ([]byte, error) {
	s.space()
	from := s.i
	digits := func() bool {
		at := s.i
		for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
			s.i++
		}
		return s.i > at
	}
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if !digits() {
		s.i = from
		return nil, s.errorf("want a number, found %s", s.found())
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !digits() {
			return nil, s.errorf("number without digits after its point")
		}
	}
	if s.i < len(s.b) && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !digits() {
			return nil, s.errorf("number without digits in its exponent")
		}
	}
	return s.b[from:s.i], nil
}

// str takes a string.
func (s *scanner) str() (string, error) {
	b, err := s.raw()
	return string(b), err
}

// raw takes a string whose text may lie in the line.
func (s *scanner) raw() ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return nil, err
	}
	from := s.i
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			v := s.b[from:s.i]
			s.i++
			if !utf8.Valid(v) {
				return nil, s.errorf("string is not UTF-8")
			}
			return v, nil
		case c == '\\':
			return s.escaped(from)
		case c < ' ':
			return nil, s.errorf("control character %#02x in a string", c)
		}
		s.i++
	}
	return nil, errors.New("string is not closed")
}

// escaped goes on with a string that has escapes, the first at s.i.
func (s *scanner) escaped(from int) ([]byte, error) {
	out := append([]byte(nil), s.b[from:s.i]...)
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return nil, s.errorf("string is not UTF-8")
			}
			return out, nil
		case c < ' ':
			return nil, s.errorf("control character %#02x in a string", c)
		case c != '\\':
			out = append(out, c)
			continue
		}
		if s.i >= len(s.b) {
			break
		}
		c = s.b[s.i]
		s.i++
		switch c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, err := s.unicode()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, s.errorf("unknown escape \\%c", c)
		}
	}
	return nil, errors.New("string is not closed")
}

// unicode takes the digits of \uXXXX, and the second half of a pair.
func (s *scanner) unicode() (rune, error) {
	hex4 := func() (rune, error) {
		if len(s.b)-s.i < 4 {
			return 0, errors.New("string is not closed")
		}
		v, err := strconv.ParseUint(string(s.b[s.i:s.i+4]), 16, 16)
		if err != nil {
			return 0, s.errorf("\\u wants four hexadecimal digits, found %s", s.found())
		}
		s.i += 4
		return rune(v), nil
	}
	r, err := hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !bytes.HasPrefix(s.b[s.i:], []byte(`\u`)) {
		return 0, s.errorf("half of a surrogate pair")
	}
	s.i += 2
	low, err := hex4()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, s.errorf("no surrogate pair")
	}
	return r, nil
}

// skip passes over any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("nested deeper than %d", maxDepth)
	}
	switch c := s.peek(); {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{', c == '[':
		s.i++
		end := byte('}')
		if c == '[' {
			end = ']'
		}
		for n := 0; s.peek() != end; n++ {
			if n > 0 {
				if err := s.expect(','); err != nil {
					return err
				}
			}
			if c == '{' {
				if _, err := s.str(); err != nil {
					return err
				}
				if err := s.expect(':'); err != nil {
					return err
				}
			}
			if err := s.skip(depth + 1); err != nil {
				return err
			}
		}
		s.i++
		return nil
	case s.word("null"), s.word("true"), s.word("false"):
		return nil
	}
	_, err := s.number()
	return err
}
