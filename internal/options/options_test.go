package options

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "renew docs/options.md")

func TestDocsAreCurrent(t *testing.T) {
	const path = "../../docs/options.md"
	want := Docs()
	if *rewrite {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not current (%v): run go test ./internal/options -rewrite", path, err)
	}
}

// Tables of the first versions have other defaults.
func TestDefaultsFollowTheVersion(t *testing.T) {
	for version, want := range map[int]struct {
		bucket int
		format string
	}{1: {1, "orc"}, 2: {-1, "orc"}, 3: {-1, "parquet"}} {
		o := Of(map[string]string{}, version)
		if b, f := Bucket.Get(o), FileFormat.Get(o); b != want.bucket || f != want.format {
			t.Errorf("schema version %d: bucket %d, format %s", version, b, f)
		}
	}
}

func TestSpellings(t *testing.T) {
	for s, want := range map[string]int64{"256 mb": 256 << 20, "1GB": 1 << 30, "64kb": 64 << 10, "1024": 1024, "1 b": 1, "2 mebibytes": 2 << 20} {
		if v, err := ParseSize(s); err != nil || v != want {
			t.Errorf("%s: %d, %v", s, v, err)
		}
	}
	for s, want := range map[string]time.Duration{"1 h": time.Hour, "10min": 10 * time.Minute, "500": 500 * time.Millisecond, "1 d": 24 * time.Hour, "100 ms": 100 * time.Millisecond} {
		if v, err := ParseDuration(s); err != nil || v != want {
			t.Errorf("%s: %s, %v", s, v, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"merge-engine", "merge", "there are deduplicate, partial-update, aggregation, first-row"},
		{"bucket", "two", "option bucket"},
		{"write-buffer-size", "1 xb", `unknown unit "xb"`},
		{"snapshot.time-retained", "1 fortnight", "unknown unit"},
		{"write-only", "yes", "neither true nor false"},
	} {
		err := Validate(Of(map[string]string{c.key: c.value}, 3))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
	if err := Validate(Of(map[string]string{"unknown.option": "x", "merge-engine": "Deduplicate"}, 3)); err != nil {
		t.Error(err)
	}
}

func TestListsAreTrimmed(t *testing.T) {
	got := SequenceField.Get(Of(map[string]string{"sequence.field": " a , b"}, 3))
	if len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("%q", got)
	}
}

func TestAliases(t *testing.T) {
	if !IgnoreDelete.Get(Of(map[string]string{"deduplicate.ignore-delete": "true"}, 3)) {
		t.Error("the key of version 0.8 is not known")
	}
}
