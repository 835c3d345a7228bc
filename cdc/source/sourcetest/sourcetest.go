// Package sourcetest is the conformance suite of sources of changes: every implementation of
// source.Source runs it.
package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/cdc/source"
)

// maxResumes bounds how many places the suite resumes at; of a longer stream they are spread.
const maxResumes = 200

// Run runs the suite on a source that ends: newSource gives a new one over the same changes each time it
// is called, as after a restart.
func Run(t *testing.T, newSource func(t *testing.T) source.Source) {
	t.Run("SameOrder", func(t *testing.T) {
		first, _ := ReadAll(t, newSource(t), nil)
		again, _ := ReadAll(t, newSource(t), nil)
		if len(first) == 0 {
			t.Fatal("the source gives no events")
		}
		diff(t, "the second run", again, first)
	})
	t.Run("ResumeAtEachEvent", func(t *testing.T) {
		all, places := ReadAll(t, newSource(t), nil)
		for i := 0; i < len(all); i += 1 + len(all)/maxResumes {
			rest, restPlaces := ReadAll(t, newSource(t), places[i])
			diff(t, fmt.Sprintf("resumed behind event %d at %s", i, places[i]), rest, all[i+1:])
			// The places do not depend on where the source began.
			for j := range restPlaces {
				if string(restPlaces[j]) != string(places[i+1+j]) {
					t.Fatalf("resumed behind event %d: event %d is at %s, was at %s", i, i+1+j, restPlaces[j], places[i+1+j])
				}
			}
		}
	})
	t.Run("PlacesDiffer", func(t *testing.T) {
		_, places := ReadAll(t, newSource(t), nil)
		seen := map[string]bool{}
		for i, p := range places {
			if seen[string(p)] {
				t.Fatalf("event %d is at the place of an earlier one: %s", i, p)
			}
			seen[string(p)] = true
		}
	})
	t.Run("Ack", func(t *testing.T) {
		s := newSource(t)
		defer s.Close()
		must(t, s.Open(t.Context(), nil))
		events, err := s.Fetch(t.Context())
		must(t, err)
		p, err := events[len(events)-1].Position.MarshalBinary()
		must(t, err)
		must(t, s.Ack(t.Context(), p))
		must(t, s.Ack(t.Context(), p))
	})
	t.Run("EndStays", func(t *testing.T) {
		s := newSource(t)
		must(t, s.Open(t.Context(), nil))
		for {
			_, err := s.Fetch(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
		}
		if _, err := s.Fetch(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
		must(t, s.Close())
		must(t, s.Close())
	})
	t.Run("Cancelled", func(t *testing.T) {
		s := newSource(t)
		defer s.Close()
		must(t, s.Open(t.Context(), nil))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Fetch(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if _, err := s.Fetch(t.Context()); err != nil {
			t.Errorf("a call that was cancelled broke the source: %v", err)
		}
	})
	t.Run("ForeignPosition", func(t *testing.T) {
		s := newSource(t)
		defer s.Close()
		if err := s.Open(t.Context(), []byte("\x00nonsense")); err == nil {
			t.Error("opened at a position that is none")
		}
	})
	t.Run("ClosedUnopened", func(t *testing.T) {
		must(t, newSource(t).Close())
	})
}

// ReadAll opens a source behind a position, reads it to its end and closes it. It gives a line for each
// event, as Describe does, and the bytes of its position.
func ReadAll(t *testing.T, s source.Source, from []byte) (lines []string, places [][]byte) {
	t.Helper()
	defer s.Close()
	must(t, s.Open(t.Context(), from))
	for {
		events, err := s.Fetch(t.Context())
		if errors.Is(err, io.EOF) {
			return lines, places
		}
		must(t, err)
		if len(events) == 0 {
			t.Fatal("Fetch gave no events and no error")
		}
		for _, ev := range events {
			if ev.Position == nil {
				t.Fatalf("no position: %s", Describe(ev))
			}
			p, err := ev.Position.MarshalBinary()
			must(t, err)
			lines, places = append(lines, Describe(ev)), append(places, p)
		}
	}
}

// Describe writes an event as a line of text.
func Describe(ev decode.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", ev.Kind, ev.Table)
	if ev.DDL != "" {
		fmt.Fprintf(&b, " %q", ev.DDL)
	}
	if ev.Err != nil {
		fmt.Fprintf(&b, " %v: %.60q", ev.Err, ev.Raw)
	}
	for _, r := range ev.Rows {
		fmt.Fprintf(&b, " %v(", r.Kind)
		for i, c := range ev.Shape.Columns {
			if i > 0 {
				b.WriteByte(' ')
			}
			if r.Values[i] == nil {
				fmt.Fprintf(&b, "%s=NULL", c.Name)
			} else {
				fmt.Fprintf(&b, "%s=%s", c.Name, r.Values[i])
			}
		}
		b.WriteByte(')')
	}
	return b.String()
}

func diff(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: event %d of %d is\n%s\nwant (of %d)\n%s", what, i, len(got), g, len(want), w)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
