package cdc

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/source"
)

// kept is what a job keeps in its checkpoints besides positions and tables.
type kept struct {
	Source json.RawMessage   `json:"source,omitempty"` // note of the source
	Counts map[string]*Count `json:"counts,omitempty"` // by table; "" are messages of none
	Newest int64             `json:"newest,omitempty"` // when the source made the newest change, milliseconds since 1970
}

// Count is what a job has done with a table, all its runs together.
type Count struct {
	LeftOut   int64 `json:"leftOut,omitempty"`   // rows and messages, by on-error
	Truncates int64 `json:"truncates,omitempty"` // of the source, which the lake does not follow
	Rows      int64 `json:"rows,omitempty"`      // inserted, updated, deleted
}

// NewestChange is when the source made the newest change up to a checkpoint; the zero time if it does not say.
func NewestChange(ck *tarn.Checkpoint) (time.Time, error) {
	k, err := keptIn(ck)
	if err != nil || k.Newest == 0 {
		return time.Time{}, err
	}
	return time.UnixMilli(k.Newest).UTC(), nil
}

// Counts gives what a job has done up to a checkpoint, by table; "" are messages that belong to none.
func Counts(ck *tarn.Checkpoint) (map[string]*Count, error) {
	k, err := keptIn(ck)
	return k.Counts, err
}

func keptIn(ck *tarn.Checkpoint) (k kept, err error) {
	if ck != nil && len(ck.Extra) > 0 {
		if err := json.Unmarshal(ck.Extra, &k); err != nil {
			return k, fmt.Errorf("what checkpoint %d keeps: %w", ck.Number, err)
		}
	}
	return k, nil
}

// count is that of a table.
func (r *runner) count(table string) *Count {
	if r.kept.Counts == nil {
		r.kept.Counts = map[string]*Count{}
	}
	c := r.kept.Counts[table]
	if c == nil {
		c = &Count{}
		r.kept.Counts[table] = c
	}
	return c
}

// extra is what a checkpoint keeps besides positions and tables.
func (r *runner) extra() (json.RawMessage, error) {
	if n, ok := r.src.(source.Noting); ok {
		var err error
		if r.kept.Source, err = n.Note(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r.kept)
}
