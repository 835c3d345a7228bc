package options

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What values have to be where they are set: see Option.fresh.

// Formats of data files that the format has; other packages say which of them are there.
var dataFormats = []string{"parquet", "orc", "avro"}

// Compressions that files are written with, in all their spellings.
var (
	ParquetCompressions  = []string{"none", "uncompressed", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "zst"}
	ManifestCompressions = []string{"none", "null", "uncompressed", "snappy", "deflate", "zstd", "zstandard"}
	SpillCompressions    = []string{"none", "lz4", "zstd"}
)

func among(words []string) func(Options, string) error {
	return func(_ Options, s string) error {
		if !slices.Contains(words, strings.ToLower(s)) {
			return fmt.Errorf("%q is not known; there are %s", s, strings.Join(words, ", "))
		}
		return nil
	}
}

// parquetCompression leaves compressions of other formats to them.
func parquetCompression(o Options, s string) error {
	if !strings.EqualFold(FileFormat.Get(o), "parquet") {
		return nil
	}
	return among(ParquetCompressions)(o, s)
}

// perLevel checks the values of an option of levels.
func perLevel(check func(Options, string) error) func(Options, string) error {
	return func(o Options, s string) error {
		m, err := levels(s)
		if err != nil {
			return err
		}
		for _, v := range m {
			if err := check(o, v); err != nil {
				return err
			}
		}
		return nil
	}
}

// number bounds the values of a number.
func number(least, most int64) func(Options, string) error {
	return func(_ Options, s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err != nil:
			return err
		case n < least:
			return fmt.Errorf("%d is less than %d", n, least)
		case n > most:
			return fmt.Errorf("%d is more than %d", n, most)
		}
		return nil
	}
}

func least(n int64) func(Options, string) error { return number(n, math.MaxInt64) }

func share(_ Options, s string) error {
	if x, err := strconv.ParseFloat(s, 64); err != nil || !(x > 0 && x <= 1) {
		return fmt.Errorf("%q is no number above 0 and at most 1", s)
	}
	return nil
}

var release = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)

func isRelease(_ Options, s string) error {
	if !release.MatchString(s) {
		return fmt.Errorf("%q is no release of the format; one is written as 0.8 or 1.4", s)
	}
	return nil
}

// fileStart is for what names of files start with.
func fileStart(_ Options, s string) error {
	if strings.ContainsAny(s, `/\`) || strings.HasPrefix(s, ".") {
		return fmt.Errorf("%q would lead files into other folders, or hide them: take letters, digits, - and _", s)
	}
	return pathPart(s)
}

// below parses a folder below the table, "" if it is the table's own. One that leads out of it is never taken.
func below(s string) (string, error) {
	if strings.HasPrefix(s, "/") || strings.ContainsAny(s, `\:`) {
		return "", fmt.Errorf("%q is no folder below that of the table: name it without / at its start", s)
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "." || part == ".." {
			return "", fmt.Errorf("%q leads out of the folder of the table", s)
		}
		if err := pathPart(part); err != nil {
			return "", err
		}
	}
	return s, nil
}

// longestPart is what file systems take for one name, less what is put behind it.
// maxLevels is one more than the highest level of a file.
const maxLevels = 1 << 16

const longestPart = 160

func pathPart(s string) error {
	switch {
	case !utf8.ValidString(s):
		return fmt.Errorf("%q is not UTF-8", s)
	case len(s) > longestPart:
		return fmt.Errorf("%.20q… has %d bytes; %d are the most for names of files", s, len(s), longestPart)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%q contains the control character %U", s, r)
		}
	}
	return nil
}

// statsMode is a mode of statistics: none, counts, full or truncate(n).
func statsMode(_ Options, s string) error {
	switch s = strings.ToLower(s); s {
	case "none", "counts", "full":
		return nil
	}
	if rest, ok := strings.CutPrefix(s, "truncate("); ok {
		rest, ok = strings.CutSuffix(rest, ")")
		if n, err := strconv.Atoi(strings.TrimSpace(rest)); ok && err == nil && n > 0 {
			return nil
		}
	}
	return fmt.Errorf("%q is not known; there are none, counts, truncate(n), full", s)
}
