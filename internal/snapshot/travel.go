package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"time"
)

// search finds the first snapshot, in order of numbers, for which ok holds; ok has to be monotone. It
// gives the numbers, the place of that snapshot among them (their length: none), and all snapshots that
// were read. Snapshots that expire meanwhile make it start again.
func (s *Store) search(ctx context.Context, ok func(at int, get func(int) *Snapshot) bool) ([]int64, int, func(int) (*Snapshot, error), error) {
	for try := 0; ; try++ {
		ids, err := s.List(ctx)
		if err != nil {
			return nil, 0, nil, err
		}
		read := map[int]*Snapshot{}
		var failed error
		load := func(i int) (*Snapshot, error) {
			if v := read[i]; v != nil {
				return v, nil
			}
			v, err := s.Get(ctx, ids[i])
			if err == nil {
				read[i] = v
			}
			return v, err
		}
		get := func(i int) *Snapshot {
			v, err := load(i)
			if err != nil {
				failed = err
				return nil
			}
			return v
		}
		at := sort.Search(len(ids), func(i int) bool { return failed != nil || ok(i, get) })
		if errors.Is(failed, fs.ErrNotExist) && try < 5 {
			continue
		}
		return ids, at, load, failed
	}
}

// Last reads the newest snapshot for which ok holds, the newest of all if it holds for none. The error is ErrNone if there is no snapshot.
func (s *Store) Last(ctx context.Context, ok func(*Snapshot) bool) (*Snapshot, error) {
	ids, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i >= 0; i-- {
		v, err := s.Get(ctx, ids[i])
		if errors.Is(err, fs.ErrNotExist) {
			break // expired meanwhile, and all before it
		}
		if err != nil || ok(v) {
			return v, err
		}
	}
	return s.Latest(ctx)
}

// AtTime reads the newest snapshot that was committed at or before a time (`scan.timestamp-millis`).
// If the time is before the first snapshot, the error is an fs.ErrNotExist that names it.
func (s *Store) AtTime(ctx context.Context, millis int64) (*Snapshot, error) {
	ids, at, load, err := s.search(ctx, func(i int, get func(int) *Snapshot) bool {
		v := get(i)
		return v == nil || v.TimeMillis > millis
	})
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("snapshot: %s: %w", s.root, ErrNone)
	}
	if at == 0 {
		first, err := load(0)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("snapshot: %s: no snapshot at or before %s: the earliest, %d, is of %s: %w",
			s.root, clock(millis), first.ID, clock(first.TimeMillis), fs.ErrNotExist)
	}
	return load(at - 1)
}

func clock(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

// FromTime gives the number of the first snapshot that was committed at or after a time, or, if there is
// none, of the next snapshot that will be: where a stream from that time starts.
func (s *Store) FromTime(ctx context.Context, millis int64) (int64, error) {
	ids, at, _, err := s.search(ctx, func(i int, get func(int) *Snapshot) bool {
		v := get(i)
		return v == nil || v.TimeMillis >= millis
	})
	if err != nil {
		return 0, err
	}
	switch {
	case len(ids) == 0:
		return 1, nil
	case at == len(ids):
		return ids[len(ids)-1] + 1, nil
	}
	return ids[at], nil
}

// AtWatermark reads the first snapshot whose watermark is at or after one (`scan.watermark`). Snapshots
// without a watermark count as having that of the one before.
func (s *Store) AtWatermark(ctx context.Context, watermark int64) (*Snapshot, error) {
	ids, at, load, err := s.search(ctx, func(i int, get func(int) *Snapshot) bool {
		for ; i >= 0; i-- {
			v := get(i)
			if v == nil {
				return true
			}
			if v.Watermark != nil {
				return *v.Watermark >= watermark
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	if at == len(ids) {
		return nil, fmt.Errorf("snapshot: %s: no snapshot has a watermark of %d or later: %w", s.root, watermark, fs.ErrNotExist)
	}
	return load(at)
}
