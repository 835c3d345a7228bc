package tarn_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// Types that are put together by hand are looked at before they get into a schema file: nobody could open
// the table any more.
func TestTypesThatAreNone(t *testing.T) {
	ctx := t.Context()
	deep := types.IntType
	for range 200 {
		deep = types.ArrayType(deep)
	}
	for _, bad := range []types.Type{
		{},
		{Kind: 200},
		types.DecimalType(39, 0), types.DecimalType(3, 4), types.DecimalType(0, 0), types.CharType(0), types.VarcharType(-1),
		types.BinaryType(0), types.TimestampType(10), types.TimeType(-1), types.TimestampLTZType(10),
		{Kind: types.Array},
		{Kind: types.Map},
		{Kind: types.Map, Key: &types.IntType},
		{Kind: types.Multiset},
		types.ArrayType(types.Type{}), types.MapType(types.IntType, types.CharType(0)),
		types.RowType(types.Field{Name: "x", Type: types.DecimalType(99, 0)}), deep,
	} {
		c := open(t)
		_, err := c.CreateTable(ctx, "d.new", tarn.TableDef{Fields: []types.Field{{Name: "a", Type: bad}}})
		if !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("create with kind %v: %v", bad.Kind, err)
		}
		if names, err := c.Tables(ctx, "d"); err != nil || len(names) > 0 {
			t.Errorf("kind %v: %v, %v", bad.Kind, names, err)
		}
		tab, err := c.CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT", "r", "ROW<x INT>")})
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []tarn.SchemaChange{
			tarn.AddColumn{Path: []string{"a"}, Type: bad}, tarn.AddColumn{Path: []string{"r", "y"}, Type: bad}, tarn.UpdateType{Path: []string{"id"}, Type: bad},
		} {
			if err := tab.Alter(ctx, change); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("%T with kind %v: %v", change, bad.Kind, err)
			}
			if err := tab.Evolve(ctx, change); !errors.Is(err, tarn.ErrInvalid) {
				t.Errorf("%T with kind %v: %v", change, bad.Kind, err)
			}
		}
		if _, err := c.Table(ctx, "d.t"); err != nil {
			t.Errorf("kind %v: %v", bad.Kind, err)
		}
	}
}

// Wrong arguments are errors that can be told apart, not panics.
func TestWrongArguments(t *testing.T) {
	ctx := t.Context()
	c := open(t)
	tab, err := c.CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("id", "INT", "v", "STRING"), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tarn.SnapshotJSON(nil)); got != "null" {
		t.Error(got)
	}
	write(t, tab, []string{`{"id":1,"v":"a"}`})
	plan, err := tab.Scan(tarn.ScanOptions{}).Plan(ctx)
	if err != nil {
		t.Fatal(err)
	}
	scan := func(p predicate.Predicate) func() error {
		return func() error { _, err := tab.Scan(tarn.ScanOptions{Filter: p}).Plan(ctx); return err }
	}
	part := func(i int, cols ...string) func() error {
		return func() error { _, err := plan.OpenPart(ctx, i, cols).Next(ctx); return err }
	}
	with := func(k, v string) func() error {
		return func() error {
			o, err := tab.With(ctx, map[string]string{k: v})
			if err != nil {
				return err
			}
			_, err = o.Scan(tarn.ScanOptions{}).Plan(ctx)
			return err
		}
	}
	batch := rows(t, tab, `{"id":1,"v":"a"}`)
	if err := tab.CreateTag(ctx, "there", 0); err != nil {
		t.Fatal(err)
	}
	for i, x := range []struct {
		call func() error
		want error
	}{
		{scan((*predicate.Leaf)(nil)), tarn.ErrInvalid},
		{scan((*predicate.And)(nil)), tarn.ErrInvalid},
		{scan((*predicate.Or)(nil)), tarn.ErrInvalid},
		{scan((*predicate.Not)(nil)), tarn.ErrInvalid},
		{scan(predicate.Any(predicate.Equal("id", 1), nil)), tarn.ErrInvalid},
		{scan(predicate.Negate(nil)), tarn.ErrInvalid},
		{scan(predicate.All(nil, predicate.Negate(predicate.Any(nil)))), tarn.ErrInvalid},
		{scan(predicate.All(nil, predicate.Equal("id", 1))), nil},
		{scan(&predicate.Leaf{}), tarn.ErrInvalid},
		{part(-1), tarn.ErrInvalid},
		{part(1), tarn.ErrInvalid},
		{part(0, "nope"), tarn.ErrNotExist},
		{func() error { _, err := tarn.TakeRows(nil, nil); return err }, tarn.ErrInvalid},
		{func() error { _, err := tarn.TakeRows(batch.RecordBatch, []int32{1}); return err }, tarn.ErrInvalid},
		{func() error { _, err := tarn.TakeRows(batch.RecordBatch, []int32{-1}); return err }, tarn.ErrInvalid},
		{func() error { return tab.Alter(ctx, nil) }, tarn.ErrInvalid},
		{func() error { return tab.Alter(ctx, (*tarn.DropColumn)(nil)) }, tarn.ErrInvalid},
		{with("branch", "../../../x"), tarn.ErrInvalid},
		{with("branch", "nope"), tarn.ErrNotExist},
		{with("scan.version", "1abc"), tarn.ErrNotExist},
		{with("scan.version", "there"), nil},
		{with("scan.version", "1"), nil},
		{func() error { _, err := tarn.OpenTable(ctx, tab.Path()+"$branch_../../../d.db/t", nil); return err }, tarn.ErrInvalid},
		{func() error { _, err := c.Table(ctx, "d.t$nope"); return err }, tarn.ErrUnsupported},
		{func() error { _, err := c.Table(ctx, "d.t$statistics"); return err }, tarn.ErrUnsupported},
		{func() error { _, err := c.Table(ctx, "d.none$nope"); return err }, tarn.ErrNotExist},
		{func() error { return tab.CreateTag(ctx, "../x", 0) }, tarn.ErrInvalid},
		{func() error { return tab.CreateTag(ctx, "there", 0) }, tarn.ErrExist},
		{func() error { return tab.CreateTag(ctx, "x", 9) }, tarn.ErrNotExist},
		{func() error { return tab.DeleteTag(ctx, "nope") }, tarn.ErrNotExist},
		{func() error { return tab.PutConsumer(ctx, "../x", 1) }, tarn.ErrInvalid},
		{func() error { _, err := tab.SnapshotAt(ctx, 9); return err }, tarn.ErrNotExist},
		{func() error { return c.CreateDatabase(ctx, "a/b", nil) }, tarn.ErrInvalid},
		{func() error {
			_, err := c.CreateTable(ctx, "d.a/b", tarn.TableDef{Fields: fields("a", "INT")})
			return err
		}, tarn.ErrInvalid},
		{func() error { return c.RenameTable(ctx, "d.t", "d._hidden") }, tarn.ErrInvalid},
	} {
		if err := x.call(); !errors.Is(err, x.want) || x.want == nil && err != nil {
			t.Errorf("call %d: %v, want %v", i, err, x.want)
		}
	}
}

// Parts have the columns that are asked for, in that order; all if none are named.
func TestPartColumns(t *testing.T) {
	ctx := t.Context()
	tab := keyed(t, "STRING")
	write(t, tab, []string{`{"id":1,"v":"a"}`, `{"id":2,"v":"b"}`})
	plan, err := tab.Scan(tarn.ScanOptions{}).Plan(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ ask, want []string }{{nil, []string{"id", "v"}}, {[]string{}, nil}, {[]string{"v"}, []string{"v"}}, {[]string{"v", "id"}, []string{"v", "id"}}} {
		r := plan.OpenPart(ctx, 0, x.ask)
		b, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range b.Schema().Fields() {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, x.want) || b.NumRows() != 2 {
			t.Errorf("%v: %v, %d rows", x.ask, got, b.NumRows())
		}
		if _, err := r.Next(ctx); !errors.Is(err, io.EOF) {
			t.Errorf("%v: %v", x.ask, fmt.Sprint(err))
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Text that a schema file, which is JSON, would hold as other text is refused wherever it stands.
func TestTextThatIsNone(t *testing.T) {
	ctx := t.Context()
	c := open(t)
	const bad = "a\xff"
	field := func(name, comment string, typ types.Type) tarn.TableDef {
		return tarn.TableDef{Fields: []types.Field{{Name: name, Type: typ, Description: comment}}}
	}
	for name, def := range map[string]tarn.TableDef{
		"column":         field(bad, "", types.IntType),
		"column comment": field("a", bad, types.IntType),
		"part":           field("a", "", types.RowType(types.Field{Name: bad, Type: types.IntType})),
		"comment":        {Fields: fields("a", "INT"), Comment: bad},
		"option":         {Fields: fields("a", "INT"), Options: map[string]string{"my.own": bad}},
	} {
		if _, err := c.CreateTable(ctx, "d.new", def); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), `"a\xff"`) || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
	tab, err := c.CreateTable(ctx, "d.t", tarn.TableDef{Fields: fields("a", "INT")})
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range []tarn.SchemaChange{
		tarn.AddColumn{Path: []string{bad}, Type: types.IntType},
		tarn.RenameColumn{Path: []string{"a"}, To: bad},
		tarn.UpdateComment{Comment: bad},
		tarn.UpdateColumnComment{Path: []string{"a"}, Comment: bad},
	} {
		if err := tab.Alter(ctx, ch); !errors.Is(err, tarn.ErrInvalid) {
			t.Errorf("%T: %v", ch, err)
		}
	}
}
