package agg

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

func TestBitmaps(t *testing.T) {
	bitmap := func(v ...uint32) string {
		b, err := roaring.BitmapOf(v...).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		return `"` + base64.StdEncoding.EncodeToString(b) + `"`
	}
	got, err := fold(t, "rbm32", "BYTES", nil, "+"+bitmap(1, 2)+" +null <"+bitmap(2, 1<<31)+" +"+bitmap()+"|+null|+\"AQ==\"")
	if err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	if err := json.Unmarshal([]byte(got), &values); err != nil {
		t.Fatal(err)
	}
	b := roaring.New()
	if _, err := b.FromBuffer(values[0]); err != nil || !b.Equals(roaring.BitmapOf(1, 2, 1<<31)) {
		t.Errorf("%v, %v", b, err)
	}
	if values[1] != nil || string(values[2]) != "\x01" {
		t.Errorf("of no bitmap %x, of one %x", values[1], values[2])
	}
	for _, bad := range []string{"AQ==", "", strings.Trim(bitmap(1), `"`) + "AAAA"} {
		if _, err := fold(t, "rbm32", "BYTES", nil, "+"+bitmap(1)+` +"`+bad+`"`); err == nil || !strings.Contains(err.Error(), "no Roaring bitmap") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := fold(t, "rbm32", "BINARY(4)", nil, ""); err == nil {
		t.Error("rbm32 of BINARY")
	}
}
