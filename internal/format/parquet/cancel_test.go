package parquet

import (
	"context"
	"errors"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/formattest"
)

// silentFile is a file of a store that stops answering once the footer was read.
type silentFile struct {
	fileio.File
	silent bool
	asked  chan struct{}
}

func (f *silentFile) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if !f.silent {
		return f.ReadAt(p, off)
	}
	close(f.asked)
	<-ctx.Done()
	return 0, ctx.Err()
}

func (f *silentFile) ReadRanges(ctx context.Context, ranges []fileio.Range) ([][]byte, error) {
	if !f.silent {
		return f.File.ReadRanges(ctx, ranges)
	}
	close(f.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Reading ends with its context, also while it waits for the store.
func TestReadingEndsWithItsContext(t *testing.T) {
	data, _ := writeRows(t, 20_000, format.WriteOptions{Compression: "none"})
	for _, low := range []bool{false, true} {
		f := &silentFile{File: formattest.Open(t, data), asked: make(chan struct{})}
		r, err := Format{}.NewReader(t.Context(), f, format.ReadOptions{Fields: wide, LowMemory: low})
		if err != nil {
			t.Fatal(err)
		}
		f.silent = true
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-f.asked
			cancel()
		}()
		if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("low memory %v: %v", low, err)
		}
		cancel()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
