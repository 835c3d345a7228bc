package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tarnlake/tarn/types"
)

// noSpans compares statements without regard to where they stand.
var noSpans = cmp.Options{cmpopts.IgnoreTypes(Span{}), cmpopts.EquateEmpty()}

func one(t *testing.T, text string) Statement {
	t.Helper()
	s, err := Script(text)
	if err != nil {
		t.Fatalf("%s:\n%v", text, err)
	}
	if len(s) != 1 {
		t.Fatalf("%s: %d statements", text, len(s))
	}
	return s[0]
}

func ptr[T any](v T) *T { return &v }

func TestCreateTable(t *testing.T) {
	got := one(t, `CREATE TABLE IF NOT EXISTS shop.`+"`order``s`"+` (
		id BIGINT NOT NULL COMMENT 'the key', -- no key yet
		"Price" DECIMAL(10, 2) DEFAULT -1.50,
		tags ARRAY<STRING NOT NULL>, m MAP<STRING, ROW<a INT, b ARRAY<MAP<INT, DATE>>>> /* nested */,
		ts TIMESTAMP(3) NOT NULL DEFAULT TIMESTAMP '2024-01-01 00:00:00',
		tz TIMESTAMP WITH TIME ZONE,
		PRIMARY KEY (dt, id) NOT ENFORCED
	) COMMENT 'it''s' PARTITIONED BY (dt) WITH ('bucket' = '4', 'merge-engine'='deduplicate');`)
	str := types.Type{Kind: types.Varchar, Length: types.MaxLength}
	strNN := str
	strNN.NotNull = true
	want := &CreateTable{
		Name: TableName{Database: "shop", Table: "order`s"}, IfNotExists: true,
		Fields: []types.Field{
			{Name: "id", Type: types.Type{Kind: types.BigInt, NotNull: true}, Description: "the key"},
			{Name: "Price", Type: types.Type{Kind: types.Decimal, Precision: 10, Scale: 2}, Default: ptr("-1.50")},
			{Name: "tags", Type: types.Type{Kind: types.Array, Elem: &strNN}},
			{Name: "m", Type: types.Type{Kind: types.Map, Key: &str, Elem: &types.Type{Kind: types.Row, Fields: []types.Field{
				{Name: "a", Type: types.Type{Kind: types.Int}},
				{Name: "b", Type: types.Type{Kind: types.Array, Elem: &types.Type{Kind: types.Map, Key: &types.Type{Kind: types.Int}, Elem: &types.Type{Kind: types.Date}}}},
			}}}},
			{Name: "ts", Type: types.Type{Kind: types.Timestamp, Precision: 3, NotNull: true}, Default: ptr("2024-01-01 00:00:00")},
			{Name: "tz", Type: types.Type{Kind: types.TimestampLTZ, Precision: 6}},
		},
		PrimaryKey: []string{"dt", "id"}, PartitionedBy: []string{"dt"}, Comment: "it's",
		Options: []Option{{"bucket", "4"}, {"merge-engine", "deduplicate"}},
	}
	if d := cmp.Diff(want, got, noSpans); d != "" {
		t.Error(d)
	}
	ctas := one(t, `create table a.b primary key (x) with (bucket = 2) as select 1 as x from c.d`).(*CreateTable)
	if ctas.As == nil || ctas.As.Refs[0].Parts[1].Name != "d" || ctas.PrimaryKey[0] != "x" || ctas.Options[0] != (Option{"bucket", "2"}) {
		t.Errorf("%+v", ctas)
	}
	if like := one(t, `create table a like b.c`).(*CreateTable); like.Like.String() != "b.c" {
		t.Errorf("%+v", like)
	}
	inline := one(t, `create table a (id int primary key, v int[])`).(*CreateTable)
	if inline.PrimaryKey[0] != "id" || !inline.Fields[0].Type.NotNull || inline.Fields[1].Type.Kind != types.Array {
		t.Errorf("%+v", inline)
	}
}

func TestTypes(t *testing.T) {
	str := types.Type{Kind: types.Varchar, Length: types.MaxLength}
	bytes := types.Type{Kind: types.Varbinary, Length: types.MaxLength}
	integer := types.Type{Kind: types.Int}
	for text, want := range map[string]types.Type{
		"string": str, "TEXT": str, "varchar": str, "CHARACTER VARYING(3)": {Kind: types.Varchar, Length: 3},
		"BYTES": bytes, "blob": bytes, "BYTEA": bytes, "VARBINARY(7)": {Kind: types.Varbinary, Length: 7},
		"CHAR": {Kind: types.Char, Length: 1}, "BINARY(16)": {Kind: types.Binary, Length: 16},
		"integer": integer, "INT4": integer, "INT NOT NULL": {Kind: types.Int, NotNull: true},
		"DECIMAL": {Kind: types.Decimal, Precision: 10}, "NUMERIC(5)": {Kind: types.Decimal, Precision: 5}, "DEC(38,38)": {Kind: types.Decimal, Precision: 38, Scale: 38},
		"double precision": {Kind: types.Double}, "REAL": {Kind: types.Float},
		"TIME": {Kind: types.Time}, "TIME(3) WITHOUT TIME ZONE": {Kind: types.Time, Precision: 3},
		"TIMESTAMP": {Kind: types.Timestamp, Precision: 6}, "TIMESTAMP_NS": {Kind: types.Timestamp, Precision: 9}, "DATETIME": {Kind: types.Timestamp, Precision: 6},
		"TIMESTAMP(9) WITH LOCAL TIME ZONE": {Kind: types.TimestampLTZ, Precision: 9}, "TIMESTAMPTZ": {Kind: types.TimestampLTZ, Precision: 6}, "TIMESTAMP_LTZ(3)": {Kind: types.TimestampLTZ, Precision: 3},
		"INT[][]":                 {Kind: types.Array, Elem: &types.Type{Kind: types.Array, Elem: &integer}},
		"INT NOT NULL ARRAY":      {Kind: types.Array, Elem: &types.Type{Kind: types.Int, NotNull: true}},
		"MULTISET<INT>":           {Kind: types.Multiset, Elem: &integer},
		"MAP(VARCHAR, INTEGER)":   {Kind: types.Map, Key: &str, Elem: &integer},
		"STRUCT(a INT, b TEXT)":   {Kind: types.Row, Fields: []types.Field{{Name: "a", Type: integer}, {Name: "b", Type: str}}},
		"struct<a: int>":          {Kind: types.Row, Fields: []types.Field{{Name: "a", Type: integer}}},
		"ROW<a INT 'c', b INT>[]": {Kind: types.Array, Elem: &types.Type{Kind: types.Row, Fields: []types.Field{{Name: "a", Type: integer, Description: "c"}, {Name: "b", Type: integer}}}},
	} {
		got, err := Type(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	for text, want := range map[string]string{
		"UBIGINT":           "type UBIGINT is not supported",
		"uuid":              "type UUID is not supported",
		"vector<float, 3>":  "type VECTOR cannot be read or written yet",
		"INT[3]":            "arrays of a fixed size",
		"DECIMAL(39)":       "1 to 38 digits",
		"DECIMAL(3,4)":      "1 to 38 digits",
		"STRIN":             "unknown type STRIN",
		"ARRAY<INT":         "expected >, found the end",
		"CHAR(0)":           "at least 1",
		"TIMETZ":            "type TIMETZ is not supported",
		"ROW<a INT, a INT>": "member a is given twice",
	} {
		_, err := Type(text)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Msg, want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	_, err := Type("UBIGINT")
	if e := err.(*Error); e.Hint != "use DECIMAL(20, 0)" {
		t.Errorf("hint %q", e.Hint)
	}
	_, err = Type("STRIN")
	if e := err.(*Error); e.Hint != "did you mean STRING?" {
		t.Errorf("hint %q", e.Hint)
	}
}

func TestStatements(t *testing.T) {
	for _, c := range []struct {
		text string
		want Statement
	}{
		{`create schema if not exists a`, &CreateDatabase{Name: "a", IfNotExists: true}},
		{`drop database if exists a cascade`, &DropDatabase{Name: "a", IfExists: true, Cascade: true}},
		{`drop table a.b`, &DropTable{Names: []TableName{{Database: "a", Table: "b"}}}},
		{`DROP TABLE IF EXISTS a.b, "c,d" PURGE`, &DropTable{Names: []TableName{{Database: "a", Table: "b"}, {Table: "c,d"}}, IfExists: true}},
		{`truncate table b`, &Truncate{Name: TableName{Table: "b"}}},
		{`use a`, &Use{Database: "a"}},
		{`show tables in a like 'x%'`, &Show{What: ShowTables, Database: "a", Like: "x%"}},
		{`show create table a.b$branch_x`, &Show{What: ShowCreateTable, Table: TableName{Database: "a", Table: "b$branch_x"}}},
		{`desc extended t`, &Describe{Table: TableName{Table: "t"}, Extended: true}},
		{`call sys.expire_snapshots('a.b', retain_max => 5, dry => true)`, &Call{Name: "expire_snapshots", Args: []Arg{{Value: Literal{Kind: String, Text: "a.b"}}, {Name: "retain_max", Value: Literal{Kind: Number, Text: "5"}}, {Name: "dry", Value: Literal{Kind: Bool, Text: "true"}}}}},
		{`set 'a.b' = 'c'`, &Set{Key: "a.b", Value: "c"}},
		{`alter table t add column a.b int comment 'x' after c, drop d`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{
			{Kind: AddColumn, Path: []string{"a", "b"}, Field: types.Field{Name: "b", Type: types.Type{Kind: types.Int}, Description: "x"}, Place: Place{After: "c"}},
			{Kind: DropColumn, Path: []string{"d"}},
		}}},
		{`alter table t add (x int, y int first)`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{
			{Kind: AddColumn, Path: []string{"x"}, Field: types.Field{Name: "x", Type: types.Type{Kind: types.Int}}},
			{Kind: AddColumn, Path: []string{"y"}, Field: types.Field{Name: "y", Type: types.Type{Kind: types.Int}}, Place: Place{First: true}},
		}}},
		{`alter table t alter column a type bigint`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: ChangeType, Path: []string{"a"}, Field: types.Field{Name: "a", Type: types.Type{Kind: types.BigInt}}}}}},
		{`alter table t modify a bigint not null comment '' first`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: ModifyColumn, Path: []string{"a"}, HasComment: true, Field: types.Field{Name: "a", Type: types.Type{Kind: types.BigInt, NotNull: true}}, Place: Place{First: true}}}}},
		{`alter table t rename column a to b`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: RenameColumn, Path: []string{"a"}, To: "b"}}}},
		{`alter table t rename to d.u`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: RenameTable, Table: TableName{Database: "d", Table: "u"}}}}},
		{`alter table t set ('a'='b'), reset ('c')`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: SetOptions, Options: []Option{{"a", "b"}}}, {Kind: ResetOptions, Options: []Option{{Key: "c"}}}}}},
		{`alter table t alter a set default 5`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: SetDefault, Path: []string{"a"}, Value: Literal{Kind: Number, Text: "5"}}}}},
		{`alter table t alter a after b`, &AlterTable{Name: TableName{Table: "t"}, Actions: []Action{{Kind: MoveColumn, Path: []string{"a"}, Place: Place{After: "b"}}}}},
	} {
		if d := cmp.Diff(c.want, one(t, c.text), noSpans); d != "" {
			t.Errorf("%s:\n%s", c.text, d)
		}
	}
}

func TestDML(t *testing.T) {
	text := "INSERT OVERWRITE a.t PARTITION (dt = '2024', hr) (x, `y`) SELECT 1, `q` FROM a.s"
	i := one(t, text).(*Insert)
	if !i.Overwrite || len(i.Partition) != 2 || i.Partition[0].Value.Text != "2024" || i.Partition[1].Value != nil || len(i.Columns) != 2 {
		t.Errorf("%+v", i)
	}
	if got := i.Query.Rewrite(text, func(int) (string, bool) { return "r", true }); got != `SELECT 1, "q" FROM r AS "s"` {
		t.Error(got)
	}
	i = one(t, `insert into t (select * from u)`).(*Insert)
	if i.Columns != nil || len(i.Query.Refs) != 1 {
		t.Errorf("%+v", i)
	}
	text = "UPDATE a.t SET x = f(x, 2), y = CASE WHEN x IS DISTINCT FROM 1 THEN (SELECT max(z) FROM a.u) END WHERE a.t.x > 1"
	u := one(t, text).(*Update)
	if len(u.Set) != 2 || u.Set[1].Expr.Refs[0].Parts[1].Name != "u" {
		t.Errorf("%+v", u)
	}
	if got := u.Where.Rewrite(text, nil, u.Table); got != "t.x > 1" {
		t.Error(got)
	}
	d := one(t, `delete from t as k where k.x in (select x from u)`).(*Delete)
	if d.Alias != "k" || len(d.Where.Refs) != 1 {
		t.Errorf("%+v", d)
	}
	if d := one(t, `delete from t`).(*Delete); d.Where != nil {
		t.Errorf("%+v", d)
	}
}

func TestTableReferences(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`select * from t`, `select * from <t> AS "t"`},
		{`select t.a from db.t where db.t.b = 1 and other.t.b = 2`, `select t.a from <db.t> AS "t" where t.b = 1 and other.t.b = 2`},
		{`select * from t a, u b join v on f(a.x, b.y), "w w" as z where a in (1, 2)`, `select * from <t> a, <u> b join <v> AS "v" on f(a.x, b.y), <w w> as z where a in (1, 2)`},
		{"select `a``b` from `d`.`t$snapshots`", "select \"a`b\" from <d.t$snapshots> AS \"t$snapshots\""},
		{`with x as (select * from t), t as (select 1) select * from x, t, u`, `with x as (select * from <t> AS "t"), t as (select 1) select * from x, t, <u> AS "u"`},
		{`with recursive r(n) as (select 1 union all select n + 1 from r) select * from r`, `with recursive r(n) as (select 1 union all select n + 1 from r) select * from r`},
		{`with t as (select * from t) select * from t`, `with t as (select * from <t> AS "t") select * from t`},
		{`select extract(year from d), trim(both ' ' from s), substring(s from 2) from t`, `select extract(year from d), trim(both ' ' from s), substring(s from 2) from <t> AS "t"`},
		{`select a is not distinct from b from t`, `select a is not distinct from b from <t> AS "t"`},
		{`from t select a, b`, `from <t> AS "t" select a, b`},
		{`select (select max(x) from u where u.y = t.y) from t where exists (from v)`, `select (select max(x) from <u> AS "u" where u.y = t.y) from <t> AS "t" where exists (from <v> AS "v")`},
		{`select * from (t join u using (x)) cross join (select 1)`, `select * from (<t> AS "t" join <u> AS "u" using (x)) cross join (select 1)`},
		{`select * from range(10) r, read_parquet('x', y = [1, 2]), 'a.csv', t`, `select * from range(10) r, read_parquet('x', y = [1, 2]), 'a.csv', <t> AS "t"`},
		{`select * from z: t`, `select * from z: <t>`},
		{`table t union all table u`, `table <t> union all table <u>`},
		{`select * from t for system_time as of timestamp '2024-01-01 00:00:00' as x`, `select * from <t@1:2024-01-01 00:00:00> as x`},
		{`select * from t version as of 3, u for version as of 'tag' v`, `select * from <t@2:3> AS "t", <u@2:tag> v`},
		{`select * from t at (version => 2)`, `select * from <t@2:2> AS "t"`},
		{`select * from t /*+ OPTIONS('a'='b', 'c'='d') */ x`, `select * from <t[{a b} {c d}]> x`},
		{`select * from t /* FROM nothing */ -- from here` + "\n where 'from u' = ''", `select * from <t> AS "t" /* FROM nothing */ -- from here` + "\n where 'from u' = ''"},
		{`explain analyze select * from t`, `explain analyze select * from <t> AS "t"`},
		{`explain (format json) from t`, `explain (format json) from <t> AS "t"`},
		{`summarize t`, `summarize <t>`},
		{`copy (select * from t) to 'x.csv' (format csv)`, `copy (select * from <t> AS "t") to 'x.csv' (format csv)`},
		{`create temp table y as select * from t`, `create temp table y as select * from <t> AS "t"`},
		{`create view y(a) as select * from t`, `create view y(a) as select * from <t> AS "t"`},
		{`pivot t on a using sum(b)`, `pivot <t> AS "t" on a using sum(b)`},
		{`select [x for x in l], {'a': 1}, m['from'] from t`, `select [x for x in l], {'a': 1}, m['from'] from <t> AS "t"`},
		{`select a.b.c.d from t a order by 1, 2`, `select a.b.c.d from <t> a order by 1, 2`},
		{`select $$from u$$, $1, e'\'' from t`, `select $$from u$$, $1, e'\'' from <t> AS "t"`},
		{`pragma table_info('t')`, `pragma table_info('t')`},
		{`select * from t tablesample 10 percent`, `select * from <t> AS "t" tablesample 10 percent`},
		{`select * from a.b.c`, `select * from <a.b.c> AS "c"`},
		{`select ünï from t1 ö`, `select ünï from <t1> ö`},
	} {
		q := one(t, c.text).(*Query)
		got := q.Rewrite(c.text, func(i int) (string, bool) {
			r := q.Refs[i]
			var parts []string
			for _, p := range r.Parts {
				parts = append(parts, p.Name)
			}
			s := strings.Join(parts, ".")
			if r.At.Kind != Now {
				s += fmt.Sprintf("@%d:%s", r.At.Kind, r.At.Value.Text)
			}
			if r.Options != nil {
				s += fmt.Sprint(r.Options)
			}
			return "<" + s + ">", true
		})
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		if same := q.Rewrite(c.text, nil); len(q.Backquotes) == 0 && same != c.text {
			t.Errorf("%s: changed to %s", c.text, same)
		}
	}
}

func TestSplit(t *testing.T) {
	text := "select ';'; -- a;b\n;; use a /* ; */ ;\nselect 2"
	s, err := Script(text)
	if err != nil || len(s) != 3 {
		t.Fatal(s, err)
	}
	var got []string
	for _, x := range s {
		r := x.Range()
		got = append(got, text[r.Start:r.End])
	}
	if d := cmp.Diff([]string{"select ';'", "use a", "select 2"}, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]bool{"": true, "select 1": false, "select 1;": true, "select ';": false, "select 1; -- x": true, "select 1; select": false, "/* ;": false, "select \x00": true} {
		if got := Complete(text); got != want {
			t.Errorf("Complete(%q) = %v", text, got)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"CREATE TABLE t (a INT,\n  b STRIN,\n c INT)", "line 2, column 5: unknown type STRIN\n    b STRIN,\n      ^"},
		{"CREATE TABLE t", "line 1, column 15: expected the columns in parentheses, LIKE, or AS and a query, found the end of the statement\n  CREATE TABLE t\n                ^"},
		{"INSERT t VALUES (1)", "line 1, column 8: expected INTO or OVERWRITE, found t\n  INSERT t VALUES (1)\n         ^"},
		{"select 'abc", "line 1, column 8: this string does not end (' is missing)\n  select 'abc\n         ^"},
		{"select (1", "line 1, column 8: this '(' is not closed\n  select (1\n         ^"},
		{"select 1)", "line 1, column 9: this ')' closes nothing\n  select 1)\n          ^"},
		{"drop table a b", "line 1, column 14: expected the end of the statement, found b\n  drop table a b\n               ^"},
		{"create table t (a int, a int)", "line 1, column 24: column a is given twice\n  create table t (a int, a int)\n                         ^"},
		{"select * from t version as of x", "line 1, column 31: expected a snapshot's number or a tag's name in quotes, found x\n  select * from t version as of x\n                                ^"},
		{"update t set a = 1, a = 2", "line 1, column 21: column a is set twice\n  update t set a = 1, a = 2\n                      ^"},
		{"call f(a => 1, 2)", "line 1, column 16: an argument without a name cannot follow one with a name\n  call f(a => 1, 2)\n                 ^"},
		{"é\tdrop; drop table", "line 1, column 19: expected a table, found the end of the statement\n  é\tdrop; drop table\n   \t                ^"},
	} {
		_, err := Script(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := Script(strings.Repeat("(", 100000)); err == nil {
		t.Error("deep nesting passes")
	}
	if _, err := Type(strings.Repeat("ARRAY<", 100000)); err == nil {
		t.Error("a deep type passes")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"orders", "order_items", "customers"}
	for in, want := range map[string]string{"order": "orders", "ordres": "orders", "Customer": "customers", "xyz": "", "orderitems": "order_items"} {
		if got := Nearest(in, names); got != want {
			t.Errorf("Nearest(%s) = %q", in, got)
		}
	}
}

func FuzzScript(f *testing.F) {
	for _, s := range []string{
		"select * from a.b t, (select 1) where x = 'y'; use z",
		"create table t (a int, b map<int, row<c string>>, primary key (a)) partitioned by (b) with ('k'='v') as select 1",
		"alter table t add column a.b int after c, alter d type int, set ('a'='b')",
		"with a as (from b) insert", "/*+ OPTIONS('a'='b') */", "select `a`.`b`.`c` from `a`.`b` for version as of 1",
		"update t set a = (select 1 from u) where b", "delete from t where x", "$a$ $b$ $a$", "e'\\'' 0x1f 1_000.5e+3",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Script(text)
		if err != nil {
			e, ok := err.(*Error)
			if !ok || e.Pos < 0 || e.Pos > len(text) || e.Msg == "" {
				t.Fatalf("error %#v", err)
			}
			_ = e.Error()
			return
		}
		last := 0
		for _, s := range all {
			r := s.Range()
			if r.Start < last || r.End < r.Start || r.End > len(text) {
				t.Fatalf("span %v in %d bytes", r, len(text))
			}
			last = r.End
			if q, ok := s.(*Query); ok {
				if same := q.Rewrite(text, nil); len(q.Backquotes) == 0 && same != text[r.Start:r.End] {
					t.Fatalf("changed: %q", same)
				}
				q.Rewrite(text, func(int) (string, bool) { return "x", true })
			}
		}
		Complete(text)
	})
}
