package files_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/cdc/source/files"
	"github.com/tarnlake/tarn/cdc/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(id int, note string) string {
	return fmt.Sprintf(`{"op":"c","after":{"id":%d,"note":%q},"source":{"db":"d","table":"t"}}`, id, note)
}

// stream is n events with blank, broken and odd lines among them.
func stream(n int) string {
	var b strings.Builder
	b.WriteString("\xef\xbb\xbf") // some editors put this at the front
	for i := range n {
		switch i % 7 {
		case 2:
			b.WriteString("\n  \r\n")
		case 3:
			b.WriteString("this is no JSON\n")
		case 4:
			b.WriteString(`{"id":1}` + "\tnull\r\n")
		}
		b.WriteString(event(i, strings.Repeat("x", i%50*7)))
		if i < n-1 {
			b.WriteString("\n") // the last one has no end
		}
	}
	return b.String()
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newSource(t *testing.T, opts files.Options) source.Source {
	t.Helper()
	if opts.Format == "" {
		opts.Format = "debezium-json"
	}
	s, err := files.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	for i, n := range []int{40, 0, 1, 70} {
		write(t, fmt.Sprintf("%s/part-%d.jsonl", dir, i), stream(n))
	}
	write(t, dir+"/.hidden", "not read")
	zipped := t.TempDir()
	write(t, zipped+"/a.gz", gzipped(stream(60)))
	write(t, zipped+"/b", gzipped(stream(30))+gzipped("\n"+stream(20))) // parts one behind the other are one file
	write(t, zipped+"/c", stream(10))
	data := stream(100)
	for name, opts := range map[string]files.Options{
		"file":         {Paths: []string{dir + "/part-3.jsonl"}},
		"small chunks": {Paths: []string{dir + "/part-3.jsonl"}, Chunk: 64},
		"files":        {Paths: []string{dir + "/part-3.jsonl", dir + "/part-0.jsonl"}},
		"folder":       {Paths: []string{dir}},
		"pattern":      {Paths: []string{"file:" + dir + "/part-*.jsonl"}, Chunk: 1000},
		"gzip":         {Paths: []string{zipped}},
		"gzip, small":  {Paths: []string{zipped}, Chunk: 100},
		"short lines":  {Paths: []string{dir + "/part-3.jsonl"}, MaxLine: 200, Chunk: 64},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) source.Source { return newSource(t, opts) })
		})
	}
	for name, chunk := range map[string]int{"stdin": 0, "stdin small chunks": 50} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) source.Source {
				return newSource(t, files.Options{Paths: []string{"-"}, Input: strings.NewReader(data), Chunk: chunk})
			})
		})
	}
}

func TestBadLines(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, event(1, "a")+"\n{\"op\":\"c\"\n\n"+strings.Repeat("y", 5000)+"\n"+event(2, "b")+"\n"+`{"op":"d","source":{"db":"d","table":"t"}}`)
	lines, _ := sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{path}, MaxLine: 1000, Chunk: 300}), nil)
	want := []string{
		`rows d.t +I(id=1 note="a")`,
		`bad  ` + path + `:2: debezium-json: an object or list is not closed: the message is cut off (byte 9): "{\"op\":\"c\""`,
		`bad  ` + path + `:4: the line is longer than 1000 bytes: "`,
		`rows d.t +I(id=2 note="b")`,
		`bad d.t ` + path + `:6: debezium-json: a delete has no "before"; let the source send`,
	}
	if len(lines) != len(want) {
		t.Fatalf("events %q", lines)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("event %d is\n%s\nwant\n%s", i, lines[i], want[i])
		}
	}
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.jsonl", "a.jsonl", "c.txt", "_x.jsonl"} {
		write(t, dir+"/"+name, event(1, name))
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{dir}, "a.jsonl b.jsonl c.txt"},
		{[]string{dir + "/*.jsonl"}, "a.jsonl b.jsonl"},
		{[]string{dir + "/b.jsonl", dir + "/*"}, "b.jsonl a.jsonl c.txt"},
		{[]string{dir + "/_*"}, "_x.jsonl"},
	} {
		lines, _ := sourcetest.ReadAll(t, newSource(t, files.Options{Paths: c.paths}), nil)
		var got []string
		for _, l := range lines {
			_, note, _ := strings.Cut(l, "note=")
			got = append(got, strings.Trim(note, `")`))
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%q: %s", c.paths, d)
		}
	}
}

// A file that is not what it was is refused: its events would be lost or doubled.
func TestReplacedFile(t *testing.T) {
	path := t.TempDir() + "/f"
	whole := event(1, "a") + "\n" + event(2, "b") + "\n" + event(3, "c") + "\n"
	write(t, path, whole)
	_, places := sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{path}}), nil)
	resume := func() error {
		s := newSource(t, files.Options{Paths: []string{path}})
		defer s.Close()
		return s.Open(t.Context(), places[1])
	}
	for _, c := range []struct{ data, want string }{
		{whole, ""},
		{whole + event(4, "d"), ""},
		{whole[:20], "is not the file"},
		{strings.Replace(whole, `"b"`, `"x"`, 1), "is not the file"},
	} {
		write(t, path, c.data)
		err := resume()
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.data, err, c.want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(path)+"/g", whole)
	s := newSource(t, files.Options{Paths: []string{filepath.Dir(path)}})
	defer s.Close()
	if err := s.Open(t.Context(), places[1]); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("missing file: %v", err)
	}
}

func gzipped(data string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// A packed file that is cut off is an error, after what could be read.
func TestBrokenGzip(t *testing.T) {
	path := t.TempDir() + "/f.gz"
	var lines []string
	for i := range 2000 {
		lines = append(lines, event(i, fmt.Sprint(i*7919)))
	}
	data := gzipped(strings.Join(lines, "\n"))
	write(t, path, data[:len(data)/2])
	s := newSource(t, files.Options{Paths: []string{path}, Chunk: 1000})
	defer s.Close()
	if err := s.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; {
		events, err := s.Fetch(t.Context())
		n += len(events)
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) || n < 100 || !strings.Contains(err.Error(), "f.gz: unpack gzip: ") {
			t.Errorf("after %d events: %v", n, err)
		}
		return
	}
}

// The last line of a file that is written to may not be whole: it is told, and read again.
func TestCutLineIsReadAgain(t *testing.T) {
	path := t.TempDir() + "/f"
	half := event(2, "b")
	write(t, path, event(1, "a")+"\n\n"+half[:20])
	lines, places := sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{path}}), nil)
	if len(lines) != 2 || !strings.Contains(lines[1], "cut off") || !strings.Contains(lines[1], "f:3:") {
		t.Fatalf("events %q", lines)
	}
	write(t, path, event(1, "a")+"\n\n"+half+"\n"+event(3, "c")+"\n")
	lines, _ = sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{path}}), places[1])
	if d := cmp.Diff([]string{`rows d.t +I(id=2 note="b")`, `rows d.t +I(id=3 note="c")`}, lines); d != "" {
		t.Error(d)
	}
	whole := event(1, "a") + "\n" + half
	_, places = sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{"-"}, Input: strings.NewReader(whole[:len(whole)-5])}), nil)
	lines, _ = sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{"-"}, Input: strings.NewReader(whole)}), places[1])
	if d := cmp.Diff([]string{`rows d.t +I(id=2 note="b")`}, lines); d != "" {
		t.Errorf("standard input: %s", d)
	}
}

// A followed file that was replaced by a longer one is noticed.
func TestReplacedWhileFollowed(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, event(1, "a")+"\n"+event(2, "half")[:30])
	s := newSource(t, files.Options{Paths: []string{path}, Follow: true, Poll: time.Millisecond})
	defer s.Close()
	if err := s.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if events, err := s.Fetch(t.Context()); err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	write(t, path, strings.Repeat(event(7, "other")+"\n", 5))
	if events, err := s.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "is not the file") {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	s := newSource(t, files.Options{Paths: []string{dir + "/*.jsonl"}, Follow: true, Poll: time.Millisecond})
	defer s.Close()
	if err := s.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		events, err := s.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ev := range events {
			got = append(got, sourcetest.Describe(ev))
		}
		if g := strings.Join(got, "; "); g != want {
			t.Fatalf("got %s, want %s", g, want)
		}
	}
	add := func(name, data string) {
		t.Helper()
		f, err := os.OpenFile(dir+"/"+name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(data); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	add("a.jsonl", event(1, "a")+"\n"+event(2, "half")[:30])
	next(`rows d.t +I(id=1 note="a")`)
	add("a.jsonl", event(2, "half")[30:]+"\n")
	next(`rows d.t +I(id=2 note="half")`)
	add("a.jsonl", event(3, "no end"))
	add("b.jsonl", event(4, "b")+"\n")
	next(`rows d.t +I(id=3 note="no end")`)
	next(`rows d.t +I(id=4 note="b")`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Fetch(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nothing new: %v", err)
	}
}

// A file whose name stands before that of one that was begun is told, once, and never read, whether it comes while files
// are followed or between two runs; those behind it are.
func TestLateFile(t *testing.T) {
	for _, suffix := range []string{"", ".gz"} {
		dir := t.TempDir()
		put := func(name string, id int) {
			data := event(id, name) + "\n"
			if suffix != "" {
				data = gzipped(data)
			}
			write(t, dir+"/"+name+suffix, data)
		}
		var note []byte
		var place []byte
		// open starts anew, where the last one stopped.
		open := func() source.Noting {
			s := newSource(t, files.Options{Paths: []string{dir}, Follow: true, Poll: time.Millisecond}).(source.Noting)
			if note != nil {
				if err := s.Recall(note); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Open(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			return s
		}
		next := func(s source.Noting, wants ...string) {
			t.Helper()
			for len(wants) > 0 {
				events, err := s.Fetch(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range events {
					if got := sourcetest.Describe(ev); len(wants) == 0 || !strings.Contains(got, wants[0]) {
						t.Fatalf("got %s, want %q", got, wants)
					}
					wants = wants[1:]
					if ev.Position != nil {
						if place, err = ev.Position.MarshalBinary(); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		idle := func(s source.Noting) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if events, err := s.Fetch(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("nothing new: %d events, %v", len(events), err)
			}
		}
		end := func(s source.Noting) {
			t.Helper()
			var err error
			if note, err = s.Note(); err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
		put("b", 1)
		put("d", 2)
		s := open()
		next(s, "id=1", "id=2")
		put("c", 3)
		put("e", 4)
		next(s, "c"+suffix+" came after "+dir+"/d"+suffix+" was begun", "id=4")
		idle(s)
		put("f", 5)
		next(s, "id=5")
		end(s)
		put("a", 6)
		put("g", 7)
		s = open()
		next(s, "a"+suffix+" came after", "id=7")
		idle(s)
		end(s)
		// Told, and not taken: it is told again.
		put("a2", 8)
		s = open()
		next(s, "a2"+suffix+" came after")
		end(s)
		s = open()
		next(s, "a2"+suffix+" came after")
		idle(s)
		end(s)
		s = open()
		idle(s)
		s.Close()
		for _, name := range []string{"a", "b", "c", "d"} { // files that were read may go
			if err := os.Remove(dir + "/" + name + suffix); err != nil {
				t.Fatal(err)
			}
		}
		s = open()
		idle(s)
		put("h", 9)
		next(s, "id=9")
		s.Close()
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		opts files.Options
		want string
	}{
		{files.Options{Format: "debezium-json"}, "no path"},
		{files.Options{Format: "xml", Paths: []string{"-"}}, "debezium-json"},
		{files.Options{Format: "canal-json", Paths: []string{"-", "x"}}, "together"},
	} {
		if _, err := files.New(c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	for path, want := range map[string]string{"/no/such/file": "/no/such/file", t.TempDir() + "/*.x": "no file matches", "hdfs://x/y": "not known", "/tmp/[": "pattern"} {
		err := newSource(t, files.Options{Paths: []string{path}}).Open(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func BenchmarkFile(b *testing.B) {
	var buf bytes.Buffer
	for i := range 10000 {
		buf.WriteString(event(i, "some note of usual length") + "\n")
	}
	path := b.TempDir() + "/f"
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len()))
	n := 0
	for b.Loop() {
		s, err := files.New(files.Options{Paths: []string{path}, Format: "debezium-json"})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Open(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		for {
			events, err := s.Fetch(b.Context())
			if err != nil {
				break
			}
			n += len(events)
		}
		s.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}
