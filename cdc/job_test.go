package cdc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/cdc/source/demo"
)

func config(t testing.TB, text string, args ...any) *cdc.Config {
	t.Helper()
	c, err := cdc.ParseConfig(fmt.Appendf(nil, text, args...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// latest gives the newest checkpoint of a job.
func latest(t testing.TB, wh, name string) *tarn.Checkpoint {
	t.Helper()
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	job, err := cat.OpenJob(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	ck, err := job.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ck
}

func demoConfig(t testing.TB, wh string, rows int) *cdc.Config {
	return config(t, `
name: shop
source: {type: demo}
sink: {warehouse: %q, table: "ods.{table}", options: {bucket: 2}}
checkpoint: {every: 1h, rows: %d}
`, wh, rows)
}

func verify(t *testing.T, wh string, s *demo.Source) {
	t.Helper()
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Shop().Verify(t.Context(), cat, func(n string) string { return "ods." + n })
	if err != nil {
		t.Fatal(err)
	}
	if len(res) != 5 {
		t.Errorf("%d tables", len(res))
	}
	for _, r := range res {
		if len(r.Differences) > 0 || r.Rows == 0 {
			t.Errorf("%s, %d rows: %s", r.Table, r.Rows, strings.Join(r.Differences, "; "))
		}
		tab, err := cat.Table(t.Context(), r.Table)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := tab.Check(t.Context()); err != nil || len(c.Problems) > 0 {
			t.Errorf("%s: check: %+v, %v", r.Table, c, err)
		}
	}
}

// The whole shop arrives, schema changes and shards included.
func TestWholeShop(t *testing.T) {
	wh := t.TempDir()
	src := demo.NewSource(1, 30000)
	sum, err := cdc.Run(t.Context(), demoConfig(t, wh, 5000), cdc.RunOptions{Source: src, NoSync: true})
	if err != nil || len(sum.FailedTables) > 0 {
		t.Fatal(err, sum)
	}
	verify(t, wh, src)
}

// stopping ends with an error after some fetches, as a process that dies.
type stopping struct {
	source.Source
	left int
}

var errDied = errors.New("died")

func (s *stopping) Fetch(ctx context.Context) ([]decode.Event, error) {
	if s.left--; s.left < 0 {
		return nil, errDied
	}
	return s.Source.Fetch(ctx)
}

// A job that dies again and again loses nothing and doubles nothing.
func TestDiesAndGoesOn(t *testing.T) {
	wh := t.TempDir()
	for n := 0; ; n++ {
		src := demo.NewSource(2, 20000)
		_, err := cdc.Run(t.Context(), demoConfig(t, wh, 2000), cdc.RunOptions{Source: &stopping{src, 7}, NoSync: true})
		if errors.Is(err, errDied) {
			if n > 100 {
				t.Fatal("makes no progress")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if n < 3 {
			t.Errorf("died %d times only", n)
		}
		verify(t, wh, src)
		return
	}
}

// A checkpoint is due when the events since the last one have so many bytes.
func TestCheckpointByBytes(t *testing.T) {
	message := insertOf(`{"id":"int"}`, `{"id":"1"}`)
	list := []any{}
	for range 12 {
		list = append(list, message)
	}
	c := config(t, "name: b\nsource: {type: demo}\nsink: {warehouse: %q}\ncheckpoint: {every: 1h, bytes: %d b}\n", t.TempDir(), 3*len(message))
	sum, err := cdc.Run(t.Context(), c, cdc.RunOptions{Source: &steps{decoder: decode.NewCanal(decode.Options{}), list: list}, NoSync: true})
	if err != nil || sum.Checkpoint != 3 {
		t.Errorf("checkpoint %d, %v: want 3, the fourth", sum.Checkpoint, err)
	}
}

func runFile(t *testing.T, wh, extra, text string) (*cdc.Summary, error) {
	t.Helper()
	c := config(t, `
name: f
source: {type: files, path: "-", format: debezium-json}
sink: {warehouse: %q, table: "l.{table}"}
%s`, wh, extra)
	return cdc.Run(t.Context(), c, cdc.RunOptions{Stdin: bytes.NewReader([]byte(text)), NoSync: true})
}

func event(table, op, row string) string {
	key, side := "after", "before"
	if op == "d" {
		key, side = "before", "after"
	}
	return fmt.Sprintf(`{%q:%s,%q:null,"op":%q,"source":{"db":"s","table":%q,"ts_ms":1}}`, key, row, side, op, table) + "\n"
}

// One table whose types clash is set aside; the others go on.
func TestBadTableIsSetAside(t *testing.T) {
	wh := t.TempDir()
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.CreateDatabase(t.Context(), "l", nil); err != nil {
		t.Fatal(err)
	}
	sum, err := runFile(t, wh, "", event("a", "c", `{"id":1}`)+event("b", "c", `{"id":2}`))
	if err != nil || len(sum.FailedTables) != 0 {
		t.Fatal(err, sum)
	}
	tab, err := cat.Table(t.Context(), "l.a")
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Alter(t.Context(), tarn.UpdateType{Path: []string{"id"}, Type: mustType("INT")}); err != nil {
		t.Fatal(err)
	}
	sum, err = runFile(t, wh, "", event("a", "c", `{"id":1}`)+event("b", "c", `{"id":2}`)+event("a", "c", `{"id":"x"}`)+event("b", "c", `{"id":3}`))
	if err != nil {
		t.Fatal(err)
	}
	if e := sum.FailedTables["l.a"]; e == nil || !strings.Contains(e.Error(), "column id") {
		t.Errorf("failed tables %v", sum.FailedTables)
	}
	n := 0
	tab, err = cat.Table(t.Context(), "l.b")
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range tab.Scan(tarn.ScanOptions{}).Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n += int(b.NumRows())
	}
	if n != 2 {
		t.Errorf("table b has %d rows, want 2: events already taken are counted off, and none is lost", n)
	}
}

// What cannot be understood goes where the job says.
func TestOnError(t *testing.T) {
	bad := event("a", "c", `{"id":1}`) + "{nonsense\n" + event("a", "c", `{"id":2}`)
	if _, err := runFile(t, t.TempDir(), "", bad); err == nil || !strings.Contains(err.Error(), "-:2") {
		t.Errorf("fail: %v", err)
	}
	if sum, err := runFile(t, t.TempDir(), "on-error: skip", bad); err != nil || sum.Skipped != 1 || sum.Rows != 2 {
		t.Errorf("skip: %v %+v", err, sum)
	}
	file := filepath.Join(t.TempDir(), "dead.jsonl")
	if _, err := runFile(t, t.TempDir(), "on-error: {dead-letter: "+file+"}", bad); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "{nonsense") {
		t.Errorf("dead letters %s, %v", b, err)
	}
	// Bytes that are no text are kept as they came.
	raw := event("a", "c", "{\"id\":1,\"v\":\"\xff\xfe\"}")
	file = filepath.Join(t.TempDir(), "dead.jsonl")
	if _, err := runFile(t, t.TempDir(), "on-error: {dead-letter: "+file+"}", raw); err != nil {
		t.Fatal(err)
	}
	var letter struct{ EventBase64 []byte }
	if b, err := os.ReadFile(file); err != nil || json.Unmarshal(b, &letter) != nil || string(letter.EventBase64)+"\n" != raw {
		t.Errorf("dead letters %s, %v", b, err)
	}
}

// A table that failed goes on where it stopped when the job can go on; the others neither lose nor double a row, and
// all tables stay known to the job.
func TestFailedTableGoesOn(t *testing.T) {
	wh := t.TempDir()
	c := func(more string) *cdc.Config {
		return config(t, "name: g\nsource: {type: files, path: \"-\", format: canal-json}\nsink: {warehouse: %q}\n"+more, wh)
	}
	row := func(table, v string) string {
		return fmt.Sprintf(`{"database":"s","table":%q,"type":"INSERT","pkNames":null,"data":[{"v":%q}],"mysqlType":{"v":"int"}}`, table, v) + "\n"
	}
	in := row("a", "1") + row("b", "1") + row("c", "1")
	run := func(more, text string) *cdc.Summary {
		t.Helper()
		sum, err := cdc.Run(t.Context(), c(more), cdc.RunOptions{Stdin: strings.NewReader(text), NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	statuses := func() string {
		var out []string
		for _, s := range latest(t, wh, "g").Tables {
			out = append(out, s.Table+" "+string(s.Status))
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	run("", in)
	in += row("b", "2") + row("a", "2") + row("a", "none") + row("b", "3") + row("a", "3")
	for range 2 {
		if sum := run("", in); len(sum.FailedTables) != 1 || sum.FailedTables["s.a"] == nil {
			t.Fatal(sum.FailedTables)
		}
		if got, want := statuses(), "s.a failed, s.b , s.c "; got != want {
			t.Errorf("tables %s, want %s", got, want)
		}
		want(t, wh, "s.b", `{"v":1}`, `{"v":2}`, `{"v":3}`)
	}
	in += row("b", "4")
	if sum := run("on-error: skip", in); len(sum.FailedTables) > 0 || sum.Skipped != 1 {
		t.Error(sum)
	}
	want(t, wh, "s.a", `{"v":1}`, `{"v":2}`, `{"v":3}`)
	want(t, wh, "s.b", `{"v":1}`, `{"v":2}`, `{"v":3}`, `{"v":4}`)
	want(t, wh, "s.c", `{"v":1}`)
	if got, want := statuses(), "s.a , s.b , s.c "; got != want {
		t.Errorf("tables %s, want %s", got, want)
	}
}

// A job that was reset keeps no snapshots from expiry under the name that it had.
func TestReset(t *testing.T) {
	wh := t.TempDir()
	in := event("a", "c", `{"id":1}`) + event("b", "c", `{"id":2}`)
	if _, err := runFile(t, wh, "", in); err != nil {
		t.Fatal(err)
	}
	cat, err := tarn.Open(t.Context(), wh, nil)
	if err != nil {
		t.Fatal(err)
	}
	consumers := func() int {
		n := 0
		for _, name := range []string{"l.a", "l.b"} {
			c, err := table(t, wh, name).Consumers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n += len(c)
		}
		return n
	}
	if n := consumers(); n != 2 {
		t.Errorf("%d consumers", n)
	}
	old, now, err := cdc.Reset(t.Context(), cat, "f")
	if err != nil || old == now || consumers() != 0 {
		t.Errorf("%s, %s, %v; %d consumers are left", old, now, err, consumers())
	}
	if sum, err := runFile(t, wh, "", in); err != nil || sum.Rows != 2 || consumers() != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
}
