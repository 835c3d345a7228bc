package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/types"
)

// TestFlink lets Flink and tarn work on the same tables.
func TestFlink(t *testing.T) {
	t.Parallel()
	if !enginesWanted(t) {
		return
	}
	l := newEngineLake(t, "flink", nil)
	l.share()
	l.follow()
}

// TestSpark lets Spark and tarn work on the same tables, which stay as releases up to 0.9 read them.
func TestSpark(t *testing.T) {
	t.Parallel()
	if !enginesWanted(t) {
		return
	}
	l := newEngineLake(t, "spark", map[string]string{"tarn.write-version": "0.8"})
	l.share()
}

// share writes tables here, lets the engine read, write and change them, and goes on with what it left.
func (l *engineLake) share() {
	t, ctx := l.t, l.t.Context()
	all := allTypes(l.engine)
	columns := []types.Field{
		{Name: "p", Type: types.MustParse("STRING NOT NULL")},
		{Name: "k", Type: types.MustParse("INT NOT NULL")},
		{Name: "v", Type: types.MustParse("INT")},
		{Name: "s", Type: types.MustParse("STRING")},
	}
	l.create("types", all, nil, nil, nil)
	l.create("keyed", all, []string{"k"}, nil, map[string]string{"bucket": "2"})
	l.create("parts", columns, []string{"p", "k"}, []string{"p"}, map[string]string{"bucket": "1", "sequence.field": "v"})
	l.create("growing", columns, []string{"p", "k"}, nil, map[string]string{"bucket": "-1", "dynamic-bucket.target-row-num": "3"})
	l.create("evolved", columns, []string{"k"}, nil, map[string]string{"bucket": "1"})
	l.create("queue", columns, nil, []string{"p"}, map[string]string{"bucket": "2", "bucket-key": "k"})
	l.write("types", sampleRows(all, 0, 10)...)
	l.write("keyed", sampleRows(all, 0, 10)...)
	l.write("keyed", sampleRows(all, 15, 20)...)
	l.write("keyed", row{kind: "-D", object: sampleRows(all, 3, 4)[0].object})
	for _, name := range []string{"parts", "growing", "queue"} {
		l.write(name, row{object: `{"p":"a","k":1,"v":5,"s":"first"}`}, row{object: `{"p":"a","k":2,"v":1,"s":null}`}, row{object: `{"p":"b/ü=1","k":1,"v":7,"s":"x"}`}, row{object: `{"p":"b/ü=1","k":2,"v":8,"s":"y"}`})
	}
	l.write("parts", row{object: `{"p":"a","k":1,"v":3,"s":"too late"}`}, row{object: `{"p":"a","k":3,"v":3,"s":"new"}`})
	l.write("evolved", row{object: `{"p":"a","k":1,"v":5,"s":"old"}`}, row{object: `{"p":"b","k":2,"v":6,"s":"gone"}`})
	l.alter("evolved",
		tarn.AddColumn{Path: []string{"n"}, Type: types.MustParse("DOUBLE")}, tarn.RenameColumn{Path: []string{"s"}, To: "text"}, tarn.DropColumn{Path: []string{"p"}},
		tarn.UpdateType{Path: []string{"v"}, Type: types.MustParse("BIGINT")}, tarn.AddColumn{Path: []string{"p"}, Type: types.MustParse("INT")})
	l.write("evolved", row{object: `{"k":2,"v":6000000000,"text":"new","n":0.5,"p":1}`}, row{object: `{"k":3,"v":null,"text":null,"n":null,"p":null}`})

	tables := []string{"types", "keyed", "parts", "growing", "evolved", "queue"}
	before := map[string][]string{}
	var ask []string
	for _, name := range tables {
		before[name] = ourRows(t, l.table(name))
		ask = append(ask, "SELECT * FROM d."+name)
	}
	rest := columnList(all[1:])
	change := []string{
		"INSERT INTO d.types SELECT * FROM d.types",
		"INSERT INTO d.keyed SELECT k + 100, " + rest + " FROM d.keyed WHERE k <> 5",
		"INSERT INTO d.parts VALUES ('a', 1, 9, 'theirs'), ('c', 1, 1, 'theirs'), ('b/ü=1', 1, 1, 'too late')",
		"INSERT INTO d.growing SELECT p, k + 10, v, s FROM d.growing",
		"INSERT INTO d.growing VALUES ('a', 1, 6, 'theirs')",
		"INSERT INTO d.queue VALUES ('z', 7, 7, 'theirs')",
		"DELETE FROM d.growing WHERE p = 'a' AND k = 12",
		"UPDATE d.parts SET s = 'updated', v = 20 WHERE k = 3",
	}
	if l.engine == "flink" {
		var columns []string
		for _, f := range all {
			columns = append(columns, f.Name+" "+f.Type.String())
		}
		change = append(change, "ALTER TABLE d.evolved ADD (late STRING)", "CREATE TABLE d.copied ("+strings.Join(columns, ", ")+", PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '2')",
			"INSERT INTO d.copied SELECT * FROM d.keyed")
	} else {
		change = append(change, "ALTER TABLE d.evolved ADD COLUMNS (late STRING)", "CREATE TABLE d.copied TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2') AS SELECT * FROM d.keyed")
	}
	results := runSQL(t, l.engine, l.warehouse, nil, slices.Concat(ask, change)...)
	for i, name := range tables {
		if theirs := queried(t, results, ask[i]); !slices.Equal(theirs, before[name]) {
			t.Errorf("%s, written by tarn: %s reads\n%s\nnot\n%s", name, l.engine, strings.Join(theirs, "\n"), strings.Join(before[name], "\n"))
		}
	}

	// What it wrote is read here, changed here, and read by it again.
	want := map[string][]string{"types": slices.Concat(before["types"], before["types"])}
	slices.Sort(want["types"])
	if got := ourRows(t, l.table("types")); !slices.Equal(got, want["types"]) {
		t.Errorf("types, written by %s:\n%s\nnot\n%s", l.engine, strings.Join(got, "\n"), strings.Join(want["types"], "\n"))
	}
	if got, want := ourRows(t, l.table("copied")), ourRows(t, l.table("keyed")); !slices.Equal(got, want) || len(got) != 14+13 {
		t.Errorf("copied by %s: %d rows\n%s\nnot\n%s", l.engine, len(got), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	parts := []string{`["a",1,9,"theirs"]`, `["a",2,1,null]`, `["a",3,20,"updated"]`, `["b/ü=1",1,7,"x"]`, `["b/ü=1",2,8,"y"]`, `["c",1,1,"theirs"]`}
	if got := ourRows(t, l.table("parts")); !slices.Equal(got, parts) {
		t.Errorf("parts, changed by %s: %q", l.engine, got)
	}
	l.write("evolved", row{object: `{"k":1,"v":1,"text":"ours","n":null,"p":9,"late":"é"}`})
	l.write("copied", sampleRows(all, 500, 503)...)
	l.write("growing", row{object: `{"p":"a","k":11,"v":0,"s":"ours"}`}, row{kind: "-D", object: `{"p":"a","k":2,"v":0,"s":null}`})
	l.write("keyed", sampleRows(all, 104, 107)...)
	for _, name := range []string{"keyed", "parts", "growing", "evolved"} {
		if _, err := l.table(name).Compact(ctx, tarn.CompactOptions{Full: true}); err != nil {
			t.Errorf("compact %s: %v", name, err)
		}
	}
	tables = append(tables, "copied")
	ask = append(ask, "SELECT * FROM d.copied")
	results = runSQL(t, l.engine, l.warehouse, nil, ask...)
	for i, name := range tables {
		l.agree(name+", at the end", results, ask[i], name)
		r, err := l.table(name).Check(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Problems {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func columnList(fields []types.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// follow lets the engine read the changes of a table of ours as a stream.
func (l *engineLake) follow() {
	t := l.t
	columns := []types.Field{{Name: "k", Type: types.MustParse("INT NOT NULL")}, {Name: "v", Type: types.MustParse("STRING")}}
	l.create("told", columns, []string{"k"}, nil, map[string]string{"bucket": "1", "changelog-producer": "input"})
	l.write("told", row{object: `{"k":1,"v":"a"}`}, row{object: `{"k":2,"v":"b"}`})
	l.write("told", row{kind: "-U", object: `{"k":1,"v":"a"}`}, row{kind: "+U", object: `{"k":1,"v":"A"}`}, row{kind: "-D", object: `{"k":2,"v":"b"}`})
	query := "SELECT * FROM d.told /*+ OPTIONS('scan.mode'='from-snapshot', 'scan.snapshot-id'='1') */"
	audit := "SELECT * FROM d.`told$audit_log`"
	results := runSQL(t, l.engine, l.warehouse, []string{"--streaming", "--rows", "5", "--timeout", "60"}, query)
	if got, want := queried(t, results, query), []string{`+I[1,"a"]`, `+I[2,"b"]`, `+U[1,"A"]`, `-D[2,"b"]`, `-U[1,"a"]`}; !slices.Equal(got, want) {
		t.Errorf("the changes that %s reads: %q", l.engine, got)
	}
	results = runSQL(t, l.engine, l.warehouse, nil, audit)
	ours, err := l.cat.Table(t.Context(), "d.told$audit_log")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := queried(t, results, audit), ourRows(t, ours); !slices.Equal(got, want) {
		t.Errorf("$audit_log: %s reads %q, tarn %q", l.engine, got, want)
	}
}
