package paths

import (
	"strings"
)

const escaped = "\"#%'*/:=?\\\x7f{}[]^"

func needsEscape(c byte) bool { return c < ' ' || strings.IndexByte(escaped, c) >= 0 }

// Escape makes a column's name or value part of a path: characters that file systems may not take
// are written as %XX, all else stays.
func Escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	done := 0
	for i := range len(s) {
		if c := s[i]; needsEscape(c) {
			b.WriteString(s[done:i])
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			done = i + 1
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// Unescape undoes Escape. A % that no two hexadecimal digits follow stays as it is.
func Unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteString(string(rune(hi<<4 | lo)))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
