package cdc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tarnlake/tarn"
)

// Reset lets a job start from nothing, under a new commit user, which it gives with the old one. Snapshots that were
// kept for the old one are free to expire. The error wraps tarn.ErrNotExist if the job never ran.
func Reset(ctx context.Context, cat *tarn.Catalog, name string) (old, now string, err error) {
	if cat == nil {
		return "", "", errNoCatalog
	}
	names, err := cat.Jobs(ctx)
	if err != nil {
		return "", "", err
	}
	if !slices.Contains(names, name) {
		return "", "", fmt.Errorf("job %q %w in %s", name, tarn.ErrNotExist, cat.Warehouse())
	}
	job, err := cat.OpenJob(ctx, name)
	if err != nil {
		return "", "", err
	}
	ck, err := job.Latest(ctx)
	if err != nil {
		return "", "", err
	}
	old = job.User()
	if err := job.Reset(ctx); err != nil {
		return "", "", err
	}
	if ck == nil {
		return old, job.User(), nil
	}
	for i := range ck.Tables {
		t, err := cat.Table(ctx, ck.Tables[i].Table)
		if errors.Is(err, tarn.ErrNotExist) {
			continue
		}
		if err == nil {
			err = t.DeleteConsumer(ctx, old)
		}
		if err != nil && !errors.Is(err, tarn.ErrNotExist) {
			return old, job.User(), fmt.Errorf("table %s: consumer %s: %w", ck.Tables[i].Table, old, err)
		}
	}
	return old, job.User(), nil
}
