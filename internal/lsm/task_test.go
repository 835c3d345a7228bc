package lsm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/rescue"
)

// A compaction that panics ends with an error that names its bucket; nobody waits for it forever.
func TestPanicOfTask(t *testing.T) {
	k := newTask(datafile.Location{Bucket: 7}, func(context.Context, *Task) (*compaction, error) { panic("broken") })
	go k.Run(t.Context())
	err := k.wait(t.Context())
	var x *rescue.Error
	if err != nil || !errors.As(k.err, &x) || !strings.Contains(k.err.Error(), "compact bucket 7: ") {
		t.Errorf("%v, %v", err, k.err)
	}
}
