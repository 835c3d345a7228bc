package parquet

import (
	"testing"

	"github.com/tarnlake/tarn/internal/format/formattest"
)

func TestConformance(t *testing.T) {
	formattest.Run(t, formattest.Suite{Format: Format{}, Codecs: []string{"none", "snappy", "gzip", "lz4", "zstd"}})
}
