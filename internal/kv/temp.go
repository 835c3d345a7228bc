package kv

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/paths"
)

// TempBytes is about the most bytes of a batch of a temporary run: many of them are merged at once.
const TempBytes = 2 << 20

// Temp is a sorted run in a temporary file of this process. Where the system lets files be removed that are open,
// the file has no name any more, so that nothing is left of it whatever ends the process.
type Temp struct {
	Rows int64
	Size int64 // of the file
	// Batch and Row are the bytes in memory of its largest batch, and of the rows of a batch at most, on average.
	Batch, Row int64

	f    *os.File
	path string
	left bool // it still has its name
}

// NewTemp makes a run without rows in a folder, "" for the system's folder for temporary files. It has to be removed.
func NewTemp(dir string) (*Temp, error) {
	f, err := os.CreateTemp(dir, "tarn-spill-*.arrow")
	if err != nil {
		return nil, spillError(cmp.Or(dir, os.TempDir()), err)
	}
	return &Temp{f: f, path: f.Name(), left: os.Remove(f.Name()) != nil}, nil
}

// spillError says what to do about the folder of temporary files. That there is none is a fault of the settings: nothing is
// wrong with the table.
func spillError(dir string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("spill: %w: there is no folder %s for temporary files; TMPDIR names another", paths.ErrInvalid, dir)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("spill to %s: %w: TMPDIR names another folder for temporary files", dir, err)
	}
	return fmt.Errorf("spill to %s: %w", dir, err)
}

// Fill writes the batches that next gives until io.EOF, in pieces of about most bytes. It is called once. Compression is zstd,
// lz4 or none; "" is zstd.
func (x *Temp) Fill(schema *arrow.Schema, compression string, most int64, next func() (arrow.RecordBatch, error)) error {
	opts := []ipc.Option{ipc.WithSchema(schema)}
	switch compression {
	case "", "zstd":
		opts = append(opts, ipc.WithZstd())
	case "lz4":
		opts = append(opts, ipc.WithLZ4())
	case "none":
	default:
		return fmt.Errorf("spill-compression %q is not one of zstd, lz4, none", compression)
	}
	buf := bufio.NewWriterSize(x.f, 1<<18)
	w := ipc.NewWriter(buf, opts...)
	for {
		b, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		x.Rows += b.NumRows()
		for _, rec := range batch.Pieces(b, most) {
			size := batch.SizeOf(rec)
			x.Batch, x.Row = max(x.Batch, size), max(x.Row, size/rec.NumRows())
			if err := w.Write(rec); err != nil {
				return spillError(filepath.Dir(x.path), err)
			}
		}
	}
	if err := errors.Join(w.Close(), buf.Flush()); err != nil {
		return spillError(filepath.Dir(x.path), err)
	}
	st, err := x.f.Stat()
	if err != nil {
		return spillError(filepath.Dir(x.path), err)
	}
	x.Size = st.Size()
	return nil
}

// Remove gives the file back. It may be called again.
func (x *Temp) Remove() error {
	err := x.f.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if x.left {
		if e := os.Remove(x.path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		return fmt.Errorf("remove temporary file: %w", err)
	}
	return nil
}

// Run is the run for a merge. Several may read it at the same time.
func (x *Temp) Run() Run {
	return Run{Name: x.path, Open: func(context.Context) (batch.Reader, error) { return x.open() }}
}

// TempRuns are the runs of temporary files.
func TempRuns(temp []*Temp) []Run {
	out := make([]Run, len(temp))
	for i, x := range temp {
		out[i] = x.Run()
	}
	return out
}

type tempReader struct {
	x *Temp
	r *ipc.Reader
}

func (x *Temp) open() (batch.Reader, error) {
	r, err := ipc.NewReader(bufio.NewReaderSize(io.NewSectionReader(x.f, 0, x.Size), 1<<16))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", x.path, err)
	}
	return &tempReader{x, r}, nil
}

func (r *tempReader) Next(context.Context) (batch.Batch, error) {
	rec, err := r.r.Read()
	if err == io.EOF {
		return batch.Batch{}, io.EOF
	}
	if err != nil {
		return batch.Batch{}, fmt.Errorf("read %s: %w", r.x.path, err)
	}
	// The reader lets go of a batch at its next read; ours are kept as long as anyone likes.
	rec.Retain()
	return batch.Batch{RecordBatch: rec}, nil
}

func (r *tempReader) Close() error { return nil }
