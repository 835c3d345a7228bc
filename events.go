package tarn

import (
	"time"

	"github.com/tarnlake/tarn/internal/appendtbl"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/rescue"
)

// Events are called when something happened: progress bars, metrics and logs hang here. Members may
// be nil. They are called by the goroutine that did the work, must not block and must be safe for
// concurrent use. What a handler panics with is logged.
type Events struct {
	// Committed: a commit made one or two snapshots.
	Committed func(CommitEvent)
	// Compacted: files of a bucket were merged.
	Compacted func(CompactEvent)
	// Paused: a writer waits; Resumed when it goes on.
	Paused  func(PauseEvent)
	Resumed func(PauseEvent)
	// Expired: snapshots were removed.
	Expired func(ExpireEvent)
}

// CommitEvent tells of a commit.
type CommitEvent struct {
	Table      string // db.table
	SnapshotID int64  // newest made; 0: there was nothing to commit
	Rows       int64  // added by the writes of this commit
	Files      int    // new ones, those of compactions too
	Took       time.Duration
}

// CompactEvent tells of a compaction.
type CompactEvent struct {
	Table             string // db.table
	Bucket            int
	InFiles, OutFiles int
	InBytes, OutBytes int64
	OutLevel          int // of the LSM tree, 0 for tables without a key
	Took              time.Duration
	RewrittenRows     int64 // of the files that are new
	// UpgradedWithoutRewrite are files that only went to another level, as they are.
	UpgradedWithoutRewrite int
}

// PauseEvent tells why a writer waits.
type PauseEvent struct {
	Table  string // db.table
	Bucket int
	Reason string // for people
}

// ExpireEvent tells of an expiry.
type ExpireEvent struct {
	Table     string // db.table
	Snapshots int    // removed
	Files     int    // removed: data files, manifests and lists
	Err       error  // why it ended early, nil
}

// tell calls a handler of events. One that panics is the user's fault, and does no harm to the work that it is told of.
func (e *env) tell(event string, f func()) {
	if err := rescue.Do("handler of the event "+event, func() error { f(); return nil }); err != nil {
		e.log.Error(err.Error())
	}
}

// plainEvents tells of compactions of append tables; nil: nobody asks.
func (t *Table) plainEvents() func(appendtbl.Compaction) {
	f := t.env.events.Compacted
	if f == nil {
		return nil
	}
	return func(c appendtbl.Compaction) {
		if c.Err == nil {
			t.env.tell("Compacted", func() {
				f(compactEvent(CompactEvent{Table: t.id.String(), Bucket: c.Location.Bucket}, c.Before, c.After))
			})
		}
	}
}

// compactEvent adds up the files of a compaction.
func compactEvent(x CompactEvent, before, after []*manifest.DataFile) CompactEvent {
	x.InFiles, x.OutFiles = len(before), len(after)
	for _, f := range before {
		x.InBytes += f.Size
	}
	for _, f := range after {
		x.OutBytes += f.Size
		x.RewrittenRows += f.Rows
	}
	return x
}
