package parquet

import (
	"bytes"
	"strings"
	"testing"
)

// Texts of all lengths around the sizes that are copied in one go, with and without room behind them.
func TestAppendShort(t *testing.T) {
	text := []byte(strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 6))
	for n := range 140 {
		for _, room := range []int{0, 1, 31, 32, 63, 64, 65, 200} {
			src := append(make([]byte, 0, 3+n+room), text[:3+n]...)
			for _, to := range []int{0, 63, 64, 65, 400} {
				dst := append(make([]byte, 0, 2+to), "ab"...)
				if got, want := appendShort(dst, src, 3, n), append([]byte("ab"), text[3:3+n]...); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes, room for %d and %d: %q, want %q", n, room, to, got, want)
				}
			}
		}
	}
}
