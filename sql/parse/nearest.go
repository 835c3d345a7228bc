package parse

import "strings"

// Nearest gives the candidate that a mistyped name most likely means, "" if none is close: at most
// a third of the letters are different.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", len([]rune(name))/3+1
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with a neighbour.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 1 << 20
	}
	var before, last []int
	cur := make([]int, len(y)+1)
	for j := range cur {
		cur[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, cur = last, cur, make([]int, len(y)+1)
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(last[j]+1, cur[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
	}
	return cur[len(y)]
}
