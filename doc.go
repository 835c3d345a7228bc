// Package tarn reads and writes lake tables in the open Apache Paimon format: upserts, deletes and
// appends merged by an LSM tree over columnar files, with snapshots, schema evolution and compaction,
// on a local disk or an object store, without a cluster.
//
//	cat, err := tarn.Open(ctx, "./lake", nil)
//	t, err := cat.CreateTable(ctx, "shop.orders", tarn.TableDef{…})
//
//	w, err := t.NewWriter(ctx, nil)
//	err = w.Write(ctx, batch)     // Arrow record batches, with row kinds
//	_, err = w.Commit(ctx)        // all or nothing, durable when it returns
//
//	for b, err := range t.Scan(tarn.ScanOptions{Columns: []string{"id"}}).Batches(ctx) { … }
//
// Rows travel as Arrow record batches, see types.ArrowType for what columns are there. Arrays are immutable and collected by the garbage collector:
// nobody has to release anything. Catalogs and tables are safe for concurrent use, writers and scans
// are used by one goroutine each. Errors wrap the Err… values of this package.
package tarn
