package parquet

import (
	"context"

	"github.com/tarnlake/tarn/internal/fileio"
)

// Portable tells whether other readers of Parquet find the same in a file: most refuse LZ4 in Hadoop's frames, which is
// what `file.compression = lz4` means, and take other digits, or other years, out of the timestamps of INT96.
func Portable(ctx context.Context, f fileio.File) (ok bool, err error) {
	defer guard(&err)
	m, err := readFooter(ctx, f)
	if err != nil {
		return false, err
	}
	for i := range m.rowGroups {
		for k := range m.rowGroups[i].columns {
			if m.rowGroups[i].columns[k].phys == physInt96 {
				return false, nil
			}
			switch codec(m.rowGroups[i].columns[k].codec) {
			case codecNone, codecSnappy, codecGzip, codecZstd, codecLZ4Raw:
			default:
				return false, nil
			}
		}
	}
	return true, nil
}
