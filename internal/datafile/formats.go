package datafile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/format"
	"github.com/tarnlake/tarn/internal/format/avro"
	"github.com/tarnlake/tarn/internal/format/parquet"
)

// formats are the file formats known. A new one is a package and a line here.
var formats = []format.Format{
	parquet.Format{},
	avro.Format{},
}

// known but not read or written yet, to say so by name.
var laterFormats = []string{"orc"}

// ErrFormat is the error of a file whose format cannot be read or written.
var ErrFormat = errors.New("file format is not supported")

// FormatByName finds a format by its identifier.
func FormatByName(name string) (format.Format, error) {
	var names []string
	for _, f := range formats {
		if f.Name() == strings.ToLower(name) {
			return f, nil
		}
		names = append(names, f.Name())
	}
	if slices.Contains(laterFormats, strings.ToLower(name)) {
		return nil, fmt.Errorf("%w: %s files are not supported yet (supported: %s)", ErrFormat, name, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%w: unknown format %q (supported: %s)", ErrFormat, name, strings.Join(names, ", "))
}

// formatOf finds the format of a data file by its extension.
func formatOf(file string) (format.Format, error) {
	return FormatByName(file[strings.LastIndexByte(file, '.')+1:])
}

// wrapRead names the file in an error of reading; io.EOF stays what it is.
func wrapRead(path string, err error) error {
	if err == io.EOF {
		return err
	}
	return fmt.Errorf("datafile: read %s: %w", path, err)
}
