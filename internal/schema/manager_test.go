package schema

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/types"
)

func create(t *testing.T, m *Manager, d Definition) *Schema {
	t.Helper()
	s, err := Create(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Commit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRacingChanges: shards add the same columns at the same time (BUGS B070). Ids of schemas are without
// holes, each column is there once, and a record that brings nothing new makes no schema.
func TestRacingChanges(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	create(t, NewManager(mem, "w/t"), Definition{Fields: fields("k INT"), PrimaryKeys: []string{"k"}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			m := NewManager(mem, "w/t")
			for i := range 5 {
				add := AddColumn{Path: []string{fmt.Sprintf("c%d", i)}, Type: types.MustParse("ROW<x INT>")}
				if _, err := m.Apply(t.Context(), []Change{add}, ApplyOptions{Idempotent: true}); err != nil {
					t.Error(err)
				}
			}
			for range 1000 / 4 {
				if _, err := m.Apply(t.Context(), []Change{SetOption{"a", "b"}, UpdateComment{"x"}}, ApplyOptions{Idempotent: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	m := NewManager(mem, "w/t")
	ids, err := m.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if int64(i) != id {
			t.Errorf("schema numbers %v have holes", ids)
			break
		}
	}
	if len(ids) != 1+5+1 {
		t.Errorf("%d schemas, want 7", len(ids))
	}
	s, err := m.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	seen := map[int]string{}
	for _, f := range s.Fields {
		got = append(got, f.Name)
	}
	slices.Sort(got)
	if strings.Join(got, " ") != "c0 c1 c2 c3 c4 k" {
		t.Errorf("columns %v", got)
	}
	if err := checkIDs(seen, "", s.Fields); err != nil || s.HighestFieldID != 10 {
		t.Errorf("ids: %v, highest %d", err, s.HighestFieldID)
	}
}

// TestOneWins: of racing changes that exclude each other one is done, the other is told why.
func TestOneWins(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	create(t, NewManager(mem, "w/t"), Definition{Fields: fields("k INT", "v INT")})
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = NewManager(mem, "w/t").Apply(t.Context(), []Change{RenameColumn{[]string{"v"}, fmt.Sprint("v", i)}}, ApplyOptions{})
		})
	}
	wg.Wait()
	done := 0
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case !strings.Contains(err.Error(), "does not exist"):
			t.Error(err)
		}
	}
	if ids, err := NewManager(mem, "w/t").List(t.Context()); done != 1 || len(ids) != 2 || err != nil {
		t.Errorf("%d done, schemas %v, %v", done, ids, err)
	}
}

// lostAnswer writes and then says that it does not know whether it did.
type lostAnswer struct{ fileio.FS }

func (l lostAnswer) PutIfAbsent(ctx context.Context, path string, data []byte) error {
	if err := l.FS.PutIfAbsent(ctx, path, data); err != nil {
		return err
	}
	return errors.New("connection reset")
}

func TestUnknownOutcome(t *testing.T) {
	m := NewManager(lostAnswer{fileio.NewMem(fileio.MemOptions{})}, "w/t")
	create(t, m, Definition{Fields: fields("k INT")})
	s, err := m.Apply(t.Context(), []Change{AddColumn{Path: []string{"a"}, Type: types.IntType}}, ApplyOptions{})
	if err != nil || s.ID != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestManagerErrors(t *testing.T) {
	mem := fileio.NewMem(fileio.MemOptions{})
	m := NewManager(mem, "w/t")
	if _, err := m.Latest(t.Context()); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("no table: %v", err)
	}
	if _, err := m.Get(t.Context(), 3); !errors.Is(err, iofs.ErrNotExist) || !strings.Contains(err.Error(), "w/t/schema/schema-3") {
		t.Errorf("no schema: %v", err)
	}
	s := create(t, m, Definition{Fields: fields("k INT")})
	if err := m.Commit(t.Context(), s); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("twice: %v", err)
	}
	for name, text := range map[string]string{"schema-1": "{", "schema-x": "", "schema-2": `{"id":9,"fields":[],"highestFieldId":-1,"partitionKeys":[],"primaryKeys":[],"options":{}}`, "LATEST": "1"} {
		if err := mem.Put(t.Context(), "w/t/schema/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Get(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "schema-1") {
		t.Errorf("damaged: %v", err)
	}
	if _, err := m.Get(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "number 9") {
		t.Errorf("wrong number: %v", err)
	}
	if ids, err := m.List(t.Context()); err != nil || !slices.Equal(ids, []int64{0, 1, 2}) {
		t.Errorf("list: %v, %v", ids, err)
	}
}

// TestAltered is BUGS B069: options follow a rename, places are kept, the comment survives a change of
// type, keys are not changed.
func TestAltered(t *testing.T) {
	f := fields("k INT", "s INT", "v INT")
	f[2].Description = "the sum"
	s, err := Create(Definition{Fields: f, PrimaryKeys: []string{"k"}, Options: map[string]string{
		"bucket": "1", "merge-engine": "aggregation", "sequence.field": "s", "fields.v.aggregate-function": "sum", "bucket-key": "k",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err = s.Apply([]Change{
		RenameColumn{[]string{"s"}, "s2"},
		RenameColumn{[]string{"v"}, "w"},
		AddColumn{Path: []string{"x"}, Type: types.IntType, Place: Place{After: "k"}},
		UpdateType{Path: []string{"w"}, Type: types.BigIntType},
	}, ApplyOptions{HasSnapshots: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := columnNames(s.Fields); got != "k, x, s2, w" {
		t.Errorf("columns %s", got)
	}
	if w, _ := s.Field("w"); w.Description != "the sum" || w.Type.Kind != types.BigInt || w.ID != 2 {
		t.Errorf("w is %v", w)
	}
	if o := s.Options; o["sequence.field"] != "s2" || o["fields.w.aggregate-function"] != "sum" || o["fields.v.aggregate-function"] != "" || o["bucket-key"] != "k" {
		t.Errorf("options %v", o)
	}
	for part, c := range map[string]Change{
		"primary key":    UpdateType{Path: []string{"k"}, Type: types.StringType},
		"NOT NULL":       UpdateNullability{Path: []string{"w"}, NotNull: true},
		"drop":           DropColumn{[]string{"k"}},
		"no column":      DropColumn{[]string{"s2"}},
		"cannot be made": UpdateType{Path: []string{"w"}, Type: types.BigIntType.AsNotNull(), SetNullability: true},
		"k, x, s2, w":    AddColumn{Path: []string{"y"}, Type: types.IntType, Place: Place{After: "nope"}},
	} {
		if _, err := s.Apply([]Change{c}, ApplyOptions{}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%T: got %v, want an error with %q", c, err, part)
		}
	}
}

// TestNamesInOptions is BUGS B023: names in lists are trimmed, and a name that does not exist is told.
func TestNamesInOptions(t *testing.T) {
	s, err := Create(Definition{Fields: fields("k1 INT", "k2 INT", "a INT", "b INT"), Options: map[string]string{
		"primary-key": " k1 , k2", "sequence.field": "a, b", "bucket": "1",
	}})
	if err != nil || strings.Join(s.PrimaryKeys, "|") != "k1|k2" || s.Options["primary-key"] != "" {
		t.Fatalf("got %v, %v", s, err)
	}
	_, err = Create(Definition{Fields: fields("k INT"), Options: map[string]string{"primary-key": "k", "sequence.field": "k, nope"}})
	if err == nil || !strings.Contains(err.Error(), `"nope"`) {
		t.Errorf("got %v", err)
	}
}

// TestAggregatesOutsideOfGroups is BUGS B019.
func TestAggregatesOutsideOfGroups(t *testing.T) {
	d := Definition{Fields: fields("k INT", "s INT", "v INT"), PrimaryKeys: []string{"k"}, Options: map[string]string{"merge-engine": "partial-update"}}
	d.Options["fields.v.aggregate-function"] = "max"
	if _, err := Create(d); err == nil || !strings.Contains(err.Error(), `"v"`) {
		t.Errorf("got %v", err)
	}
	d.Options["fields.s.sequence-group"] = "v"
	d.Options["fields.default-aggregate-function"] = "sum"
	if _, err := Create(d); err != nil {
		t.Error(err)
	}
}

// TestKeysInGroups is BUGS B106.
func TestKeysInGroups(t *testing.T) {
	for _, o := range []map[string]string{{"fields.k.sequence-group": "v"}, {"fields.s.sequence-group": "v,k"}} {
		o["merge-engine"] = "partial-update"
		_, err := Create(Definition{Fields: fields("k INT", "s INT", "v INT"), PrimaryKeys: []string{"k"}, Options: o})
		if err == nil || !strings.Contains(err.Error(), `"k" is in the primary key`) {
			t.Errorf("%v: got %v", o, err)
		}
	}
}

// TestAllFaultsAtOnce: whoever makes a table hears of everything that is wrong.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Create(Definition{
		Fields: fields("k INT", "_ROW_ID INT", "b BLOB", "d INT"), PrimaryKeys: []string{"nope"},
		Options: map[string]string{"merge-engine": "magic", "bucket": "two"},
	})
	for _, part := range []string{"_ROW_ID", "BLOB", `"nope"`, "deduplicate, partial-update", "bucket"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("nothing about %s in: %v", part, err)
		}
	}
}

// TestOldFaultsStay: a table that somebody made otherwise can still be changed.
func TestOldFaultsStay(t *testing.T) {
	s, err := Decode([]byte(`{"version":3,"id":0,"fields":[{"id":0,"name":"k","type":"INT"},{"id":1,"name":"b","type":"BLOB"}],"highestFieldId":1,"partitionKeys":[],"primaryKeys":[],"options":{"merge-engine":"magic"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.Apply([]Change{SetOption{"x", "y"}}, ApplyOptions{}); err != nil || s.Options["x"] != "y" {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := s.Apply([]Change{SetOption{"sequence.field", "nope"}}, ApplyOptions{}); err == nil {
		t.Error("a new fault was taken")
	}
}

// Options by which files were written cannot be reset once there are some, whether they are set or not: it would be a
// change of their value, or is meant as one.
func TestResetOfFixedOptions(t *testing.T) {
	s, err := Create(Definition{Fields: fields("k INT", "ts TIMESTAMP(3)"), Options: map[string]string{
		"bucket": "-1", "deletion-vectors.enabled": "true", "record-level.time-field": "ts", "record-level.expire-time": "1 d", "num-levels": "4",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for key, refused := range map[string]bool{
		"bucket": true, "bucket-key": true, "merge-engine": true, "rowkind.field": true, "primary-key": true, "partition": true, "data-file.path-directory": true,
		"deletion-vectors.enabled": true, "num-levels": false, "sequence.field": false, "file.format": false, "unknown": false, "record-level.expire-time": false,
	} {
		if _, err := s.Apply([]Change{ResetOption{key}}, ApplyOptions{HasSnapshots: true}); (err != nil) != refused {
			t.Errorf("reset of %s: %v, want it refused: %t", key, err, refused)
		}
		if _, err := s.Apply([]Change{ResetOption{key}}, ApplyOptions{}); err != nil {
			t.Errorf("reset of %s without snapshots: %v", key, err)
		}
	}
	for _, typ := range []string{"DATE", "STRING"} {
		if _, err := s.Apply([]Change{UpdateType{Path: []string{"ts"}, Type: types.MustParse(typ)}}, ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "record-level.time-field") {
			t.Errorf("time field of %s: %v", typ, err)
		}
	}
}

func TestIdempotent(t *testing.T) {
	s, err := Create(Definition{Fields: fields("k INT", "v INT")})
	if err != nil {
		t.Fatal(err)
	}
	o := ApplyOptions{Idempotent: true}
	for _, c := range []Change{
		AddColumn{Path: []string{"v"}, Type: types.IntType},
		DropColumn{[]string{"gone"}},
		RenameColumn{[]string{"u"}, "v"},
		UpdateType{Path: []string{"v"}, Type: types.IntType},
		ResetOption{"x"},
		MoveColumn{"k", Place{First: true}},
	} {
		if next, err := s.Apply([]Change{c}, o); err != nil || next != s {
			t.Errorf("%T%v: %v, %v", c, c, next, err)
		}
	}
	if _, err := s.Apply([]Change{AddColumn{Path: []string{"v"}, Type: types.StringType}}, o); err == nil || !strings.Contains(err.Error(), "INT") {
		t.Errorf("another type: %v", err)
	}
}
