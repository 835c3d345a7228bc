package types

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/javafloat.txt has the bits of numbers and what Double.toString and Float.toString of Java 17 give for them: any bits,
// prices, whole numbers, powers of 2 and 10, fractions, subnormals.
func TestAppendJavaFloat(t *testing.T) {
	f, err := os.Open("testdata/javafloat.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, differ := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		hexBits, want, _ := strings.Cut(s.Text(), " ")
		size := 64
		if lines%2 == 1 { // a DOUBLE and a FLOAT by turns
			size = 32
		}
		u, err := strconv.ParseUint(hexBits, 16, size)
		if err != nil {
			t.Fatal(err)
		}
		v := math.Float64frombits(u)
		if size == 32 {
			v = float64(math.Float32frombits(uint32(u)))
		}
		got := string(AppendJavaFloat(nil, v, size))
		if got != want {
			t.Errorf("%d bits %s: got %s, want %s", size, hexBits, got, want)
		}
		if got != string(AppendFloat(nil, v, size)) {
			differ++
		}
		if back, err := strconv.ParseFloat(got, size); v == v && (err != nil && !math.IsInf(v, 0) || back != v) {
			t.Errorf("%d bits %s: %s reads back as %v", size, hexBits, got, back)
		}
	}
	if lines != 3000 || differ < 200 {
		t.Errorf("%d numbers, %d of them with other digits than the fewest", lines, differ)
	}
}

func BenchmarkAppendJavaFloat(b *testing.B) {
	var buf [32]byte
	for i := 0; b.Loop(); i++ {
		AppendJavaFloat(buf[:0], float64(i)*1.1, 64)
	}
}
