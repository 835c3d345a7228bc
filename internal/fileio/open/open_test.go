package open_test

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/fileio/s3"
	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
)

func TestSchemes(t *testing.T) {
	opts := map[string]string{"s3.endpoint": "http://localhost:1", "s3.access-key": "a", "s3.secret-key": "b", "other": "x"}
	for _, c := range []struct{ uri, kind, root string }{
		{"/lake", "local", "/lake"},
		{"/lake/", "local", "/lake"},
		{"lake", "local", "lake"},
		{"./a:b", "local", "a:b"},
		{"file:/lake", "local", "/lake"},
		{"file:///lake/x%20y", "local", "/lake/x%20y"},
		{"file://localhost/lake", "local", "/lake"},
		{"C:/lake", "local", "C:/lake"},
		{"s3://bucket/lake/", "s3", "s3://bucket/lake"},
		{"s3a://bucket", "s3", "s3a://bucket"},
		{"memory:", "mem", "/"},
		{"memory:/lake", "mem", "/lake"},
		{"memory://name/lake", "mem", "/lake"},
	} {
		fs, root, err := open.FS(t.Context(), c.uri, opts)
		if err != nil {
			t.Errorf("%s: %v", c.uri, err)
			continue
		}
		var got string
		switch fs.(type) {
		case *fileio.Local:
			got = "local"
		case *fileio.Mem:
			got = "mem"
		case *s3.FS:
			got = "s3"
		}
		if got != c.kind || root != c.root {
			t.Errorf("%s: %s %q, want %s %q", c.uri, got, root, c.kind, c.root)
		}
	}
}

func TestMemoryIsSharedByName(t *testing.T) {
	a, root, _ := open.FS(t.Context(), "memory://shared-test/w", nil)
	b, _, _ := open.FS(t.Context(), "memory://shared-test/w", nil)
	other, _, _ := open.FS(t.Context(), "memory:/w", nil)
	if err := a.Put(t.Context(), root+"/f", nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fs   fileio.FS
		want bool
	}{"same name": {b, true}, "no name": {other, false}} {
		if ok, err := fileio.Exists(t.Context(), c.fs, root+"/f"); ok != c.want || err != nil {
			t.Errorf("%s: exists %v, %v", name, ok, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for uri, want := range map[string]string{
		"":                 "empty",
		"hdfs://h/p":       "known are file, memory, s3, s3a",
		"file://server/p":  "another machine",
		"file:":            "no path",
		"s3:/bucket":       "s3://bucket/key",
		"s3:///key":        "s3://bucket/key",
		"gs://bucket/lake": `"gs" is not known`,
	} {
		if _, _, err := open.FS(t.Context(), uri, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", uri, err, want)
		}
	}
	if _, _, err := open.FS(t.Context(), "/lake", map[string]string{open.SyncOption: "perhaps"}); err == nil || !strings.Contains(err.Error(), open.SyncOption) {
		t.Errorf("bad option: %v", err)
	}
}

func TestServerByOptions(t *testing.T) {
	srv, ok := s3test.Start(t)
	if !ok {
		return
	}
	fs, root, err := open.FS(t.Context(), srv.Root()+"/lake", srv.OptionMap())
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.PutIfAbsent(t.Context(), root+"/f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := fileio.ReadFile(t.Context(), fs, root+"/f"); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}
