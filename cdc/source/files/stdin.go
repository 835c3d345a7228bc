package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tarnlake/tarn/cdc/decode"
)

// stdin reads standard input, or what stands for it.
type stdin struct {
	opts Options
	r    reader

	taken  placed // events of an earlier run, to be counted off; Events is 0 if there are none
	chunks chan chunk
	stop   chan struct{}
	err    error // how the input ended
	ended  bool  // the last line was given
	closed bool
}

// chunk is what one read gave.
type chunk struct {
	data []byte
	err  error
}

// Open implements source.Source.
func (s *stdin) Open(_ context.Context, from []byte) error {
	s.r.start(Stdin, 0, 0, 0, nil)
	if from != nil {
		p, err := parsePosition(from)
		if err != nil {
			return err
		}
		if p.File != Stdin {
			return fmt.Errorf("files: the job stopped in %s and is now to read standard input; give it what it read before, or reset the job", p.File)
		}
		s.taken = p
	}
	s.chunks, s.stop = make(chan chunk), make(chan struct{})
	go s.read()
	return nil
}

// read hands on what the input gives. A read cannot be called off, so it runs on its own: Fetch can
// return when its context ends, and Close need not wait for a keyboard.
func (s *stdin) read() {
	defer close(s.chunks)
	for {
		buf := make([]byte, min(s.opts.Chunk, 256<<10))
		n, err := s.opts.Input.Read(buf)
		if n == 0 && err == nil {
			continue
		}
		select {
		case s.chunks <- chunk{buf[:n], err}:
		case <-s.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

// Fetch implements source.Source.
func (s *stdin) Fetch(ctx context.Context) ([]decode.Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.closed {
			return nil, io.EOF
		}
		events, err := s.next(ctx)
		if err != nil {
			return nil, err
		}
		if events, err = s.countOff(events); err != nil {
			return nil, err
		}
		if len(events) > 0 {
			return events, nil
		}
	}
}

// next gives the events of the next piece of input, maybe none.
func (s *stdin) next(ctx context.Context) ([]decode.Event, error) {
	if s.err == nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case c, ok := <-s.chunks:
			if !ok {
				c.err = io.EOF
			}
			s.err = c.err
			n := copy(s.r.buffer(len(c.data)), c.data)
			return s.r.lines(n), nil
		}
	}
	if !errors.Is(s.err, io.EOF) {
		return nil, fmt.Errorf("files: read standard input: %w", s.err)
	}
	if !s.ended {
		s.ended = true
		return s.r.finish(), nil
	}
	if s.taken.Events > 0 {
		return nil, fmt.Errorf("files: standard input ended after %d events, but the job had taken %d: give it the same stream again, or reset the job", s.r.events, s.taken.Events)
	}
	return nil, io.EOF
}

// countOff drops events that were taken by an earlier run.
func (s *stdin) countOff(events []decode.Event) ([]decode.Event, error) {
	if s.taken.Events == 0 || len(events) == 0 {
		return events, nil
	}
	last := events[len(events)-1].Position.(*position)
	if last.events < s.taken.Events {
		return nil, nil
	}
	keep := len(events) - int(last.events-s.taken.Events)
	p := events[keep-1].Position.(*position)
	if !p.is(s.taken) {
		return nil, fmt.Errorf("files: standard input is not the stream that the job read before: event %d ends at byte %d and ended at byte %d, or reads otherwise; give it the same stream again, or reset the job",
			s.taken.Events, p.offset, s.taken.Offset)
	}
	s.taken = placed{}
	return events[keep:], nil
}

// Ack implements source.Source: there is nothing to be told.
func (s *stdin) Ack(context.Context, []byte) error { return nil }

// Close implements source.Source. A read that waits for input ends with the input.
func (s *stdin) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.stop != nil {
		close(s.stop)
	}
	if c, ok := s.opts.Input.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
