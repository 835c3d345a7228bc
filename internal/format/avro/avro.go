// Package avro reads and writes Avro data files as the reference implementation lays them out: rows one after the other,
// every nullable value a union of null and its type.
package avro

import (
	"fmt"
	"strings"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/internal/format"
)

// Format is the Avro format. The zero value is ready for use.
type Format struct{}

var _ format.Format = Format{}

// Name is "avro".
func (Format) Name() string { return "avro" }

// guard turns a panic over a broken file into an error: nothing a file holds may end the process.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("avro: the file is broken in a way that was not foreseen: %v", p)
	}
}

// codecOf chooses how blocks are compressed: avro.codec, which has Avro's own names, is stronger than file.compression.
func codecOf(o format.WriteOptions) (avro.Codec, error) {
	option, name := "file.compression", o.Compression
	if own, ok := o.Options["avro.codec"]; ok {
		option, name = "avro.codec", own
	}
	switch strings.ToLower(name) {
	case "", "zstd", "zstandard":
		return avro.Codec{Name: "zstandard", Level: max(o.CompressionLevel, 1)}, nil
	case "none", "null", "uncompressed":
		return avro.Codec{Name: "null"}, nil
	case "snappy", "deflate":
		return avro.Codec{Name: strings.ToLower(name)}, nil
	}
	return avro.Codec{}, fmt.Errorf("avro: option %s=%q: Avro files are compressed by zstd, snappy, deflate or null", option, name)
}
