package parquet

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Encoders are large, so that all files share them. One is taken for a page at a time.
var zstdEncoders [5]sync.Pool

// zstdSpeed maps a level of the reference library to one of ours that costs about the same.
func zstdSpeed(level int) zstd.EncoderLevel {
	switch {
	case level < 3:
		return zstd.SpeedFastest
	case level < 7:
		return zstd.SpeedDefault
	case level < 11:
		return zstd.SpeedBetterCompression
	}
	return zstd.SpeedBestCompression
}

func packZstd(dst, src []byte, level int) ([]byte, error) {
	speed := zstdSpeed(level)
	pool := &zstdEncoders[speed]
	e, _ := pool.Get().(*zstd.Encoder)
	if e == nil {
		var err error
		e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true))
		if err != nil {
			return nil, err
		}
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst), nil
}
