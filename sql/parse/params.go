package parse

import (
	"fmt"
	"strconv"
	"strings"
)

// Bind puts constants in the places of the parameters of a text: ? or $1, $2, ….
func Bind(text string, constants []string) (string, error) {
	toks, err := lex(text)
	if err != nil {
		return "", err
	}
	p := &parser{text: text, toks: toks}
	var out strings.Builder
	used := make([]bool, len(constants))
	pos, next, first := 0, 0, ""
	for _, t := range toks {
		if t.kind != paramRef {
			continue
		}
		form := t.text[:1]
		if first == "" {
			first = form
		}
		if form != first {
			return "", p.errorAt(t, "? and $1 exclude each other", "number all parameters, or none")
		}
		n := next + 1
		if form == "$" {
			if n, err = strconv.Atoi(t.text[1:]); err != nil || n < 1 {
				return "", p.errorAt(t, "parameter "+t.text+" is no number", "parameters are ? or $1, $2, …")
			}
		}
		if n > len(constants) {
			return "", p.errorAt(t, fmt.Sprintf("there is no value for parameter %d: %d are given", n, len(constants)), "")
		}
		next, used[n-1] = n, true
		out.WriteString(text[pos:t.start] + constants[n-1])
		pos = t.end
	}
	for i, u := range used {
		if !u {
			return "", &Error{Msg: fmt.Sprintf("value %d of %d stands for no parameter", i+1, len(constants)), Text: text, Pos: len(text)}
		}
	}
	return out.String() + text[pos:], nil
}
