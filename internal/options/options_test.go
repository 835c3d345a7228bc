package options

import (
	"flag"
	"os"
	"slices"
	"strconv"
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
		bucket, expire                       int
		format, compression, manifest, spill string
	}{1: {1, 10, "orc", "snappy", "snappy", "lz4"}, 2: {-1, 10, "orc", "snappy", "snappy", "lz4"}, 3: {-1, 50, "parquet", "zstd", "zstd", "zstd"}} {
		o := Of(map[string]string{}, version)
		got := want
		got.bucket, got.expire, got.format = Bucket.Get(o), ExpireLimit.Get(o), FileFormat.Get(o)
		got.compression, got.manifest, got.spill = FileCompression.Get(o), ManifestCompression.Get(o), SpillCompression.Get(o)
		if got != want {
			t.Errorf("schema version %d: %+v, want %+v", version, got, want)
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

// Every spelling that the reference refuses would make a table that it cannot open.
func TestForeignSpellingsAreRefused(t *testing.T) {
	for _, s := range []string{"", "mb", "1 byte", "1 kibibyte", "-1", "1.5 mb", "9999999999 tb", "99999999999999999999"} {
		if v, err := ParseSize(s); err == nil {
			t.Errorf("%q is %d", s, v)
		}
	}
	for _, s := range []string{"", "s", "1 us", "1 week", "-1 s", "1.5 h"} {
		if v, err := ParseDuration(s); err == nil {
			t.Errorf("%q is %s", s, v)
		}
	}
}

func TestOlderKeys(t *testing.T) {
	o := Of(map[string]string{"write.compaction-skip": "perhaps"}, 3)
	if err := Validate(o); err == nil || !strings.Contains(err.Error(), "option write.compaction-skip") {
		t.Error(err)
	}
	if !WriteOnly.Get(Of(map[string]string{"write-only": "false"}, 3).With(map[string]string{"write.compaction-skip": "true"})) {
		t.Error("a dynamic option does not count under its older key")
	}
	if !Immutable("merge-engine") || !Immutable("primary-key") || Immutable("write-only") || Immutable("unknown") {
		t.Error("options that can be changed")
	}
}

func TestRanges(t *testing.T) {
	for k, v := range map[string]string{
		"bucket": "0", "file.compression.zstd-level": "23", "read.batch-size": "0", "dynamic-bucket.target-row-num": "0",
		"lookup-compact": "slow", "fields.a.ignore-retract": "yes",
		"fields.a.sequence-group": " , ", "fields.a.count-limit": "0",
	} {
		if err := Validate(Of(map[string]string{k: v}, 3)); err == nil || !strings.Contains(err.Error(), "option "+k) {
			t.Errorf("%s=%s: %v", k, v, err)
		}
	}
	if err := Validate(Of(map[string]string{"bucket": "-2", "lookup-compact": "RADICAL", "fields.a.b.sequence-group": "x"}, 3)); err != nil {
		t.Error(err)
	}
}

func TestColumnOptions(t *testing.T) {
	o := Of(map[string]string{
		"fields.g1, g2.sequence-group": "a, b", "fields.h.sequence-group": "c", "fields.a.aggregate-function": " sum ",
		"fields.x.y.aggregate-function": "max", "fields.default-aggregate-function": "min",
	}, 3)
	groups := SequenceGroups(o)
	if len(groups) != 2 || strings.Join(groups[0].Sequence, "|") != "g1|g2" || strings.Join(groups[0].Columns, "|") != "a|b" || groups[1].Sequence[0] != "h" {
		t.Errorf("%v", groups)
	}
	if v, ok := Aggregate.Of(o, "a"); !ok || v != "sum" {
		t.Errorf("%q", v)
	}
	if c := Aggregate.Columns(o); strings.Join(c, "|") != "a|x.y" {
		t.Errorf("%q", c)
	}
	if DefaultAggregate.Get(o) != "min" {
		t.Error("fields.default-aggregate-function")
	}
}

func TestPerLevel(t *testing.T) {
	m, err := PerLevel(FormatPerLevel, Of(map[string]string{"file.format.per.level": "0:avro, 5 : parquet"}, 3))
	if err != nil || m[0] != "avro" || m[5] != "parquet" {
		t.Error(m, err)
	}
	for _, s := range []string{"avro", "x:avro", "0:", "-1:avro"} {
		if _, err := PerLevel(FormatPerLevel, Of(map[string]string{"file.format.per.level": s}, 3)); err == nil {
			t.Errorf("%q is no error", s)
		}
	}
}

// Whatever the type of an option, a value that is none is refused by the option's name and the value.
func TestValuesThatAreNone(t *testing.T) {
	bad := map[string][]string{
		"number":      {"", " ", "x", "1.5", "99999999999999999999", "-99999999999999999999"},
		"size":        {"", " ", "x", "-1", "1 xb", "1.5 mb", "9999999999999 tb"},
		"duration":    {"", " ", "x", "-1 s", "1 fortnight"},
		"true, false": {"", " ", "yes", "1"},
	}
	anyText := []string{ // names of columns are looked at with the columns, times and tags with the snapshots
		"changelog-file.stats-mode", "changelog-producer.row-deduplicate-ignore-fields", "commit.user-prefix", "fields.default-aggregate-function",
		"incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag", "partial-update.remove-record-on-sequence-group",
		"partition.default-name", "record-level.time-field", "rowkind.field", "scan.fallback-branch", "scan.tag-name", "scan.timestamp", "scan.version",
	}
	for key, d := range declared {
		i, _ := d(Options{})
		values := []string{"nosuch/../x"}
		for typ, vs := range bad {
			if i.typ == typ {
				values = vs
			}
		}
		if i.typ == "names, with commas between" || slices.Contains(anyText, key) {
			values = []string{"a\xffb"}
		}
		for _, v := range values {
			err := ValidateFresh(Of(map[string]string{key: v}, 3), key)
			if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), strings.TrimSpace(strings.Trim(strconv.Quote(v), `"`))) {
				t.Errorf("%s=%q: %v", key, v, err)
			}
		}
	}
}

// Values that have the right type and make no sense are refused where they are set, and read where somebody else set them.
func TestFreshValues(t *testing.T) {
	for _, c := range []struct{ key, bad, good string }{
		{"file.format", "csv", "ORC"},
		{"file.compression", "brotli", "LZ4"},
		{"file.compression", "", "none"},
		{"file.compression.per.level", "0:zstd,1:rar", "0:lz4,5:zstd"},
		{"file.format.per.level", "0:csv", "0:avro"},
		{"metadata.stats-mode.per.level", "0:some", "0:none"},
		{"manifest.compression", "lz4", "snappy"},
		{"spill-compression", "snappy", "lz4"},
		{"data-file.prefix", "../", "part-"},
		{"data-file.prefix", strings.Repeat("x", 200), "é"},
		{"changelog-file.prefix", "a/b", "c-"},
		{"num-levels", "1", "2"},
		{"num-levels", "2147483647", "65536"},
		{"num-sorted-run.compaction-trigger", "0", "2147483647"},
		{"commit.max-retries", "-1", "0"},
		{"commit.strict-mode.last-safe-snapshot", "9223372036854775807", "-1"},
		{"compaction.small-file-ratio", "1.5", "1"},
		{"compaction.small-file-ratio", "NaN", "0.5"},
		{"tarn.write-version", "newest", "1.4"},
	} {
		for v, ok := range map[string]bool{c.bad: false, c.good: true} {
			o := Of(map[string]string{c.key: v}, 3)
			if err := ValidateFresh(o, c.key); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "option "+c.key) {
				t.Errorf("%s=%s: %v", c.key, v, err)
			}
			if err := Validate(o); err != nil {
				t.Errorf("%s=%s cannot be read: %v", c.key, v, err)
			}
		}
	}
	// Other formats have compressions of their own.
	o := Of(map[string]string{"file.format": "orc", "file.compression": "lzo"}, 3)
	if err := ValidateFresh(o, "file.compression"); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"../../x", "a/../../x", "/tmp", "a\x00b", "..", `a\b`, "s3://b"} {
		if err := Validate(Of(map[string]string{"data-file.path-directory": dir}, 3)); err == nil || !strings.Contains(err.Error(), "data-file.path-directory") {
			t.Errorf("data in %q: %v", dir, err)
		}
	}
	if err := Validate(Of(map[string]string{"data-file.path-directory": "a/b..c/"}, 3)); err != nil {
		t.Error(err)
	}
}
