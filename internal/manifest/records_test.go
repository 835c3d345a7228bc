package manifest

import (
	"bytes"
	"strings"
	"testing"
)

// Records have what the decoders that know the fields find, for files of every release.
func TestRecords(t *testing.T) {
	eachGolden(t, func(archive, name string, data []byte) {
		recs, err := Records(data)
		switch {
		case strings.HasPrefix(name, "manifest-list-"):
			metas, lerr := DecodeList(data)
			if lerr != nil {
				return // broken on purpose
			}
			if err != nil || len(recs) != len(metas) {
				t.Fatalf("%s: %s: %d records of %d, %v", archive, name, len(recs), len(metas), err)
			}
			for i, m := range metas {
				stats, _ := recs[i].Get("_PARTITION_STATS").(Record)
				if low, _ := stats.Get("_MIN_VALUES").([]byte); recs[i].Get("_FILE_NAME") != m.Name || recs[i].Get("_NUM_ADDED_FILES") != m.Added || !bytes.Equal(low, m.PartitionStats.Min) {
					t.Errorf("%s: %s: %v, want %+v", archive, name, recs[i], m)
				}
			}
		case strings.HasPrefix(name, "manifest-"):
			entries, derr := Decode(data, nil)
			if derr != nil {
				return
			}
			if err != nil || len(recs) != len(entries) {
				t.Fatalf("%s: %s: %d records of %d, %v", archive, name, len(recs), len(entries), err)
			}
			for i, e := range entries {
				f, _ := recs[i].Get("_FILE").(Record)
				if low, _ := f.Get("_MIN_KEY").([]byte); f.Get("_FILE_NAME") != e.File.Name || f.Get("_LEVEL") != int64(e.File.Level) || !bytes.Equal(low, e.File.MinKey) {
					t.Errorf("%s: %s: %v, want %+v", archive, name, recs[i], e)
				}
			}
		}
	})
}
