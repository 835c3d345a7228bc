package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/cdc"
)

// A job by flags is the job that a file describes, in all members.
func TestFlagsAreTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(`
name: shop
source: {type: files, path: "in/*.jsonl", format: canal-json, follow: true, time-zone: Asia/Shanghai, tables: ["a.*", b], exclude: ["x,y"], events: 7, seed: 3}
sink:
  warehouse: lake
  table: "ods.pre_{table}_post"
  primary-key: {orders: [id, line]}
  partition-by: [dt]
  computed: {dt: "date_format(created, 'yyyy-MM-dd')"}
  options: {bucket: 4}
  case-sensitive: false
  catalog: {s3.endpoint: "http://x"}
types: {"tinyint(1)": tinyint}
schema-changes: ignore
checkpoint: {every: 2s, rows: 9, bytes: 64MB}
on-error: {dead-letter: bad.jsonl}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	want, err := cdc.LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(nil, nil, nil)
	a.warehouse, a.catalog = "lake", []string{"s3.endpoint=http://x"}
	cmd := &cobra.Command{}
	o := newJobFlags(cmd)
	if err := cmd.ParseFlags([]string{
		"--name=shop", "--path=in/*.jsonl", "--format=canal-json", "--follow", "--time-zone=Asia/Shanghai", "--tables=a.*", "--tables=b", "--exclude=x,y", "--events=7", "--seed=3",
		"--table=ods.{table}", "--prefix=pre_", "--suffix=_post", "--primary-key=orders=id,line", "--partition-by=dt", "--computed=dt=date_format(created, 'yyyy-MM-dd')", "--option=bucket=4", "--case-sensitive=false",
		"--type=tinyint(1)=tinyint", "--schema-changes=ignore", "--checkpoint-every=2s", "--checkpoint-rows=9", "--checkpoint-bytes=64MB", "--on-error=dead-letter=bad.jsonl",
	}); err != nil {
		t.Fatal(err)
	}
	got, err := a.job(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-file +flags):\n%s", d)
	}
	var empty func(path string, v reflect.Value)
	empty = func(path string, v reflect.Value) { // the file above has them all
		for i := range v.NumField() {
			f, name := v.Field(i), path+v.Type().Field(i).Name
			switch {
			case f.Kind() == reflect.Struct && v.Type().Field(i).Tag.Get("yaml") != "" && f.Type().PkgPath() != "" && f.Type() != reflect.TypeFor[cdc.Columns]() && f.Type() != reflect.TypeFor[cdc.OnError]():
				empty(name+".", f)
			case f.IsZero():
				t.Errorf("the test leaves %s out", name)
			}
		}
	}
	empty("", reflect.ValueOf(*want))
}
