package predicate

import (
	"strings"
	"unicode/utf8"
)

// likePart is a piece of a LIKE pattern.
type likePart struct {
	text string
	any  bool // % : any text
	one  bool // _ : one character
}

// escape of the pattern: the second value, '\' if there is none.
func (l *Leaf) escape() rune {
	if len(l.Values) > 1 {
		if s, ok := l.Values[1].(string); ok {
			r, n := utf8.DecodeRuneInString(s)
			if n == len(s) && n > 0 {
				return r
			}
			return -1 // no escape character
		}
	}
	return '\\'
}

func parseLike(pattern string, escape rune) []likePart {
	var out []likePart
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, likePart{text: text.String()})
			text.Reset()
		}
	}
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			text.WriteRune(r)
			escaped = false
		case r == escape:
			escaped = true
		case r == '%':
			flush()
			if len(out) == 0 || !out[len(out)-1].any {
				out = append(out, likePart{any: true})
			}
		case r == '_':
			flush()
			out = append(out, likePart{one: true})
		default:
			text.WriteRune(r)
		}
	}
	if escaped { // an escape at the end stands for itself
		text.WriteRune(escape)
	}
	flush()
	return out
}

// likePrefix is the text that all matches start with, and whether that is all that is demanded.
func (l *Leaf) likePrefix() (prefix string, exact, ok bool) {
	p, isText := l.Values[0].(string)
	if !isText {
		return "", false, false
	}
	parts := parseLike(p, l.escape())
	if len(parts) == 0 || parts[0].text == "" {
		return "", false, true
	}
	return parts[0].text, len(parts) == 2 && parts[1].any, true
}

// matchLike reports whether text matches a pattern.
func matchLike(parts []likePart, s string) bool {
	// The last % seen can take more text whenever what follows does not match.
	star, mark := -1, 0
	i, at := 0, 0
	for {
		if i == len(parts) && at == len(s) {
			return true
		}
		if i < len(parts) {
			p := parts[i]
			switch {
			case p.any:
				star, mark = i, at
				i++
				continue
			case p.one && at < len(s):
				_, n := utf8.DecodeRuneInString(s[at:])
				i, at = i+1, at+n
				continue
			case !p.one && strings.HasPrefix(s[at:], p.text):
				i, at = i+1, at+len(p.text)
				continue
			}
		}
		if star < 0 || mark >= len(s) {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[mark:])
		mark += n
		i, at = star+1, mark
	}
}
