package decode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/cdc/decode"
)

func TestCanalEvents(t *testing.T) {
	const tail = `,"database":"shop","table":"t","es":5,"ts":7,"isDdl":false,"pkNames":["id"],"sqlType":{"id":4},"id":9,"sql":"","mysqlType":{"id":"int","v":"varchar(10)"}`
	for _, c := range []struct{ value, want string }{
		{`{"data":[{"id":"1","v":"x"},{"id":"2","v":null}],"old":null,"type":"INSERT"` + tail + `}`, `rows shop.t @5 +I(!id="1" v="x") +I(!id="2" v=NULL)`},
		{`{"type":"UPDATE","data":[{"id":"1","v":"y"}],"old":[{"v":"x"}]` + tail + `}`, `rows shop.t @5 -U(!id="1" v="x") +U(!id="1" v="y")`},
		{`{"type":"UPDATE","data":[{"id":"1","v":"y"},{"id":"3","v":"z"}],"old":[{"id":"0","v":null},{"id":"2"}]` + tail + `}`, `rows shop.t @5 -U(!id="0" v=NULL) +U(!id="1" v="y") -U(!id="2" v="z") +U(!id="3" v="z")`},
		{`{"type":"UPDATE","data":[{"id":"1","v":"y"}],"old":null` + tail + `}`, `rows shop.t @5 +U(!id="1" v="y")`},
		{`{"type":"UPDATE","data":[{"id":"1","v":"y"}],"old":[null]` + tail + `}`, `rows shop.t @5 -U(!id="1" v="y") +U(!id="1" v="y")`},
		{`{"type":"DELETE","data":[{"id":"1","v":"y"}]` + tail + `}`, `rows shop.t @5 -D(!id="1" v="y")`},
		{`{"type":"INSERT","data":[{"v":"x","id":"1"}]` + tail + `}`, `rows shop.t @5 +I(!id="1" v="x")`},
		{`{"type":"INSERT","data":[{"id":"1"}]` + tail + `}`, `rows shop.t @5 +I(!id="1" v=NULL)`},
		{`{"type":"INSERT","data":[{"id":"1","v":"x","new":"n"}]` + tail + `}`, `rows shop.t @5 +I(!id="1" v="x" new="n")`},
		{`{"type":"INSERT","data":[{"ID":"1"}],"table":"t","pkNames":["id"],"mysqlType":{"ID":"int"}}`, `rows t +I(!ID="1")`},
		{`{"type":"ROW","data":[{"id":"1"}],"table":"t"}`, `rows t +I(id="1")`},
		{`{"type":"INSERT","data":[]` + tail + `}`, `skip `},
		{`{"type":"QUERY","data":null,"isDdl":false}`, `skip `},
		{`{"type":"CREATE","isDdl":true,"sql":"CREATE TABLE t (id INT)","database":"shop","table":"t","es":5}`, `ddl shop.t @5 "CREATE TABLE t (id INT)"`},
		{`{"type":"TRUNCATE","isDdl":true,"sql":"","database":"shop","table":"t","data":null}`, `ddl shop.t "TRUNCATE TABLE t"`},
		{`{"type":"TRUNCATE","database":"shop","table":"t","sql":null}`, `ddl shop.t "TRUNCATE TABLE t"`},
		{`{"type":"ALTER","isDdl":false,"database":"shop","table":"t","sql":"ALTER TABLE t ADD v INT","data":null}`, `ddl shop.t "ALTER TABLE t ADD v INT"`},
		{`{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK","es":5,"ts":7,"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,"_tidb":{"watermarkTs":1}}`, `skip `},
		{`null`, `skip `},
		{``, `skip `},
	} {
		d := decode.NewCanal(decode.Options{})
		for range 2 {
			ev, err := d.Decode(nil, []byte(c.value))
			if err != nil {
				t.Errorf("%s: %v", c.value, err)
				continue
			}
			if got := show(ev); got != c.want {
				t.Errorf("%s:\n got %s\nwant %s", c.value, got, c.want)
			}
		}
	}
}

// B015: the data of a DDL message is null, not absent; both are the same.
func TestCanalNullData(t *testing.T) {
	d := decode.NewCanal(decode.Options{})
	var got []string
	for _, m := range []string{
		`{"type":"INSERT","data":[{"id":"1"}],"isDdl":false,"table":"t","mysqlType":{"id":"int"},"pkNames":["id"]}`,
		`{"type":"ALTER","isDdl":true,"data":null,"old":null,"mysqlType":null,"sqlType":null,"pkNames":null,"sql":"ALTER TABLE t ADD v INT","table":"t"}`,
		`{"type":"ALTER","isDdl":true,"sql":"ALTER TABLE t ADD v INT","table":"t"}`,
		`{"type":"INSERT","data":[{"id":"2"}],"isDdl":false,"table":"t","mysqlType":{"id":"int"},"pkNames":["id"]}`,
	} {
		ev, err := d.Decode(nil, []byte(m))
		if err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		got = append(got, show(ev))
	}
	want := []string{`rows t +I(!id="1")`, `ddl t "ALTER TABLE t ADD v INT"`, `ddl t "ALTER TABLE t ADD v INT"`, `rows t +I(!id="2")`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The mapping of MySQL's types.
func TestCanalTypes(t *testing.T) {
	cases := [][2]string{
		{"INT", "INT"},
		{"int(11)", "INT"},
		{"INT unsigned", "BIGINT"},
		{"INT(8) unsigned zerofill", "BIGINT"},
		{"integer", "INT"},
		{"TINYINT", "TINYINT"},
		{"TINYINT(1)", "BOOLEAN"},
		{"tinyint(4)", "TINYINT"},
		{"TINYINT(2) unsigned", "SMALLINT"},
		{"TINYINT(1) unsigned", "SMALLINT"},
		{"SMALLINT", "SMALLINT"},
		{"smallint unsigned", "INT"},
		{"MEDIUMINT", "INT"},
		{"MEDIUMINT unsigned", "BIGINT"},
		{"BIGINT", "BIGINT"},
		{"BIGINT unsigned", "DECIMAL(20, 0)"},
		{"SERIAL", "DECIMAL(20, 0)"},
		{"YEAR", "INT"},
		{"year(4)", "INT"},
		{"BOOLEAN", "BOOLEAN"},
		{"bool", "BOOLEAN"},
		{"BIT", "BOOLEAN"},
		{"bit(1)", "BOOLEAN"},
		{"BIT(11)", "BINARY(2)"},
		{"BIT(64)", "BINARY(8)"},
		{"FLOAT", "FLOAT"},
		{"FLOAT(4) unsigned", "FLOAT"},
		{"DOUBLE PRECISION(10,7) unsigned zerofill", "DOUBLE"},
		{"REAL", "DOUBLE"},
		{"double", "DOUBLE"},
		{"DECIMAL(8, 0) unsigned", "DECIMAL(8, 0)"},
		{"NUMERIC(8,3)", "DECIMAL(8, 3)"},
		{"FIXED(40,3)", "STRING"},
		{"decimal", "DECIMAL(38, 18)"},
		{"decimal(5)", "DECIMAL(5, 0)"},
		{"DATE", "DATE"},
		{"TIME", "TIME(0)"},
		{"DATETIME", "TIMESTAMP(0)"},
		{"DATETIME(6)", "TIMESTAMP(6)"},
		{"TIMESTAMP(3)", "TIMESTAMP(3)"},
		{"CHAR(10)", "CHAR(10)"},
		{"VARCHAR(20)", "VARCHAR(20)"},
		{"varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "VARCHAR(20)"},
		{"char(3) charset latin1 NOT NULL DEFAULT 'x'", "CHAR(3)"},
		{"int(11) unsigned NOT NULL AUTO_INCREMENT", "BIGINT"},
		{"bigint unsigned DEFAULT 0 COMMENT 'n'", "DECIMAL(20, 0)"},
		{"binary", "BYTES"},
		{"TEXT", "STRING"},
		{"LONGTEXT", "STRING"},
		{"JSON", "STRING"},
		{"BINARY(10)", "VARBINARY(10)"},
		{"VARBINARY(20)", "VARBINARY(20)"},
		{"BLOB", "BYTES"},
		{"LONGBLOB", "BYTES"},
		{"ENUM('a','b')", "STRING"},
		{"SET('a','b')", "ARRAY<STRING>"},
		{"weird(3)", "?"},
		{"", "?"},
	}
	d := decode.NewCanal(decode.Options{})
	for _, c := range cases {
		ev, err := d.Decode(nil, []byte(`{"type":"INSERT","table":"t","data":[{"c":null}],"mysqlType":{"c":"`+c[0]+`"}}`))
		if err != nil {
			t.Errorf("%s: %v", c[0], err)
			continue
		}
		if got := columns(ev.Shape)[0]; got != "c "+c[1] {
			t.Errorf("%s is %s, want %s", c[0], got, c[1])
		}
	}
	o := decode.NewCanal(decode.Options{TinyInt1NotBool: true, ZonedAsLTZ: true})
	ev, err := o.Decode(nil, []byte(`{"type":"INSERT","table":"t","data":[{"a":null}],"mysqlType":{"a":"tinyint(1)","b":"timestamp(3)"}}`))
	if err != nil || !cmp.Equal(columns(ev.Shape), []string{"a TINYINT", "b TIMESTAMP(3) WITH LOCAL TIME ZONE"}) {
		t.Errorf("%v, %v", columns(ev.Shape), err)
	}
}

func TestCanalErrors(t *testing.T) {
	for _, c := range []struct {
		value  string
		reason decode.Reason
		want   string
	}{
		{`{"type":"INSERT","data":[{"id":"1"}`, decode.NotJSON, "cut off"},
		{`{"type":"INSERT","data":[{"id":"1"} {"id":"2"}]}`, decode.NotJSON, "comma"},
		{`{"type":"INSERT"}`, decode.Lacks, `"data" is missing`},
		{`{"type":"INSERT","data":null}`, decode.Lacks, `"data" is missing`},
		{`{"data":[{"id":"1"}]}`, decode.Lacks, `"type" is missing`},
		{`{"type":"INSERT","data":"x"}`, decode.WrongShape, "no list of rows"},
		{`{"type":"INSERT","data":[7]}`, decode.NotJSON, "something else than objects"},
		{`{"type":"UPSERT","data":[{"id":"1"}]}`, decode.WrongShape, `type is "UPSERT"`},
		{`{"type":"INSERT","data":[{}]}`, decode.WrongShape, "no columns"},
		{`{"type":"INSERT","data":[{"id":"1"},{"other":"2"}]}`, decode.WrongShape, "different columns"},
		{`{"type":"INSERT","data":[{"id":"1","id":"2"}]}`, decode.WrongShape, "comes twice"},
		{`{"type":"UPDATE","data":[{"id":"1"}],"old":[{"id":"1"},{"id":"2"}]}`, decode.WrongShape, `"old" has 2 rows`},
		{`{"type":"INSERT","data":[{"id":"1"}],"mysqlType":"int"}`, decode.WrongShape, "mysqlType"},
		{`{"type":"INSERT","data":[{"id":"1"}],"pkNames":"id"}`, decode.WrongShape, "pkNames"},
		{`{"type":"INSERT","data":[{"id":"1"}],"pkNames":["k"]}`, decode.Lacks, `no column "k"`},
		{`"x"`, decode.WrongShape, "no object"},
	} {
		_, err := decode.NewCanal(decode.Options{}).Decode(nil, []byte(c.value))
		var e *decode.Error
		if !errors.As(err, &e) || e.Reason != c.reason || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "canal-json: ") {
			t.Errorf("%s: %v, want %d with %q", c.value, err, c.reason, c.want)
		}
	}
}

func TestNew(t *testing.T) {
	for _, f := range decode.Formats() {
		if _, err := decode.New(f, decode.Options{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := decode.New("maxwell", decode.Options{}); err == nil || !strings.Contains(err.Error(), "canal-json, debezium-json") {
		t.Errorf("error %v", err)
	}
}
