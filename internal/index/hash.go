package index

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

// Hash is the type of hash indexes in index manifests.
const Hash = "HASH"

// ReadHash reads the hash index of a bucket: the hashes of its keys, in no particular order. A file of another size than
// its entry tells is an error.
func ReadHash(ctx context.Context, fs fileio.FS, path string, e *manifest.IndexEntry) ([]int32, error) {
	data, err := fileio.ReadFile(ctx, fs, path)
	if err != nil {
		return nil, fmt.Errorf("hash index: %w", err)
	}
	if int64(len(data)) != e.Size || int64(len(data)) != 4*e.Rows {
		return nil, fmt.Errorf("%w: hash index %s has %d bytes; its manifest says %d, and %d hashes of 4 bytes", ErrCorrupt, path, len(data), e.Size, e.Rows)
	}
	out := make([]int32, len(data)/4)
	for i := range out {
		out[i] = int32(binary.BigEndian.Uint32(data[4*i:]))
	}
	return out, nil
}

// WriteHash writes the hash index of a bucket to a file of this name and path, and gives its entry without its place.
func WriteHash(ctx context.Context, fs fileio.FS, name, path string, hashes []int32) (manifest.IndexEntry, error) {
	data := make([]byte, 0, 4*len(hashes))
	for _, h := range hashes {
		data = binary.BigEndian.AppendUint32(data, uint32(h))
	}
	w, err := fs.Create(ctx, path)
	if err == nil {
		if _, err = w.Write(data); err == nil {
			err = w.Close()
		} else {
			_ = w.Abort()
		}
	}
	if err != nil {
		return manifest.IndexEntry{}, fmt.Errorf("hash index: %w", err)
	}
	return manifest.IndexEntry{Kind: manifest.Add, Type: Hash, Name: name, Size: int64(len(data)), Rows: int64(len(hashes))}, nil
}
