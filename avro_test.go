package tarn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/avro"
)

// Levels may have formats of their own: rows are merged across them, and compaction brings them into the other one.
func TestFormatsOfLevels(t *testing.T) {
	tab := declare(t, open(t), "d.t", "k! INT,v STRING,l ARRAY<ROW<n DECIMAL(20,3)>>", "", opts{
		"file.format.per.level": "0:avro", "file.compression.per.level": "0:snappy", "num-sorted-run.compaction-trigger": "10",
	})
	put(t, tab, []string{`[1,"a",[{"n":1.250}]]`, `[2,"b",null]`}, []string{`[2,"c",[null]]`, `[3,"d",[]]`})
	want := []string{`[1,"a",[{"n":"1.250"}]]`, `[2,"c",[null]]`, `[3,"d",[]]`}
	extensions := func(ext string) {
		t.Helper()
		names, err := tab.FileNames(t.Context())
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for n := range names {
			if filepath.Ext(n) != ext {
				t.Errorf("file %s, want %s", n, ext)
			}
		}
	}
	same(t, tab, "", "", want...)
	extensions(".avro")
	compact(t, tab)
	same(t, tab, "", "", want...)
	extensions(".parquet")
}

// A file that ends behind a block is a whole Avro file with fewer rows: the manifest tells that some are missing.
func TestCutAvroFile(t *testing.T) {
	c := open(t)
	tab := declare(t, c, "d.t", "k INT,v STRING", "", opts{"file.format": "avro", "file.compression": "null"})
	var in []string
	for i := range 10_000 {
		in = append(in, fmt.Sprintf(`[%d,"text number %d"]`, i, i))
	}
	put(t, tab, in)
	files, err := filepath.Glob(filepath.Join(tab.Path(), "bucket-0", "*.avro"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := avro.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocks.Skip(); err != nil || blocks.Offset() == int64(len(data)) {
		t.Fatalf("one block only, %v", err)
	}
	if err := os.WriteFile(files[0], data[:blocks.Offset()], 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := tab.Scan(tarn.ScanOptions{}).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = nil
	for _, e := range p.Batches(t.Context()) {
		err = e
	}
	if err == nil || !strings.Contains(err.Error(), "10000") || !strings.Contains(err.Error(), filepath.Base(files[0])) {
		t.Errorf("error %v", err)
	}
}

// What Avro files cannot hold is refused when the table is made or changed, not when rows come.
func TestColumnsThatAvroLacks(t *testing.T) {
	c := open(t)
	for _, col := range []string{"t TIMESTAMP(7)", "t TIMESTAMP_LTZ(9)", "t TIME(6)", "t VARIANT", "t ARRAY<TIMESTAMP(9)>", "t ROW<x MAP<INT,TIME(4)>>", "grüße INT"} {
		for _, o := range []opts{{"file.format": "avro"}, {"file.format.per.level": "0:avro"}, {"changelog-file.format": "avro", "changelog-producer": "input"}} {
			name, _, _ := strings.Cut(col, " ")
			_, err := c.CreateTable(t.Context(), "d.t", tableOf("k! INT,"+col, "", o))
			if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "avro") || !strings.Contains(err.Error(), "use ") {
				t.Errorf("%s, %v: %v", col, o, err)
			}
		}
	}
}
