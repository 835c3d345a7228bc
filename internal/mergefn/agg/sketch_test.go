package agg

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/datasketches-go/hll"
	"github.com/apache/datasketches-go/theta"
)

// TestSketches unites sketches that Java wrote: lists, sets and registers of all types and sizes, compact and not. The
// bytes are those of Java.
func TestSketches(t *testing.T) {
	file, err := os.ReadFile("testdata/sketches.txt")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(string(file)), "\n")[1:] {
		var fn string
		var all, one, want []byte
		if _, err := fmt.Sscanf(line, "%s %x %x %x", &fn, &all, &one, &want); err != nil {
			t.Fatal(err)
		}
		text := func(v []byte) string { return `"` + base64.StdEncoding.EncodeToString(v) + `"` }
		for _, rows := range []string{"+" + text(all) + " +" + text(one), "+" + text(one) + " <" + text(all)} {
			got, err := fold(t, fn+"_sketch", "BYTES", nil, rows+" +null")
			if want := "[" + text(want) + "]"; err != nil || got != want {
				t.Errorf("line %d: %s of %s: %v\n got %s\nwant %s", n+2, fn, rows, err, got, want)
			}
		}
	}
}

// TestSketchesDamaged: compact sketches that are cut off are refused, whatever else is wrong with them ends in an error or a sketch.
func TestSketchesDamaged(t *testing.T) {
	file, err := os.ReadFile("testdata/sketches.txt")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(strings.TrimSpace(string(file)), "\n")[1:] {
		words := strings.Fields(line)
		empty := func() set { return &hllSketch{} }
		if words[0] == "theta" {
			empty = func() set { return &thetaSketch{} }
		}
		for w, word := range words[1:] {
			v, err := hex.DecodeString(word)
			if err != nil {
				t.Fatal(err)
			}
			if err := empty().add(v, false); err != nil {
				t.Errorf("line %d: %v", n+2, err)
			}
			for i := range v {
				if err := empty().add(v[:i], false); err == nil && w == 2 { // others may end with places that are not used
					t.Errorf("line %d: %d bytes of %d are a sketch", n+2, i, len(v))
				}
				for _, b := range []byte{0, 1, 0x40, 0xff} {
					bad := append([]byte(nil), v...)
					bad[i] ^= b
					if s := empty(); s.add(bad, false) == nil && s.add(v, false) == nil {
						s.bytes()
					}
				}
			}
		}
	}
	if _, err := fold(t, "hll_sketch", "BYTES", nil, `+"AgEHDAMIAQ==" +"AQ=="`); err == nil || !strings.Contains(err.Error(), "is no HLL sketch in the format of the function") {
		t.Errorf("a sketch that is none: %v", err)
	}
	if _, err := fold(t, "theta_sketch", "STRING", nil, ""); err == nil {
		t.Error("theta_sketch of STRING")
	}
}

// TestSketchesCount unites sketches of the Go library in many steps and looks how many values they count.
func TestSketchesCount(t *testing.T) {
	var h, th strings.Builder
	for i := range 20 {
		s, err := hll.NewHllSketch(11+i%3, hll.TgtHllType(i%3))
		if err != nil {
			t.Fatal(err)
		}
		u, err := theta.NewQuickSelectUpdateSketch()
		if err != nil {
			t.Fatal(err)
		}
		for v := range 1000 * (i%4 + 1) {
			s.UpdateInt64(int64(1000*i + v))
			u.UpdateInt64(int64(1000*i + v))
		}
		b, err := s.ToUpdatableSlice()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&h, " +%q", base64.StdEncoding.EncodeToString(b))
		var c strings.Builder
		e := theta.NewEncoder(&c, i%2 == 0)
		if err := e.Encode(u.Compact(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&th, " +%q", base64.StdEncoding.EncodeToString([]byte(c.String())))
	}
	const want = 23000
	value := func(fn, rows string) []byte {
		t.Helper()
		got, err := fold(t, fn, "BYTES", nil, rows)
		if err != nil {
			t.Fatal(err)
		}
		b, err := base64.StdEncoding.DecodeString(strings.Trim(got, `["]`))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s, err := hll.NewHllSketchFromSlice(value("hll_sketch", h.String()), true)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.GetEstimate(); err != nil || n < want*0.95 || n > want*1.05 {
		t.Errorf("hll_sketch counts %v, %v", n, err)
	}
	c, err := theta.Decode(value("theta_sketch", th.String()), theta.DefaultSeed)
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Estimate(); n < want*0.95 || n > want*1.05 {
		t.Errorf("theta_sketch counts %v", n)
	}
}
