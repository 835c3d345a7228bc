package decode

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep arrays and objects of a message may lie in each other.
const maxDepth = 64

// scanner reads JSON in place. The methods return false after they have set err; positions are kept so that
// an error can name its byte.
type scanner struct {
	data []byte
	pos  int
	err  *Error
}

func (s *scanner) fail(what string) bool {
	if s.err == nil {
		s.err = &Error{Reason: NotJSON, Offset: s.pos, What: what}
	}
	return false
}

// ws passes over white space and gives the next byte, 0 at the end.
func (s *scanner) ws() byte {
	for s.pos < len(s.data) {
		c := s.data[s.pos]
		if c > ' ' {
			return c
		}
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		s.pos++
	}
	return 0
}

// plain are the bytes of strings that need no look: not the quote, the backslash, control characters.
var plain = func() (t [256]bool) {
	for i := ' '; i < 256; i++ {
		t[i] = i != '"' && i != '\\'
	}
	return t
}()

// oddBytes has a bit, the highest of its byte, for the first byte that is not plain; those above it
// may be wrong.
func oddBytes(w uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^ones*'"', w^ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & high
}

// str reads a string at pos and gives it with its quotes.
func (s *scanner) str() ([]byte, bool) {
	start := s.pos
	d := s.data
	i := start + 1
	for {
		for i+8 <= len(d) { // eight bytes at a time
			if odd := oddBytes(binary.LittleEndian.Uint64(d[i:])); odd != 0 {
				i += bits.TrailingZeros64(odd) >> 3
				break
			}
			i += 8
		}
		for i < len(d) && plain[d[i]] {
			i++
		}
		if i >= len(d) {
			s.pos = len(d)
			return nil, s.fail("a text is not closed: the message is cut off")
		}
		switch d[i] {
		case '"':
			s.pos = i + 1
			return d[start:s.pos:s.pos], true
		case '\\':
			if i+1 >= len(d) {
				s.pos = len(d)
				return nil, s.fail("a text is not closed: the message is cut off")
			}
			switch d[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if i+6 > len(d) || hex4(d[i+2:i+6]) < 0 {
					s.pos = i
					return nil, s.fail(`\u is not followed by four hexadecimal digits`)
				}
				i += 6
			default:
				s.pos = i
				return nil, s.fail("there is no escape \\" + string(rune(d[i+1])))
			}
		default:
			s.pos = i
			return nil, s.fail("there is a control character in a text; it must be written as an escape")
		}
	}
}

// value passes over a value and gives its text.
func (s *scanner) value() ([]byte, bool) {
	c := s.ws()
	start := s.pos
	switch {
	case c == '"':
		return s.str()
	case c == '{' || c == '[':
		if !s.skipNested() {
			return nil, false
		}
	case c == '-' || (c >= '0' && c <= '9'):
		if !s.number() {
			return nil, false
		}
	default:
		if !s.literal() {
			return nil, false
		}
	}
	return s.data[start:s.pos:s.pos], true
}

func (s *scanner) literal() bool {
	rest := s.data[s.pos:]
	for _, w := range []string{"null", "true", "false"} {
		if len(rest) >= len(w) && string(rest[:len(w)]) == w {
			s.pos += len(w)
			return true
		}
	}
	if len(rest) == 0 {
		return s.fail("a value is missing: the message is cut off")
	}
	return s.fail("there is no JSON value here")
}

func (s *scanner) number() bool {
	d, i := s.data, s.pos
	if d[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(d) && d[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	from := i
	ok := digits()
	if ok && d[from] == '0' && i > from+1 {
		s.pos = from
		return s.fail("a number starts with a zero")
	}
	if ok && i < len(d) && d[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(d) && (d[i] == 'e' || d[i] == 'E') {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		ok = digits()
	}
	s.pos = i
	if !ok {
		return s.fail("a number lacks a digit")
	}
	return true
}

// skipNested passes over an object or array without recursion.
func (s *scanner) skipNested() bool {
	var open [maxDepth]byte
	depth := 0
	for {
		// a value is expected
		c := s.ws()
		switch c {
		case '{', '[':
			if depth == maxDepth {
				return s.fail("values lie deeper in each other than 64 levels")
			}
			open[depth] = c
			depth++
			s.pos++
			if n := s.ws(); n == c+2 { // } and ] are two behind { and [
				break
			}
			if c == '{' && !s.key() {
				return false
			}
			continue
		case '"':
			if _, ok := s.str(); !ok {
				return false
			}
		default:
			if c == '-' || (c >= '0' && c <= '9') {
				if !s.number() {
					return false
				}
			} else if !s.literal() {
				return false
			}
		}
		// a value has ended: what follows?
		for {
			c = s.ws()
			o := open[depth-1]
			if c == o+2 {
				s.pos++
				depth--
				if depth == 0 {
					return true
				}
				continue
			}
			if c != ',' {
				return s.failEnd(c)
			}
			s.pos++
			if o == '{' && !s.key() {
				return false
			}
			break
		}
	}
}

func (s *scanner) failEnd(c byte) bool {
	if c == 0 && s.pos >= len(s.data) {
		return s.fail("an object or list is not closed: the message is cut off")
	}
	return s.fail("a comma or the end of the object or list is expected")
}

// key passes over a key and its colon.
func (s *scanner) key() bool {
	if s.ws() != '"' {
		return s.fail("the name of a member is expected")
	}
	if _, ok := s.str(); !ok {
		return false
	}
	if s.ws() != ':' {
		return s.fail("a colon is expected behind the name of a member")
	}
	s.pos++
	return true
}

// member moves to the next member of an object, whose brace has been read if first. It gives the name
// with its quotes and stands at the value; more is false at the end of the object, and after an error.
func (s *scanner) member(first bool) (name []byte, more bool) {
	c := s.ws()
	if c == '}' {
		s.pos++
		return nil, false
	}
	if !first {
		if c != ',' {
			s.failEnd(c)
			return nil, false
		}
		s.pos++
		c = s.ws()
	}
	if c != '"' {
		if c == 0 {
			s.failEnd(c)
		} else {
			s.fail("the name of a member is expected")
		}
		return nil, false
	}
	name, ok := s.str()
	if !ok {
		return nil, false
	}
	if s.ws() != ':' {
		s.fail("a colon is expected behind the name of a member")
		return nil, false
	}
	s.pos++
	s.ws()
	return name, true
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// isNull tells whether a value is the literal null.
func isNull(raw []byte) bool { return len(raw) == 4 && raw[0] == 'n' }

// unquote gives the text of a JSON string; what has no escapes is not copied. Lone surrogates become
// U+FFFD.
func unquote(raw []byte) []byte {
	raw = raw[1 : len(raw)-1]
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return raw
	}
	out := make([]byte, i, len(raw))
	copy(out, raw)
	for i < len(raw) {
		c := raw[i]
		if c != '\\' {
			out = append(out, c)
			i++
			continue
		}
		c = raw[i+1]
		i += 2
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hex4(raw[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 <= len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					low = hex4(raw[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		out = append(out, c)
	}
	return out
}

// text gives a value that is a JSON string, or a number or literal as it is written; "" for null.
func text(raw []byte) string {
	switch {
	case isNull(raw):
		return ""
	case len(raw) > 0 && raw[0] == '"':
		return string(unquote(raw))
	}
	return string(raw)
}

// is tells whether a quoted name is the given one. Names with escapes are never equal: no tool escapes
// those of its own envelope.
func is(quoted []byte, name string) bool {
	return len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name
}
