package files_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/cdc/source/files"
	"github.com/tarnlake/tarn/cdc/source/sourcetest"
)

// Standard input must be the same stream again.
func TestOtherStdin(t *testing.T) {
	data := stream(30)
	in := func(s string) files.Options { return files.Options{Paths: []string{"-"}, Input: strings.NewReader(s)} }
	_, places := sourcetest.ReadAll(t, newSource(t, in(data)), nil)
	for _, c := range []struct{ data, want string }{
		{data[:200], "ended after"},
		{strings.ReplaceAll(data, "xx", "yy"), "is not the stream"},
		{"\n" + data, "is not the stream"},
	} {
		s := newSource(t, in(c.data))
		if err := s.Open(t.Context(), places[10]); err != nil {
			t.Fatal(err)
		}
		_, err := s.Fetch(t.Context())
		if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		s.Close()
	}
	path := t.TempDir() + "/f"
	write(t, path, data)
	_, filePlaces := sourcetest.ReadAll(t, newSource(t, files.Options{Paths: []string{path}}), nil)
	if err := newSource(t, in(data)).Open(t.Context(), filePlaces[0]); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("position of a file: %v", err)
	}
}

// A stream whose last line had no end goes on with the end of that line.
func TestStdinEndsWithinLine(t *testing.T) {
	for _, first := range []string{event(1, "a"), stream(9) + event(10, strings.Repeat("long", 100)), "\n" + event(1, "\u00e9") + "\r"} {
		in := func(s string) source.Source {
			return newSource(t, files.Options{Paths: []string{"-"}, Input: strings.NewReader(s), Chunk: 100})
		}
		_, places := sourcetest.ReadAll(t, in(first), nil)
		for _, end := range []string{"\n", "\r\n", "\n\n"} {
			lines, _ := sourcetest.ReadAll(t, in(first+end+event(11, "b")), places[len(places)-1])
			if len(lines) != 1 || !strings.Contains(lines[0], "id=11") {
				t.Errorf("behind %q come %q, want row 11", end, lines)
			}
		}
	}
}

// Events of standard input come when they are there, not when a buffer is full.
func TestStdinIsPrompt(t *testing.T) {
	in, out := io.Pipe()
	s := newSource(t, files.Options{Paths: []string{"-"}, Input: in})
	if err := s.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := io.WriteString(out, event(i, "x")+"\n"+event(100, "unfinished")[:i*10]); err != nil {
			t.Fatal(err)
		}
		events, err := s.Fetch(t.Context())
		if err != nil || len(events) != 1 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if i == 0 {
			continue
		}
		if _, err := io.WriteString(out, event(100, "unfinished")[i*10:]+"\n"); err != nil {
			t.Fatal(err)
		}
		if events, err = s.Fetch(t.Context()); err != nil || len(events) != 1 || events[0].Kind != decode.Rows {
			t.Fatalf("%v, %v", events, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Fetch(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no input: %v", err)
	}
	if err := s.Close(); err != nil { // closes the pipe, so that the reader ends
		t.Fatal(err)
	}
}
