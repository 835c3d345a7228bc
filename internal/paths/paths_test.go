package paths

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/types"
)

func TestTableLayout(t *testing.T) {
	cfg := Config{UUID: func() string { return "u" }}
	tab := NewTable("s3://b/w/d.db/t/", cfg)
	cfg.Branch, cfg.DataDirectory, cfg.DataPrefix, cfg.ChangelogPrefix, cfg.SuffixCompression, cfg.IndexInDataDir = "dev", "data/", "d-", "c-", true, true
	br := NewTable("s3://b/w/d.db/t", cfg)
	must := func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range [][2]string{
		{tab.Schema(0), "/schema/schema-0"},
		{tab.Snapshot(12), "/snapshot/snapshot-12"},
		{tab.SnapshotDir() + "/" + Latest, "/snapshot/LATEST"},
		{tab.Changelog(3), "/changelog/changelog-3"},
		{tab.Tag("a"), "/tag/tag-a"},
		{tab.Consumer("c"), "/consumer/consumer-c"},
		{tab.Manifest(tab.NewManifestName()), "/manifest/manifest-u-0"},
		{tab.Manifest(tab.NewManifestListName()), "/manifest/manifest-list-u-1"},
		{tab.Manifest(tab.NewIndexManifestName()), "/manifest/index-manifest-u-2"},
		{must(tab.Index(nil, 1, tab.NewIndexName())), "/index/index-u-3"},
		{tab.Statistics(tab.NewStatisticsName()), "/statistics/stat-u-4"},
		{must(tab.BucketDir(nil, 7)), "/bucket-7"},
		{must(tab.BucketDir(nil, PostponeBucket)), "/bucket-postpone"},
		{br.Schema(1), "/branch/branch-dev/schema/schema-1"},
		{br.Snapshot(1), "/branch/branch-dev/snapshot/snapshot-1"},
		{br.Tag("x"), "/branch/branch-dev/tag/tag-x"},
		{br.ManifestDir(), "/manifest"},
		{must(br.BucketDir(nil, 0)), "/data/bucket-0"},
		{must(br.Index(nil, 1, "index-v-0")), "/data/bucket-1/index-v-0"},
	} {
		if want := "s3://b/w/d.db/t" + c[1]; c[0] != want {
			t.Errorf("%s, want %s", c[0], want)
		}
	}
	for _, c := range [][2]string{
		{tab.NewDataFileName("parquet", "zstd", false), "data-u-5.parquet"},
		{tab.NewDataFileName("orc", "", true), "changelog-u-6.orc"},
		{tab.NewDataFileName("csv", "gzip", false), "data-u-7.csv.gz"},
		{br.NewDataFileName("parquet", "zstd", false), "d-u-0.zst.parquet"},
		{br.NewDataFileName("parquet", "none", true), "c-u-1.parquet"},
		{br.NewDataFileName("avro", "null", false), "d-u-2.null.avro"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{
		"data-1.parquet": "parquet", "data-1.zst.parquet": "parquet", "data-1.csv.gz": "csv", "x.lz4": "", "x": "", "x.": "",
	} {
		if got, ok := FormatOf(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

func TestParseNames(t *testing.T) {
	for name, want := range map[string]int{"bucket-0": 0, "bucket-12": 12, "bucket-postpone": PostponeBucket} {
		if got, ok := ParseBucketName(name); !ok || got != want {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
	for _, name := range []string{"bucket-", "bucket-x", "bucket--1", "bucket-99999999999", "b-1"} {
		if got, ok := ParseBucketName(name); ok {
			t.Errorf("%s is bucket %d", name, got)
		}
	}
	for _, s := range []string{"", "+1", "-1", " 1", "1 ", "99999999999999999999"} {
		if n, ok := ParseID("snapshot-"+s, SnapshotPrefix); ok {
			t.Errorf("snapshot-%s is %d", s, n)
		}
	}
}

// TestLegacyNames is B011: a DATE is a number of days, NULL and blank have the default name, which
// an option may change.
func TestLegacyNames(t *testing.T) {
	date, str := types.DateType, types.StringType
	for _, c := range []struct {
		typ   types.Type
		v     types.Datum
		plain bool
		want  string
	}{
		{date, int64(18628), false, "18628"},
		{date, int64(18628), true, "2021-01-01"},
		{date, nil, false, "none"},
		{str, "", true, "none"},
		{str, " \t\u2003", false, "none"},
		{str, "\u00a0", false, "\u00a0"}, // not white space to Java
		{types.MustParse("TIMESTAMP(9)"), types.Instant{Millis: 1000, Nanos: 1}, true, "1970-01-01 00:00:01.000000001"},
		{types.MustParse("TIMESTAMP(3)"), types.Instant{Millis: -62167219200001}, false, "-0001-12-31T23:59:59.999"},
		{types.MustParse("TIME(0)"), int64(1500), true, "00:00:01"},
		{types.BooleanType, false, false, "false"},
	} {
		if got := NewTable("t", Config{PlainNames: c.plain, DefaultPartition: "none"}).PartitionName(c.typ, c.v); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.typ, c.v, got, c.want)
		}
	}
}

// TestTextOfBytes: the folder of a partition of bytes is found again by the reference only if it has the
// same number of replacement characters.
func TestTextOfBytes(t *testing.T) {
	for in, want := range map[string]string{
		"漢😀": "漢😀", "": "", "\xff\xff": "\uFFFD\uFFFD", "\xe6\xbc": "\uFFFD", "\xe6\xbcA": "\uFFFDA", "\xf0\x9f\x98": "\uFFFD", "\xf0\x9f\x98A": "\uFFFDA",
		"\xed\xa0\x80": "\uFFFD", "\xc0\xaf": "\uFFFD\uFFFD", "\xe0\x80\x80": "\uFFFD\uFFFD\uFFFD", "\xf4\x90\x80\x80": "\uFFFD\uFFFD\uFFFD\uFFFD", "\xc3": "\uFFFD", "A\uFFFDB": "A\uFFFDB",
	} {
		for _, plain := range []bool{true, false} {
			if got := partitionName(types.BytesType, []byte(in), plain, "none"); got != want && (in != "" || got != "none") {
				t.Errorf("bytes %q: %q, want %q", in, got, want)
			}
		}
	}
}

func TestEscape(t *testing.T) {
	for _, c := range [][2]string{
		{"a/b", "a%2Fb"}, {"100%", "100%25"}, {"\x01\n", "%01%0A"}, {"日本 x", "日本 x"}, {"[^]{}", "%5B%5E%5D%7B%7D"},
	} {
		if got := Escape(c[0]); got != c[1] {
			t.Errorf("%q: %q", c[0], got)
		}
		if got := Unescape(c[1]); got != c[0] {
			t.Errorf("%q: %q", c[1], got)
		}
	}
	for _, c := range [][2]string{{"%", "%"}, {"%4", "%4"}, {"%zz", "%zz"}, {"%e9", "é"}} {
		if got := Unescape(c[0]); got != c[1] {
			t.Errorf("%q: %q", c[0], got)
		}
	}
}

func TestBadPartition(t *testing.T) {
	tab := NewTable("w/d.db/t", Config{Partition: []types.Field{{Name: "p", Type: types.StringType}}})
	if _, err := tab.BucketDir([]byte{1, 2}, 0); err == nil || !strings.Contains(err.Error(), "partition of w/d.db/t") {
		t.Error(err)
	}
}

func TestCheckNames(t *testing.T) {
	for _, name := range []string{"t", "Orders_2024", "a.b", "日本", "with space", "x-y"} {
		if err := CheckName("table", name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", " ", ".", "..", ".hidden", "a/b", `a\b`, "../x", "a\x00b", "a\nb", "t$files", "_tarn", "x ", "\xff", strings.Repeat("x", 300),
	} {
		if err := CheckName("table", name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a.b", "sys"} {
		if err := CheckName("database", name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"main", "12", "a/b", "", "00000000000000000000000012"} {
		if err := CheckBranch(name); !errors.Is(err, ErrName) {
			t.Errorf("branch %q: %v", name, err)
		}
	}
	if err := CheckTag("7"); !errors.Is(err, ErrName) {
		t.Error(err)
	}
	if err := CheckConsumer("../x"); !errors.Is(err, ErrName) {
		t.Error(err)
	}
}

func TestParseIdentifier(t *testing.T) {
	for s, want := range map[string]Identifier{
		"d.t":                   {Database: "d", Table: "t"},
		"t":                     {Database: "def", Table: "t"},
		"d.t.x":                 {Database: "d", Table: "t.x"},
		"d.t$files":             {Database: "d", Table: "t", System: "files"},
		"d.t$branch_b1":         {Database: "d", Table: "t", Branch: "b1"},
		"d.t$branch_b1$options": {Database: "d", Table: "t", Branch: "b1", System: "options"},
		"d.t$branch_main":       {Database: "d", Table: "t"},
		"sys.all_tables":        {Database: "sys", Table: "all_tables"},
	} {
		got, err := ParseIdentifier(s, "def")
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", s, d)
		}
		again, err := ParseIdentifier(got.String(), "")
		if err != nil || again != got {
			t.Errorf("%s comes back as %v (%v)", s, again, err)
		}
	}
	for _, s := range []string{"", "d.", ".t", "d.t$", "d.t$a$b", "d.t$branch_", "d.t$branch_../x", "d./t", "d.t$branch_b$x$y"} {
		if got, err := ParseIdentifier(s, "def"); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
	if _, err := ParseIdentifier("t", ""); err == nil || !strings.Contains(err.Error(), "db.table") {
		t.Error(err)
	}
}
