package parquet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/format"
)

// settings are what options say of how a file is written.
type settings struct {
	limits
	codec codec
	level int
	block int64
	// dicts are the columns, by their paths, that have something else said of dictionaries than all.
	dicts map[string]bool
}

// settingsOf reads the options of the format's own, which have the names that they have in the reference's writer. Its size of
// row groups gives way to that of the table; those of pages are where a page ends, not what it may have at most.
func settingsOf(o format.WriteOptions) (settings, error) {
	s := settings{
		limits: limits{rows: defaultPageRows, bytes: defaultPageBytes, dict: true},
		level:  max(o.CompressionLevel, 1), block: defaultBlockSize, dicts: map[string]bool{},
	}
	var err error
	if name, ok := o.Options["parquet.compression"]; !ok {
		s.codec, err = codecByName(o.Compression)
	} else if s.codec, err = codecByName(name); err != nil {
		err = fmt.Errorf("option parquet.compression: %w", err)
	}
	number := func(key string, set func(n int)) {
		text, ok := o.Options[key]
		if !ok || err != nil {
			return
		}
		n, e := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if e != nil || n <= 0 {
			err = fmt.Errorf("option %s=%q is no number from 1 to %d", key, text, 1<<31-1)
			return
		}
		set(int(n))
	}
	number("parquet.block.size", func(n int) { s.block = int64(n) })
	number("parquet.page.size", func(n int) { s.bytes = n })
	number("parquet.page.row.count.limit", func(n int) { s.rows = n })
	number("parquet.compression.codec.zstd.level", func(n int) { s.level = n })
	if o.BlockSize > 0 {
		s.block = o.BlockSize
	}
	for name, text := range o.Options {
		key, column, one := strings.Cut(name, "#")
		if key != "parquet.enable.dictionary" {
			continue
		}
		on, e := strconv.ParseBool(strings.ToLower(strings.TrimSpace(text)))
		switch {
		case e != nil:
			err = fmt.Errorf("option %s=%q is neither true nor false", name, text)
		case one:
			s.dicts[column] = on
		default:
			s.dict = on
		}
	}
	return s, err
}
