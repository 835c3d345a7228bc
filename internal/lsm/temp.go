package lsm

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

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/kv"
	"github.com/tarnlake/tarn/internal/paths"
)

// SpillOptions say how sort buffers and merges with too many runs use temporary files.
type SpillOptions struct {
	Buffer      bool   // write-buffer-spillable: a full sort buffer goes to a temporary file, not to level 0
	MaxDisk     int64  // write-buffer-spill.max-disk-size of a bucket; 0: no limit
	Dir         string // "" is the system's folder for temporary files
	Compression string // spill-compression: zstd, lz4 or none; "" is zstd
}

// tempRun is a sorted run in a temporary file of this process. Where the system lets files be removed that are open,
// the file has no name any more, so that nothing is left of it whatever ends the process.
type tempRun struct {
	f    *os.File
	path string
	left bool // it still has its name
	rows int64
	size int64
	// batch and row are the bytes in memory of its largest batch, and of the rows of a batch at most, on average.
	batch, row int64
}

func (t *Table) newTempRun() (*tempRun, error) {
	f, err := os.CreateTemp(t.c.Spill.Dir, "tarn-spill-*.arrow")
	if err != nil {
		return nil, spillError(cmp.Or(t.c.Spill.Dir, os.TempDir()), err)
	}
	return &tempRun{f: f, path: f.Name(), left: os.Remove(f.Name()) != nil}, nil
}

// spillError says what to do about the folder of temporary files. That there is none is a fault of the settings: nothing is
// wrong with the table.
func spillError(dir string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("lsm: spill: %w: there is no folder %s for temporary files; TMPDIR names another", paths.ErrInvalid, dir)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("lsm: spill to %s: %w: TMPDIR names another folder for temporary files", dir, err)
	}
	return fmt.Errorf("lsm: spill to %s: %w", dir, err)
}

func (x *tempRun) remove() error {
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
		return fmt.Errorf("lsm: remove temporary file: %w", err)
	}
	return nil
}

// mergeTemp writes the rows of a merge to a temporary run. It closes the merge.
func (t *Table) mergeTemp(ctx context.Context, in grouped, j *job) (x *tempRun, err error) {
	defer func() { err = errors.Join(err, in.Close()) }()
	r := &rawReader{in: in, job: j.raw()}
	if x, err = t.newTempRun(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.remove())
			x = nil
		}
	}()
	opts := []ipc.Option{ipc.WithSchema(r.job.outSchema)}
	switch t.c.Spill.Compression {
	case "", "zstd":
		opts = append(opts, ipc.WithZstd())
	case "lz4":
		opts = append(opts, ipc.WithLZ4())
	case "none":
	default:
		return x, fmt.Errorf("lsm: spill-compression %q is not one of zstd, lz4, none", t.c.Spill.Compression)
	}
	buf := bufio.NewWriterSize(x.f, 1<<18)
	w := ipc.NewWriter(buf, opts...)
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return x, err
		}
		x.rows += b.NumRows()
		for _, rec := range pieces(b.RecordBatch, tempBytes) {
			size := batch.SizeOf(rec)
			x.batch, x.row = max(x.batch, size), max(x.row, size/rec.NumRows())
			if err := w.Write(rec); err != nil {
				return x, spillError(filepath.Dir(x.path), err)
			}
		}
	}
	if err := errors.Join(w.Close(), buf.Flush()); err != nil {
		return x, spillError(filepath.Dir(x.path), err)
	}
	st, err := x.f.Stat()
	if err != nil {
		return x, spillError(filepath.Dir(x.path), err)
	}
	x.size = st.Size()
	return x, nil
}

// rawReader gives the rows of a merge as the input of another one.
type rawReader struct {
	in    grouped
	job   *job
	queue []batch.Batch
}

func (r *rawReader) Close() error { return r.in.Close() }

func (r *rawReader) Next(ctx context.Context) (batch.Batch, error) {
	for len(r.queue) == 0 {
		g, err := r.in.Next(ctx)
		if err != nil {
			return batch.Batch{}, err
		}
		if r.queue, err = r.job.keep(g); err != nil {
			return batch.Batch{}, err
		}
	}
	b := r.queue[0]
	r.queue = r.queue[1:]
	return b, nil
}

// tempReader reads a temporary run. Several may read it at the same time.
type tempReader struct {
	x *tempRun
	r *ipc.Reader
}

func (x *tempRun) open() (batch.Reader, error) {
	r, err := ipc.NewReader(bufio.NewReaderSize(io.NewSectionReader(x.f, 0, x.size), 1<<16))
	if err != nil {
		return nil, fmt.Errorf("lsm: read %s: %w", x.path, err)
	}
	return &tempReader{x, r}, nil
}

func (r *tempReader) Next(context.Context) (batch.Batch, error) {
	rec, err := r.r.Read()
	if err == io.EOF {
		return batch.Batch{}, io.EOF
	}
	if err != nil {
		return batch.Batch{}, fmt.Errorf("lsm: read %s: %w", r.x.path, err)
	}
	// The reader lets go of a batch at its next read; ours are kept as long as anyone likes.
	rec.Retain()
	return batch.Batch{RecordBatch: rec}, nil
}

func (r *tempReader) Close() error { return nil }

func tempRuns(temp []*tempRun) []kv.Run {
	out := make([]kv.Run, len(temp))
	for i, x := range temp {
		out[i] = kv.Run{Name: x.path, Open: func(context.Context) (batch.Reader, error) { return x.open() }}
	}
	return out
}

// reduce merges neighbouring temporary runs until there are at most fan of them, in batches of target rows. After an error it
// gives those that are left, to be removed.
func (t *Table) reduce(ctx context.Context, temp []*tempRun, j *job, fan, target int) ([]*tempRun, error) {
	for len(temp) > fan {
		var next []*tempRun
		for len(temp) > 0 {
			n := min(len(temp), fan)
			x, err := t.mergeTemp(ctx, kv.NewMerger(tempRuns(temp[:n]), j.layout, target), j)
			if err != nil {
				return append(next, temp...), err
			}
			next = append(next, x)
			for _, old := range temp[:n] {
				err = errors.Join(err, old.remove())
			}
			temp = temp[n:]
			if err != nil {
				return append(next, temp...), err
			}
		}
		temp = next
	}
	return temp, nil
}

// tempMerge is a merge that removes its temporary runs when it is closed.
type tempMerge struct {
	*kv.Merger
	temp []*tempRun
}

func (m *tempMerge) Close() error {
	err := m.Merger.Close()
	for _, x := range m.temp {
		err = errors.Join(err, x.remove())
	}
	m.temp = nil
	return err
}
