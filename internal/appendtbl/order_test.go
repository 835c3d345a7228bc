package appendtbl

import (
	"bytes"
	"testing"
)

// The curves go through each point of a square once, in steps to a neighbour for that of Hilbert, and in quarters for both.
func TestCurves(t *testing.T) {
	const side = 16
	for _, name := range []string{"zorder", "hilbert"} {
		places := map[string][2]int{}
		for x := range side {
			for y := range side {
				p := []uint64{uint64(x) << 60, uint64(y) << 60}
				if name == "hilbert" {
					hilbert(p)
				}
				out := make([]byte, 16)
				interleave(p, out)
				places[string(out[:1])] = [2]int{x, y} // 8 bits tell 256 points apart
				if len(bytes.TrimRight(out[1:], "\x00")) > 0 && name == "zorder" {
					t.Fatalf("%s: %d, %d is at %x", name, x, y, out)
				}
			}
		}
		if len(places) != side*side {
			t.Fatalf("%s: %d places", name, len(places))
		}
		for i := 1; i < side*side; i++ {
			a, b := places[string([]byte{byte(i - 1)})], places[string([]byte{byte(i)})]
			d := max(a[0]-b[0], b[0]-a[0]) + max(a[1]-b[1], b[1]-a[1])
			if name == "hilbert" && d != 1 {
				t.Errorf("from %v to %v", a, b)
			}
			if i%64 != 0 && (a[0]/8 != b[0]/8 || a[1]/8 != b[1]/8) {
				t.Errorf("%s: leaves its quarter from %v to %v", name, a, b)
			}
		}
	}
}
