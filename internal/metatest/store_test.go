package metatest

import (
	"bytes"
	"context"

	"github.com/tarnlake/tarn/internal/fileio"
)

// objects makes an object store of a file system: a file is there, whole and durable, when it is closed,
// and not before. Renames copy (fileio.Fault.CopyRename).
type objects struct{ fileio.FS }

func (o objects) Create(ctx context.Context, path string) (fileio.Writer, error) {
	return &objectWriter{ctx: ctx, fs: o.FS, path: path}, nil
}

// Sync has nothing to do.
func (objects) Sync(context.Context, ...string) error { return nil }

type objectWriter struct {
	ctx  context.Context
	fs   fileio.FS
	path string
	data bytes.Buffer
	done bool
}

func (w *objectWriter) Write(p []byte) (int, error) { return w.data.Write(p) }

func (w *objectWriter) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.fs.Put(w.ctx, w.path, w.data.Bytes())
}

func (w *objectWriter) Abort() error {
	w.done = true
	return nil
}
