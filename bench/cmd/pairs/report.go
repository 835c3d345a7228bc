package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// goal is what a ratio has to be, what is aimed at, and the most memory in MB. 0 is none.
type goal struct {
	must, aim float64
	memory    float64
}

// value takes the figure that is compared from a line.
type value struct {
	of   func(line) float64
	unit string
}

func field(name, unit string) value {
	return value{func(l line) float64 { return l.num(name) }, unit}
}

// perRow is processor time for each of the rows that a member counts.
func perRow(rows string) value {
	return value{func(l line) float64 { return l.num("cpu_s") * 1e9 / l.num(rows) }, "CPU ns/row"}
}

// row is one row of the report.
type row struct {
	name, peer, unit      string
	java, tarn            float64
	ratio, low, high      float64
	must, aim             float64
	aimAbs                float64 // what tarn's figure should be at most
	wallJava, wallTarn    float64
	bytesJava, bytesTarn  float64
	memJava, memTarn, mem float64
	limit                 float64 // growth: tarn's figure must be at most
}

func median(v []float64) float64 {
	a := slices.Clone(v)
	slices.Sort(a)
	return (a[(len(a)-1)/2] + a[len(a)/2]) / 2
}

func each(l []line, f func(line) float64) []float64 {
	v := make([]float64, len(l))
	for i := range l {
		v[i] = f(l[i])
	}
	return v
}

// ratios adds a row of two sides that ran in pairs: its ratio is the median of the pairs' ratios.
func (r *runner) ratios(name string, g goal, j, t []line, v value) *row {
	q := make([]float64, len(j))
	for i := range q {
		q[i] = v.of(j[i]) / v.of(t[i])
	}
	num := func(l []line, name string) float64 {
		return median(each(l, func(l line) float64 { return l.num(name) }))
	}
	r.out = append(r.out, row{
		name: name, peer: "Java", unit: v.unit, java: median(each(j, v.of)), tarn: median(each(t, v.of)),
		ratio: median(q), low: slices.Min(q), high: slices.Max(q), must: g.must, aim: g.aim,
		wallJava: num(j, "seconds"), wallTarn: num(t, "seconds"),
		memJava: num(j, "rss_mb"), memTarn: num(t, "rss_mb"), mem: g.memory,
	})
	return &r.out[len(r.out)-1]
}

// growth adds a row of how much slower the last hundred commits are than the second hundred.
func (r *runner) growth(name string, j, t []line) {
	v := value{func(l line) float64 { return l.num("last100_p50_ms") / l.num("second100_p50_ms") }, "last/second 100"}
	x := r.ratios(name, goal{}, j, t, v)
	x.limit, x.aimAbs = 1.3, 1.1
}

func (x *row) aimValue(most float64) { x.aimAbs = most }

func (x *row) bytes(name string, j, t []line) {
	x.bytesJava = median(each(j, func(l line) float64 { return l.num(name) }))
	x.bytesTarn = median(each(t, func(l line) float64 { return l.num(name) }))
}

// verdict says which of the goals are met.
func (x *row) verdict() string {
	var miss []string
	note := func(bad bool, what string) {
		if bad {
			miss = append(miss, what)
		}
	}
	note(x.must > 0 && x.ratio < x.must, "must")
	note(x.limit > 0 && x.tarn > x.limit, "must")
	note(x.mem > 0 && x.memTarn > x.mem, "memory")
	note(x.bytesJava > 0 && x.bytesTarn > 1.05*x.bytesJava, "size")
	switch {
	case len(miss) > 0:
		return "MISS " + strings.Join(miss, ", ")
	case x.aim > 0 && x.ratio < x.aim, x.aimAbs > 0 && x.tarn > x.aimAbs:
		return "ok, below aim"
	case x.must == 0 && x.limit == 0:
		return ""
	}
	return "ok"
}

func short(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

func arrow(a, b float64) string {
	if a == 0 && b == 0 {
		return ""
	}
	return short(a) + " → " + short(b)
}

// print writes rows as a table of Markdown.
func (r *runner) print(w io.Writer, rows []row) {
	fmt.Fprintln(w, "| part | unit | peer | tarn | peer / tarn (range) | must | aim | | wall s | files MB | peak MB (limit) |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for i := range rows {
		x := &rows[i]
		must, aim := short(x.must), short(x.aim)
		if x.limit > 0 {
			must = "≤ " + short(x.limit)
		}
		if x.aimAbs > 0 {
			aim = "≤ " + short(x.aimAbs)
		}
		mem := arrow(x.memJava, x.memTarn)
		if x.mem > 0 {
			mem += " (" + short(x.mem) + ")"
		}
		fmt.Fprintf(w, "| %s | %s | %s %s | %s | **%s** (%s–%s) | %s | %s | %s | %s | %s | %s |\n", x.name, x.unit, x.peer, short(x.java), short(x.tarn),
			short(x.ratio), short(x.low), short(x.high), must, aim, x.verdict(),
			arrow(x.wallJava, x.wallTarn), arrow(x.bytesJava/1e6, x.bytesTarn/1e6), mem)
	}
}
