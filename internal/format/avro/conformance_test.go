package avro

import (
	"testing"

	"github.com/tarnlake/tarn/internal/format/formattest"
)

func TestConformance(t *testing.T) {
	formattest.Run(t, formattest.Suite{
		Format: Format{}, Codecs: []string{"none", "snappy", "deflate", "zstd"},
		Skip: []string{"TIMESTAMP(9)", "TIMESTAMP_LTZ(9)", "VARIANT"},
	})
}
