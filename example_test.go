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

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
