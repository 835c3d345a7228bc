package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind of a token.
type kind uint8

const (
	eof      kind = iota
	word          // identifier or keyword, not quoted
	quoted        // "x" or `x`; text is without quotes
	str           // 'x', E'x', $$x$$; text is the value
	number        // 1, 1.5, 1e3, 0xff
	symbol        // one character, or => :: ..
	hint          // /*+ … */; text is what is between
	paramRef      // $1, $name, ?
)

// token is a piece of the text; start and end are byte offsets of it as written.
type token struct {
	kind       kind
	text       string
	start, end int
}

// is says whether the token is that keyword (upper case) or symbol.
func (t token) is(s string) bool {
	switch t.kind {
	case word:
		return strings.EqualFold(t.text, s)
	case symbol:
		return t.text == s
	}
	return false
}

func (t token) isName() bool { return t.kind == word || t.kind == quoted }

// describe is the token as an error message shows it.
func (t token) describe() string {
	switch t.kind {
	case eof:
		return "the end of the statement"
	case str:
		return "'" + shorten(t.text) + "'"
	case quoted:
		return `"` + shorten(t.text) + `"`
	case hint:
		return "a hint"
	}
	return shorten(t.text)
}

func shorten(s string) string {
	if utf8.RuneCountInString(s) <= 40 {
		return s
	}
	return string([]rune(s)[:37]) + "…"
}

// lexer turns text into tokens. Comments and white space are left out.
type lexer struct {
	text string
	pos  int
	toks []token
}

// lex gives the tokens of a text, the last of which is eof.
func lex(text string) ([]token, error) {
	l := &lexer{text: text}
	for {
		more, err := l.next()
		if err != nil {
			return nil, err
		}
		if !more {
			l.toks = append(l.toks, token{kind: eof, start: len(text), end: len(text)})
			return l.toks, nil
		}
	}
}

func (l *lexer) fail(pos int, incomplete bool, msg string) error {
	return &Error{Msg: msg, Text: l.text, Pos: pos, Incomplete: incomplete}
}

func (l *lexer) add(k kind, text string, start int) {
	l.toks = append(l.toks, token{kind: k, text: text, start: start, end: l.pos})
}

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return 0
}

// next reads a token, or white space or a comment. It is false at the end of the text.
func (l *lexer) next() (bool, error) {
	if l.pos >= len(l.text) {
		return false, nil
	}
	start := l.pos
	c := l.text[l.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		l.pos++
		return true, nil
	case c == '-' && l.peek(1) == '-':
		l.skipLine()
		return true, nil
	case c == '/' && l.peek(1) == '*':
		return true, l.comment()
	case c == '\'':
		return true, l.quote(start, '\'', str, false)
	case (c == 'e' || c == 'E') && l.peek(1) == '\'':
		l.pos++
		return true, l.quote(start, '\'', str, true)
	case c == '"' || c == '`':
		return true, l.quote(start, c, quoted, false)
	case c == '$':
		return true, l.dollar()
	case c >= '0' && c <= '9', c == '.' && isDigit(l.peek(1)) && !l.afterName():
		l.number()
		return true, nil
	case c == '?':
		l.pos++
		l.add(paramRef, "?", start)
		return true, nil
	case c == 0:
		return false, l.fail(start, false, "the text has a zero byte")
	}
	return true, l.wordOrSymbol(start)
}

// afterName says whether the last token is a name right before here, so that ".1" goes on with it.
func (l *lexer) afterName() bool {
	if len(l.toks) == 0 {
		return false
	}
	t := l.toks[len(l.toks)-1]
	return t.end == l.pos && (t.isName() || t.is(")") || t.is("]"))
}

func (l *lexer) wordOrSymbol(start int) error {
	r, size := utf8.DecodeRuneInString(l.text[l.pos:])
	if r == utf8.RuneError && size <= 1 {
		return l.fail(start, false, "the text is not UTF-8 here")
	}
	if isWordStart(r) {
		for l.pos < len(l.text) {
			r, size := utf8.DecodeRuneInString(l.text[l.pos:])
			if !isWordStart(r) && !(r >= '0' && r <= '9') && r != '$' || r == utf8.RuneError && size <= 1 {
				break
			}
			l.pos += size
		}
		l.add(word, l.text[start:l.pos], start)
		return nil
	}
	if unicode.IsSpace(r) {
		l.pos += size
		return nil
	}
	if two := l.text[start:min(start+2, len(l.text))]; two == "=>" || two == "::" {
		size = 2
	}
	l.pos += size
	l.add(symbol, l.text[start:l.pos], start)
	return nil
}

func isWordStart(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) skipLine() {
	if i := strings.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
		l.pos += i + 1
		return
	}
	l.pos = len(l.text)
}

// comment skips a block comment (they nest, as in DuckDB), or keeps a hint.
func (l *lexer) comment() error {
	start := l.pos
	isHint := l.peek(2) == '+'
	depth := 0
	for l.pos < len(l.text) {
		switch {
		case l.text[l.pos] == '/' && l.peek(1) == '*':
			depth++
			l.pos += 2
		case l.text[l.pos] == '*' && l.peek(1) == '/':
			depth--
			l.pos += 2
			if depth == 0 {
				if isHint {
					l.add(hint, l.text[start+3:l.pos-2], start)
				}
				return nil
			}
		default:
			l.pos++
		}
	}
	return l.fail(start, true, "this comment does not end (*/ is missing)")
}

// quote reads what is in quotes from l.pos on; a doubled quote stands for one.
func (l *lexer) quote(start int, q byte, k kind, escapes bool) error {
	var b strings.Builder
	for l.pos++; l.pos < len(l.text); l.pos++ {
		c := l.text[l.pos]
		switch {
		case c == q && l.peek(1) == q:
			b.WriteByte(q)
			l.pos++
		case c == q:
			l.pos++
			if k == quoted && b.Len() == 0 {
				return l.fail(start, false, "this name is empty")
			}
			l.add(k, b.String(), start)
			return nil
		case escapes && c == '\\' && l.pos+1 < len(l.text):
			l.pos++
			b.WriteString(unescape(l.text[l.pos]))
		default:
			b.WriteByte(c)
		}
	}
	what := "this string does not end (' is missing)"
	if k == quoted {
		what = "this name does not end (" + string(q) + " is missing)"
	}
	return l.fail(start, true, what)
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'r':
		return "\r"
	case 'b':
		return "\b"
	case 'f':
		return "\f"
	}
	return string([]byte{c})
}

// dollar reads $$text$$, $tag$text$tag$, $1 or $name.
func (l *lexer) dollar() error {
	start := l.pos
	i := start + 1
	for i < len(l.text) && (isDigit(l.text[i]) || isWordStart(rune(l.text[i])) && l.text[i] < 128) {
		i++
	}
	if i < len(l.text) && l.text[i] == '$' && !(i > start+1 && isDigit(l.text[start+1])) {
		tag := l.text[start : i+1]
		end := strings.Index(l.text[i+1:], tag)
		if end < 0 {
			return l.fail(start, true, "this string does not end ("+tag+" is missing)")
		}
		value := l.text[i+1 : i+1+end]
		l.pos = i + 1 + end + len(tag)
		l.add(str, value, start)
		return nil
	}
	l.pos = i
	if i == start+1 {
		l.add(symbol, "$", start)
		return nil
	}
	l.add(paramRef, l.text[start:i], start)
	return nil
}

func (l *lexer) number() {
	start := l.pos
	if l.text[l.pos] == '0' && (l.peek(1) == 'x' || l.peek(1) == 'X') {
		l.pos += 2
		for l.pos < len(l.text) && isHex(l.text[l.pos]) {
			l.pos++
		}
		l.add(number, l.text[start:l.pos], start)
		return
	}
	l.digits()
	if l.peek(0) == '.' && l.peek(1) != '.' {
		l.pos++
		l.digits()
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if c := l.peek(1); c == '+' || c == '-' {
			n = 2
		}
		if isDigit(l.peek(n)) {
			l.pos += n
			l.digits()
		}
	}
	l.add(number, l.text[start:l.pos], start)
}

func (l *lexer) digits() {
	for l.pos < len(l.text) && (isDigit(l.text[l.pos]) || l.text[l.pos] == '_' && isDigit(l.peek(1))) {
		l.pos++
	}
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
