package cli

import (
	"context"
	"io"
)

// stoppable reads from an input that may not give anything for long: a read ends when ctx does. The read below cannot
// be called off, so it runs on its own and is left alone then.
type stoppable struct {
	ctx  context.Context
	in   io.Reader
	asks chan int
	got  chan readResult
	rest []byte
	err  error // that came with rest
}

type readResult struct {
	b   []byte
	err error
}

func newStoppable(ctx context.Context, in io.Reader) *stoppable {
	return &stoppable{ctx: ctx, in: in}
}

// Read implements io.Reader.
func (s *stoppable) Read(p []byte) (int, error) {
	if len(s.rest) == 0 && s.err == nil {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		if s.asks == nil {
			s.asks, s.got = make(chan int, 1), make(chan readResult, 1)
			go s.read(s.asks, s.got)
		}
		s.asks <- len(p) // there is room: nothing is asked before the answer
		select {
		case r := <-s.got:
			s.rest, s.err = r.b, r.err
		case <-s.ctx.Done():
			s.err = s.ctx.Err()
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	if len(s.rest) > 0 {
		return n, nil
	}
	return n, s.err
}

// Close lets the reading goroutine end after the read it is in.
func (s *stoppable) Close() error {
	if s.asks != nil {
		close(s.asks)
		s.asks = nil
	}
	return nil
}

func (s *stoppable) read(asks <-chan int, got chan<- readResult) {
	for n := range asks {
		b := make([]byte, n)
		n, err := s.in.Read(b)
		got <- readResult{b[:n], err}
	}
}
