package fileio_test

import (
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/fstest"
)

func TestLocalConformance(t *testing.T) {
	for name, opts := range map[string]fileio.LocalOptions{"sync": {Sync: true}, "nosync": {}} {
		t.Run(name, func(t *testing.T) {
			fstest.Run(t, func(t *testing.T) (fileio.FS, string) {
				return fileio.NewLocal(opts), t.TempDir() + "/lake"
			})
		})
	}
}

func TestMemConformance(t *testing.T) {
	fstest.Run(t, func(t *testing.T) (fileio.FS, string) {
		return fileio.NewMem(fileio.MemOptions{}), "/lake"
	})
}
