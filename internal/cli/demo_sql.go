package cli

import (
	"context"
	"errors"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
)

// demoQueries runs the queries of the demo.
func (a *app) demoQueries(ctx context.Context, cat *tarn.Catalog) error {
	s := sql.NewSession(cat, sql.Options{Database: demoDB})
	run := func() error {
		show := *a
		if show.output == "" && !show.json && !show.csv {
			show.output = "table"
		}
		for _, q := range demoSQL {
			a.say("\n%s\n  %s\n", q.what, q.query)
			if err := s.Run(ctx, q.query, func(r *sql.Result) error { return show.printResult(ctx, r) }); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(run(), s.Close())
}
