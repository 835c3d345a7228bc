package lsm

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tarnlake/tarn/internal/batch"
	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/types"
)

// Expiry drops old rows in compactions, of every version of a key by itself: where the newest has expired, an older one
// that has not comes back, as in the reference. Reads give all that is in the files.
type Expiry struct {
	Column  string       // INT or BIGINT: seconds since 1970, BIGINT also milliseconds; or a TIMESTAMP
	Seconds int64        // how long rows stay
	Now     func() int64 // seconds since 1970
}

// millisFrom is the number from which on a BIGINT counts milliseconds.
const millisFrom = 1_000_000_000_000

// cutoff is the oldest second that stays.
func (e *Expiry) cutoff() int64 { return e.Now() - e.Seconds }

func (t *Table) checkExpiry() error {
	e := t.c.Expiry
	if e == nil {
		return nil
	}
	f, ok := t.field(e.Column)
	if !ok {
		return fmt.Errorf("lsm: record-level.time-field: there is no column %q", e.Column)
	}
	if !slices.Contains([]types.Kind{types.Int, types.BigInt, types.Timestamp, types.TimestampLTZ}, f.Type.Kind) {
		return fmt.Errorf("lsm: record-level.time-field: column %q is of type %s, it has to be INT, BIGINT or a TIMESTAMP", e.Column, f.Type)
	}
	return nil
}

// expiring gives those of some files that hold rows that have expired, by their statistics.
func (t *Table) expiring(ctx context.Context, files []*manifest.DataFile) ([]*manifest.DataFile, error) {
	if t.c.Expiry == nil {
		return nil, nil
	}
	cutoff := t.c.Expiry.cutoff()
	var out []*manifest.DataFile
	for _, f := range files {
		least, err := t.c.Store.Least(ctx, f, t.c.Expiry.Column)
		if err != nil {
			return nil, err
		}
		if s, ok := secondsOf(least); ok && s < cutoff {
			out = append(out, f)
		}
	}
	return out, nil
}

// secondsOf is the second of a value, false if it is none.
func secondsOf(v types.Datum) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return bigSeconds(x), true
	case types.Instant:
		return x.Millis / 1000, true
	}
	return 0, false
}

func bigSeconds(v int64) int64 {
	if v >= millisFrom {
		return v / 1000
	}
	return v
}

// sieve leaves out the rows of a file that have expired.
type sieve struct {
	batch.Reader
	field  types.Field
	cutoff int64
}

// sift puts a sieve before a reader of the columns of a job, if rows expire.
func (s *source) sift(r batch.Reader) batch.Reader {
	if s.expiry == nil {
		return r
	}
	f, _ := s.t.field(s.expiry.Column)
	return &sieve{Reader: r, field: f, cutoff: s.expiry.cutoff()}
}

func (s *sieve) Next(ctx context.Context) (batch.Batch, error) {
	for {
		b, err := s.Reader.Next(ctx)
		if err != nil {
			return b, err
		}
		col := b.Schema().FieldIndices(s.field.Name)
		if len(col) != 1 {
			return b, fmt.Errorf("lsm: column %s, by which rows expire, is not read", s.field.Name)
		}
		keep := s.keep(b.Column(col[0]))
		switch {
		case len(keep) == int(b.NumRows()):
			return b, nil
		case len(keep) == 0:
			continue
		}
		b.RecordBatch, err = batch.Take(b.RecordBatch, keep)
		return b, err
	}
}

// keep gives the rows that stay. A row without a time stays.
func (s *sieve) keep(a arrow.Array) []int32 {
	second := func(i int) int64 { v, _ := secondsOf(types.DatumAt(a, i, s.field.Type)); return v }
	switch x := a.(type) {
	case *array.Int32:
		second = func(i int) int64 { return int64(x.Value(i)) }
	case *array.Int64:
		second = func(i int) int64 { return bigSeconds(x.Value(i)) }
	}
	out := make([]int32, 0, a.Len())
	for i := range a.Len() {
		if a.IsNull(i) || second(i) >= s.cutoff {
			out = append(out, int32(i))
		}
	}
	return out
}

// openFile opens a file of the source.
func (s *source) openFile(ctx context.Context, f *manifest.DataFile, o datafile.ReadOptions) (batch.Reader, error) {
	n := len(o.Fields) - 1
	withPlace := n >= 0 && o.Fields[n].Name == placeName
	if withPlace {
		o.Fields, o.Sparse = o.Fields[:n], false
	} else if v := s.gone[f.Name]; v != nil {
		o.Gone = v
	}
	r, err := s.t.c.Store.Open(ctx, s.loc, f, o)
	if err != nil {
		return nil, err
	}
	if withPlace {
		return s.sift(s.place(r, f)), nil
	}
	return s.sift(r), nil
}
