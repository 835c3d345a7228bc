package tarn_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tarnlake/tarn"
)

// Many goroutines read and write one Table, of a release whose files differ from what is written by default;
// go test -race looks on.
func TestOneTableManyGoroutines(t *testing.T) {
	ctx := t.Context()
	for _, version := range []string{"0.8", "1.3"} {
		tab, err := open(t).CreateTable(ctx, "d.t", tarn.TableDef{
			Fields: fields("id", "INT"), PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "1", "tarn.write-version": version},
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, tab, []string{`{"id":0}`})
		var wg sync.WaitGroup
		errs := make(chan error, 8)
		for i := range 8 {
			wg.Go(func() {
				if i%2 == 0 {
					w, err := tab.NewWriter(ctx, nil)
					if err != nil {
						errs <- err
						return
					}
					defer w.Close()
					b := rows(t, tab, fmt.Sprintf(`{"id":%d}`, i))
					if err := w.Write(ctx, b); err != nil {
						errs <- err
					}
					if _, err := w.Commit(ctx); err != nil {
						errs <- err
					}
					return
				}
				for _, err := range tab.Scan(tarn.ScanOptions{}).Batches(ctx) {
					if err != nil {
						errs <- err
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			t.Error(err)
		}
		if got := read(t, tab, tarn.ScanOptions{}); len(got) != 4 {
			t.Errorf("%s: %v", version, got)
		}
	}
}
