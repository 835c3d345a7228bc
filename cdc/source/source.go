// Package source holds the contract of sources of changes. There is a sub-package for each kind.
package source

import (
	"context"

	"github.com/tarnlake/tarn/cdc/decode"
)

// Source gives the changes of databases, in order. It is used by one goroutine.
//
// A source gives the same events after the same position: that is what exactly-once rests on. What it knows of tables is
// in the events: a table's columns are the decode.Shape of its rows, one for as long as they are the same, and another one
// when they change. A lost connection is an error of Fetch, which ends the job behind its newest checkpoint; starting
// it again goes on from there.
type Source interface {
	// Open starts behind a position that an earlier Source of the same kind and configuration gave with an
	// event (its bytes); nil is the beginning. It is called once.
	Open(ctx context.Context, from []byte) error
	// Fetch gives the next events, at least one; the Position of each is set, but for those that are about no
	// place in the source. It waits for them as long as ctx allows. io.EOF means that there will be no more. A message that cannot be understood is an event of
	// kind Bad; an error means that the source cannot go on. The slice, not what it refers to, may be used
	// again by the next call.
	Fetch(ctx context.Context) ([]decode.Event, error)
	// Ack says that everything up to the position is durable, so that the source need not keep it. It is not called while
	// a table is set aside, which the next start tries again from where it stopped.
	Ack(ctx context.Context, upTo []byte) error
	// Close ends the source; a second call does nothing.
	Close() error
}

// Noting is a Source that has to remember more than where it is.
type Noting interface {
	Source
	// Note gives, as JSON, what is to be kept with the position of the newest event.
	Note() ([]byte, error)
	// Recall gives back the newest note that was kept, before Open.
	Recall(note []byte) error
}
