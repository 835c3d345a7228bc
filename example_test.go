package tarn_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

// A table with a primary key is made, written twice and read: the newer row of a key wins. README.md
// shows the middle of it.
func Example() {
	dir, err := os.MkdirTemp("", "lake")
	must(err)
	defer os.RemoveAll(dir)

	ctx := context.Background()
	cat, err := tarn.Open(ctx, dir, nil)
	must(err)
	must(cat.CreateDatabase(ctx, "shop", nil))
	fields := []types.Field{{Name: "id", Type: types.MustParse("BIGINT")}, {Name: "status", Type: types.MustParse("STRING")}}
	t, err := cat.CreateTable(ctx, "shop.orders", tarn.TableDef{Fields: fields, PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2"}})
	must(err)
	w, err := t.NewWriter(ctx, nil)
	must(err)
	defer w.Close()
	for _, rows := range []string{`[{"id":1,"status":"NEW"},{"id":2,"status":"NEW"}]`, `[{"id":2,"status":"PAID"}]`} {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, types.ArrowSchema(fields), strings.NewReader(rows))
		must(err)
		must(w.Write(ctx, tarn.Batch{RecordBatch: rec}))
		_, err = w.Commit(ctx)
		must(err)
	}
	paid := &predicate.Leaf{Op: predicate.Eq, Column: "status", Values: []types.Datum{"PAID"}}
	for b, err := range t.Scan(tarn.ScanOptions{Filter: paid}).Batches(ctx) {
		must(err)
		fmt.Println(b.NumRows(), "row, id", b.Column(0))
	}
	// Output: 1 row, id [2]
}

// users makes a table in memory, with a row for each name.
func users(names ...string) *tarn.Table {
	ctx := context.Background()
	cat, err := tarn.Open(ctx, "memory:/lake", nil)
	must(err)
	must(cat.CreateDatabase(ctx, "d", nil))
	fields := []types.Field{{Name: "id", Type: types.IntType}, {Name: "name", Type: types.StringType}}
	t, err := cat.CreateTable(ctx, "d.users", tarn.TableDef{Fields: fields, PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1"}})
	must(err)
	for i, name := range names {
		w, err := t.NewWriter(ctx, nil)
		must(err)
		must(w.Write(ctx, user(t, i+1, name)))
		_, err = w.Commit(ctx)
		must(err)
		must(w.Close())
	}
	return t
}

func user(t *tarn.Table, id int, name string) tarn.Batch {
	fields, err := t.Fields()
	must(err)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, types.ArrowSchema(fields[:2]), strings.NewReader(fmt.Sprintf(`[{"id":%d,"name":%q}]`, id, name)))
	must(err)
	return tarn.Batch{RecordBatch: rec}
}

func show(t *tarn.Table, o tarn.ScanOptions) {
	for b, err := range t.Scan(o).Batches(context.Background()) {
		must(err)
		for i := range int(b.NumRows()) {
			for _, c := range b.Columns() {
				fmt.Print(c.ValueStr(i), " ")
			}
			fmt.Println()
		}
	}
}

// A table is read as it was at its first snapshot.
func ExampleTable_With() {
	t := users("Ann", "Bob")
	old, err := t.With(context.Background(), map[string]string{"scan.snapshot-id": "1"})
	must(err)
	show(old, tarn.ScanOptions{})
	// Output: 1 Ann
}

// What is written is prepared first, and committed under a name and number of its own: to do it again does nothing.
func ExampleTable_Commit() {
	ctx := context.Background()
	t := users("Ann")
	w, err := t.NewWriter(ctx, nil)
	must(err)
	defer w.Close()
	must(w.Write(ctx, user(t, 2, "Bob")))
	p, err := w.Prepare(ctx)
	must(err)
	for range 2 {
		r, err := t.Commit(ctx, tarn.CommitID{User: "loader", Number: 7}, p)
		must(err)
		fmt.Println("snapshot", r.SnapshotID, "repeated", r.Repeated)
		must(w.Done(r))
	}
	// Output:
	// snapshot 2 repeated false
	// snapshot 2 repeated true
}

// A column is added and another renamed; rows written before have both.
func ExampleTable_Alter() {
	ctx := context.Background()
	t := users("Ann", "Bob")
	must(t.Alter(ctx, tarn.AddColumn{Path: []string{"age"}, Type: types.IntType}, tarn.RenameColumn{Path: []string{"name"}, To: "nick"}))
	t, err := t.Refresh(ctx)
	must(err)
	show(t, tarn.ScanOptions{Columns: []string{"nick", "age"}, Filter: predicate.Greater("id", 1)})
	// Output: Bob (null)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
