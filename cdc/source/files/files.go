// Package files is the source of change events in files, one event a line, and in standard input.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/internal/fileio"
)

// Stdin is the path of standard input.
const Stdin = "-"

// Options configure a Source.
type Options struct {
	// Paths are read one after the other: files, folders (their files by name, but hidden ones), patterns
	// for the last part of a path (by name), or "-" alone. They may lie on any file system that
	// internal/fileio/open knows.
	Paths []string
	// FileSystem holds options of the file system (s3.endpoint, …).
	FileSystem map[string]string
	// Format names the decoder; see decode.Formats.
	Format string
	// Decode are the options of the decoder.
	Decode decode.Options
	// Follow waits for more at the end: lines put behind the last file, and new files behind it.
	Follow bool
	// Poll is how often Follow looks; 500 ms if 0.
	Poll time.Duration
	// Input is what "-" reads; os.Stdin if nil. If it is an io.Closer, Close closes it.
	Input io.Reader
	// MaxLine is the longest line that is taken, in bytes; 64 MiB if 0. A longer one is a Bad event.
	MaxLine int
	// Chunk is how much is read at once; 1 MiB if 0. A Fetch gives the events of at most one chunk.
	Chunk int
}

// New makes a Source. Nothing is read before Open.
//
// Its position is the file, the place in it and a check of the bytes before that place, so that a file
// that was replaced is noticed. Standard input has no places: after a restart the same stream must be given
// again, and the events that were taken are counted off.
func New(opts Options) (source.Source, error) {
	decoder, err := decode.New(opts.Format, opts.Decode)
	if err != nil {
		return nil, err
	}
	if len(opts.Paths) == 0 {
		return nil, errors.New("files: there is no path to read; name files, or - for standard input")
	}
	if opts.MaxLine <= 0 {
		opts.MaxLine = 64 << 20
	}
	if opts.Chunk <= 0 {
		opts.Chunk = 1 << 20
	}
	if opts.Poll <= 0 {
		opts.Poll = 500 * time.Millisecond
	}
	r := reader{decoder: decoder, maxLine: opts.MaxLine}
	for _, p := range opts.Paths {
		if p != Stdin {
			continue
		}
		if len(opts.Paths) > 1 {
			return nil, errors.New("files: standard input (-) cannot be read together with files")
		}
		if opts.Input == nil {
			opts.Input = os.Stdin
		}
		return &stdin{opts: opts, r: r}, nil
	}
	return &files{opts: opts, r: r}, nil
}

// files reads files.
type files struct {
	opts   Options
	r      reader
	list   []entry // all files now, in order
	at     int     // index into list of the file being read
	file   fileio.File
	off    int64 // where to read on
	done   bool  // io.EOF was given
	closed bool
	seen   seen
}

// entry is a file to read.
type entry struct {
	fs   fileio.FS
	path string
}

// missing is the error of a path at which there is nothing. It is a tarn.ErrNotExist.
type missing struct{ error }

func (e missing) Unwrap() []error { return []error{e.error, tarn.ErrNotExist} }

// Open implements source.Source.
func (f *files) Open(ctx context.Context, from []byte) error {
	if err := f.look(ctx); err != nil {
		return err
	}
	if from == nil {
		if len(f.list) == 0 && !f.opts.Follow {
			return missing{fmt.Errorf("files: no file matches %q", f.opts.Paths)}
		}
		return nil
	}
	p, err := parsePosition(from)
	if err != nil {
		return err
	}
	for f.at = range f.list {
		if f.list[f.at].path == p.File {
			f.seen.upTo(f.list, f.at)
			return f.resume(ctx, p)
		}
	}
	return missing{fmt.Errorf("files: %s, in which the job stopped at byte %d, is gone: put it back, or reset the job", p.File, p.Offset)}
}

// resume goes on behind a position in the file at f.at.
func (f *files) resume(ctx context.Context, p placed) error {
	if err := f.openFile(ctx); err != nil {
		return err
	}
	tail, err := f.check(p.Offset, p.Check)
	if err != nil {
		return err
	}
	f.off = p.Offset
	f.r.start(p.File, p.Offset, p.Line, p.Events, tail)
	return nil
}

func (f *files) openFile(ctx context.Context) error {
	e := f.list[f.at]
	file, err := e.fs.Open(ctx, e.path)
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	if f.file, err = unpack(file); err != nil {
		file.Close()
		return fmt.Errorf("files: read %s: %w", e.path, err)
	}
	return nil
}

// check reads the bytes before a place again, which must be those that were there.
func (f *files) check(offset int64, sum uint32) ([]byte, error) {
	tail := make([]byte, min(offset, checkBytes))
	n := 0
	if offset <= f.file.Size() {
		var err error
		if n, err = f.file.ReadAt(tail, offset-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("files: read %s: %w", f.list[f.at].path, err)
		}
	}
	if n < len(tail) || checksum(tail) != sum {
		return nil, fmt.Errorf("files: %s is not the file that the job read before: what stands before byte %d has changed; put the old one back, or reset the job", f.list[f.at].path, offset)
	}
	return tail, nil
}

// Fetch implements source.Source.
func (f *files) Fetch(ctx context.Context) ([]decode.Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.done || f.closed {
			return nil, io.EOF
		}
		if events := f.seen.tell(); len(events) > 0 {
			return events, nil
		}
		if f.file == nil {
			if f.at >= len(f.list) {
				if err := f.end(ctx); err != nil {
					return nil, err
				}
				continue
			}
			if err := f.openFile(ctx); err != nil {
				return nil, err
			}
			f.seen.upTo(f.list[f.at:], 0)
			f.r.start(f.list[f.at].path, 0, 0, f.r.events, nil)
			f.off = 0
		}
		left := f.file.Size() - f.off
		if left <= 0 {
			events, err := f.fileEnd(ctx)
			if err != nil || len(events) > 0 {
				return events, err
			}
			continue
		}
		buf := f.r.buffer(int(min(left, int64(f.opts.Chunk))))
		buf = buf[:min(left, int64(len(buf)))]
		read, err := f.file.ReadAt(buf, f.off)
		if read == 0 {
			if _, ok := f.file.(*packed); ok && errors.Is(err, io.EOF) {
				continue // its size is known now
			}
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("files: read %s: %w", f.list[f.at].path, err)
		}
		f.off += int64(read)
		if events := f.r.lines(read); len(events) > 0 {
			return events, nil
		}
	}
}

// fileEnd is called at the end of a file: it looks whether there is more, else goes to the next file.
func (f *files) fileEnd(ctx context.Context) ([]decode.Event, error) {
	if _, whole := f.file.(*packed); f.opts.Follow && !whole {
		e := f.list[f.at]
		info, err := e.fs.Stat(ctx, e.path)
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		if info.Size > f.off {
			f.file.Close()
			if err := f.openFile(ctx); err != nil {
				return nil, err
			}
			_, err := f.check(f.r.offset, checksum(f.r.history[max(0, len(f.r.history)-checkBytes):])) // it may be another file, under the old one's name
			return nil, err
		}
		if info.Size < f.off {
			return nil, fmt.Errorf("files: %s became shorter while it was followed: it was cut or replaced", e.path)
		}
		if f.at == len(f.list)-1 { // an unfinished line of the last file may still be written to
			return nil, f.end(ctx)
		}
	}
	events := f.r.finish()
	f.file.Close()
	f.file = nil
	f.at++
	return events, nil
}

// end is called when all files are read.
func (f *files) end(ctx context.Context) error {
	if !f.opts.Follow {
		f.done = true
		return io.EOF
	}
	t := time.NewTimer(f.opts.Poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	}
	was := f.r.file
	if err := f.look(ctx); err != nil {
		return err
	}
	f.at = slices.IndexFunc(f.list, func(e entry) bool { return e.path == was })
	switch {
	case f.at < 0 && was == "": // there was none
		f.at = 0
	case f.at < 0: // it is gone, and so are those before it
		f.at = slices.IndexFunc(f.list, func(e entry) bool { return !f.seen.known[nameSum(e.path)] })
		if f.at < 0 {
			f.at = len(f.list)
		}
	case f.file == nil:
		f.at++
	}
	return nil
}

// look lists the files. Those that come too late are not among them.
func (f *files) look(ctx context.Context) error {
	list, err := find(ctx, f.opts)
	if err != nil {
		return err
	}
	f.list = f.seen.inTime(list)
	return nil
}

// Note implements source.Noting.
func (f *files) Note() ([]byte, error) { return f.seen.note(f.list) }

// Recall implements source.Noting.
func (f *files) Recall(note []byte) error { return f.seen.recall(note) }

// Ack implements source.Source: files stay as they are.
func (f *files) Ack(context.Context, []byte) error { return nil }

// Close implements source.Source.
func (f *files) Close() error {
	f.closed = true
	if f.file != nil {
		err := f.file.Close()
		f.file = nil
		return err
	}
	return nil
}
