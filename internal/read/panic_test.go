package read

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/plan"
	"github.com/tarnlake/tarn/internal/rescue"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/predicate"
	"github.com/tarnlake/tarn/types"
)

type broken struct{}

func (broken) Next(context.Context) (batch.Batch, error) { panic("broken file") }
func (broken) Close() error                              { panic("broken close") }

// A panic while a split is opened or read is an error that names the bucket, one after the other and in parallel.
func TestPanicsOfReaders(t *testing.T) {
	for _, late := range []bool{false, true} {
		r := New(Config{Schema: &schema.Schema{}, Merge: func(context.Context, *plan.Split, []types.Field, predicate.Predicate) (batch.Reader, error) {
			if late {
				return broken{}, nil
			}
			panic("broken split")
		}})
		splits := []plan.Split{{Bucket: 3}, {Bucket: 3}, {Bucket: 3}}
		for _, req := range []Request{{}, {Parallel: 2}, {Parallel: 2, Ordered: true}} {
			var err error
			for _, e := range r.Batches(t.Context(), splits, req) {
				err = e
			}
			var x *rescue.Error
			if !errors.As(err, &x) || !strings.Contains(err.Error(), "read bucket 3: ") || !strings.Contains(err.Error(), "broken ") {
				t.Errorf("late %v, %+v: %v", late, req, err)
			}
		}
	}
}
