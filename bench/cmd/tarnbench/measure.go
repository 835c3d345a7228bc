package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/bench/process"
)

func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// timed runs f and gives its wall and processor time in seconds.
func timed(f func() error) (wall, cpuSeconds float64, err error) {
	t, c := time.Now(), process.CPU()
	err = f()
	return time.Since(t).Seconds(), (process.CPU() - c).Seconds(), err
}

// percentile as the Java kit takes it.
func percentile(v []float64, p float64) float64 {
	a := slices.Clone(v)
	slices.Sort(a)
	return a[min(len(a)-1, int(p/100*float64(len(a))))]
}

func median(v []float64) float64 {
	a := slices.Clone(v)
	slices.Sort(a)
	return (a[(len(a)-1)/2] + a[len(a)/2]) / 2
}

// warm drops the first of several passes.
func warm(v []float64) []float64 { return v[min(1, len(v)-1):] }

// result is the line that is printed, members in order.
type result struct {
	names  []string
	values []any
}

func (b *bench) result(mode string, rows int64, seconds float64) *result {
	r := &result{}
	r.add("impl", "tarn", "mode", mode, "rows", rows, "seconds", seconds, "rows_per_s", int64(float64(rows)/max(seconds, 1e-9)))
	return r
}

func (r *result) add(kv ...any) {
	for i := 0; i < len(kv); i += 2 {
		r.names, r.values = append(r.names, kv[i].(string)), append(r.values, kv[i+1])
	}
}

// addFiles adds what lies under a table.
func (r *result) addFiles(dir string) error {
	var all, data [2]int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[0] += info.Size()
		all[1]++
		if strings.HasPrefix(filepath.Base(filepath.Dir(path)), "bucket-") {
			data[0] += info.Size()
			data[1]++
		}
		return nil
	})
	r.add("bytes", all[0], "files", all[1], "data_bytes", data[0], "data_files", data[1])
	return err
}

// print writes the line.
func (b *bench) print(r *result) error {
	r.add("threads", b.threads(), "rss_mb", process.PeakMB())
	var out strings.Builder
	for i, name := range r.names {
		v, err := json.Marshal(r.values[i])
		if f, ok := r.values[i].(float64); ok {
			v = strconv.AppendFloat(nil, f, 'g', 6, 64)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, ",%q:%s", name, v)
	}
	fmt.Println("{" + out.String()[1:] + "}")
	return nil
}
