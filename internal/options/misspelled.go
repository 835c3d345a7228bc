package options

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

// reference.txt are the keys of table options that the reference and its engines know, of all releases.
//
//go:embed reference.txt
var reference string

// known are all keys that mean something to somebody.
var known = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, k := range strings.Fields(reference) {
		all[k] = true
	}
	for k := range declared {
		all[k] = true
	}
	for k := range older {
		all[k] = true
	}
	return all
})

// Misspelled gives the option that a key is most likely meant to be, if it is none itself but almost one. Other keys
// that are not known may be options of other engines, or a user's own.
func Misspelled(key string) (meant string, ok bool) {
	if known()[key] {
		return "", false
	}
	if rest, is := strings.CutPrefix(key, "fields."); is {
		i := strings.LastIndexByte(rest, '.')
		var suffixes []string
		for _, o := range columnOptions {
			suffixes = append(suffixes, o.suffix)
		}
		if i < 0 || slices.Contains(suffixes, rest[i+1:]) {
			return "", false
		}
		if s := almost(rest[i+1:], suffixes); s != "" {
			return "fields." + rest[:i+1] + s, true
		}
		return "", false
	}
	if s := almost(key, slices.Sorted(maps.Keys(known()))); s != "" {
		return s, true
	}
	return "", false
}

// almost finds the word that differs from a key by few letters, "" if there is none.
func almost(key string, words []string) string {
	best, most := "", 1+len(key)/8
	for _, w := range words {
		if d := len(w) - len(key); d > most || -d > most {
			continue
		}
		if d := Edits(strings.ToLower(strings.ReplaceAll(key, "_", "-")), w); d <= most {
			best, most = w, d-1
		}
	}
	return best
}

// Edits counts the letters to change, put in, leave out or swap with a neighbour, to make one word of the other.
func Edits(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
