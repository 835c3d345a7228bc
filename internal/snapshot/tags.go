package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
)

const tagDir = "/tag"

// Tag is a snapshot that was given a name, and so is kept when it expires.
type Tag struct {
	Name     string
	Snapshot *Snapshot
	// Created is when, as a wall clock in UTC, and Retained for how long; both are zero for tags
	// that stay until they are deleted.
	Created  time.Time
	Retained time.Duration
}

// TagPath is the file of a tag.
func (s *Store) TagPath(name string) string { return s.root + tagDir + "/" + paths.TagPrefix + name }

// checkName keeps names within their folder. What is there already may have any other name.
func checkName(what, name string) error {
	if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." {
		return fmt.Errorf("%w: %q is none of a %s: it would lead out of the folder of the table", paths.ErrName, name, what)
	}
	return nil
}

func decodeTag(data []byte) (*Tag, error) {
	m, err := members(data)
	if err != nil {
		return nil, err
	}
	t := &Tag{}
	sc := scanner{m: m}
	var created []int
	if sc.get("tagCreateTime", &created) && sc.err == nil {
		if len(created) < 5 || len(created) > 7 {
			return nil, fmt.Errorf("member \"tagCreateTime\" has %d parts", len(created))
		}
		var p [7]int
		copy(p[:], created)
		t.Created = time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], p[6], time.UTC)
	}
	var seconds json.Number
	if sc.get("tagTimeRetained", &seconds) && sc.err == nil {
		if t.Retained, err = parseSeconds(seconds.String()); err != nil {
			return nil, fmt.Errorf("member \"tagTimeRetained\": %w", err)
		}
	}
	if sc.err != nil {
		return nil, sc.err
	}
	t.Snapshot, err = decode(m)
	return t, err
}

// parseSeconds reads decimal seconds exactly.
func parseSeconds(s string) (time.Duration, error) {
	whole, frac, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, err
	}
	if sec > math.MaxInt64/int64(time.Second)-1 || sec < 0 {
		return math.MaxInt64, nil
	}
	if len(frac) > 9 {
		frac = frac[:9]
	}
	nanos, err := strconv.ParseInt((frac + "000000000")[:9], 10, 64)
	return time.Duration(sec)*time.Second + time.Duration(nanos), err
}

// encodeTag writes a tag's file. Without a time to live it is the snapshot's, which releases before 0.8
// can read.
func encodeTag(t *Tag, v manifest.Version) []byte {
	e := encode(t.Snapshot, v)
	if t.Retained <= 0 {
		return e.end()
	}
	c := t.Created
	parts := []int{c.Year(), int(c.Month()), c.Day(), c.Hour(), c.Minute(), c.Second(), c.Nanosecond()}
	for len(parts) > 5 && parts[len(parts)-1] == 0 {
		parts = parts[:len(parts)-1]
	}
	b := []byte("[ ")
	for i, p := range parts {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, int64(p), 10)
	}
	e.raw("tagCreateTime", append(b, " ]"...))
	e.raw("tagTimeRetained", fmt.Appendf(nil, "%d.%09d", t.Retained/time.Second, t.Retained%time.Second))
	return e.end()
}

// Tag reads a tag. The error is fs.ErrNotExist if there is none of that name.
func (s *Store) Tag(ctx context.Context, name string) (*Tag, error) {
	if err := checkName("tag", name); err != nil {
		return nil, err
	}
	t, err := readWhole(ctx, s.fs, s.TagPath(name), decodeTag)
	if err != nil {
		return nil, err
	}
	t.Name = name
	return t, nil
}

// TagNames lists the names of all tags.
func (s *Store) TagNames(ctx context.Context) ([]string, error) {
	return s.names(ctx, s.root+tagDir, paths.TagPrefix)
}

func (s *Store) names(ctx context.Context, dir, prefix string) ([]string, error) {
	var out []string
	for info, err := range s.fs.List(ctx, dir) {
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		name := info.Path[strings.LastIndexByte(info.Path, '/')+1:]
		if n, ok := strings.CutPrefix(name, prefix); ok { // a folder too: it is told when it is read
			out = append(out, n)
		}
	}
	return out, nil
}

// Tags reads all tags, ordered by snapshot and name. A tag that cannot be read is an error: those who
// delete files must not go on without it.
func (s *Store) Tags(ctx context.Context) ([]*Tag, error) {
	names, err := s.TagNames(ctx)
	if err != nil {
		return nil, err
	}
	var out []*Tag
	for _, n := range names {
		t, err := s.Tag(ctx, n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b *Tag) int { return int(min(1, max(-1, a.Snapshot.ID-b.Snapshot.ID))) })
	return out, nil
}

// CreateTag gives a snapshot a name. The error is fs.ErrExist if the name is taken. A time to live of
// zero means that the tag stays; now is the wall clock of the table's zone.
func (s *Store) CreateTag(ctx context.Context, name string, snap *Snapshot, retained time.Duration, now time.Time, v manifest.Version) error {
	if err := paths.CheckTag(name); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	data := encodeTag(&Tag{Name: name, Snapshot: snap, Created: now, Retained: retained}, v)
	err := s.fs.PutIfAbsent(ctx, s.TagPath(name), data)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// Written or not? If it is there and is ours, all is well.
		if t, e := s.Tag(ctx, name); e == nil && t.Snapshot.ID == snap.ID && t.Created.Equal(now) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("snapshot: create tag %q: %w", name, err)
	}
	return nil
}

// RemoveTag removes a tag's file only; files that no one else uses stay behind.
func (s *Store) RemoveTag(ctx context.Context, name string) error {
	if err := checkName("tag", name); err != nil {
		return err
	}
	if err := s.fs.Delete(ctx, s.TagPath(name)); err != nil {
		return fmt.Errorf("snapshot: delete tag %q: %w", name, err)
	}
	return nil
}

// RenameTag gives a tag another name. The error is fs.ErrExist if it is taken.
func (s *Store) RenameTag(ctx context.Context, from, to string) error {
	if err := paths.CheckTag(to); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := s.fs.Rename(ctx, s.TagPath(from), s.TagPath(to)); err != nil {
		return fmt.Errorf("snapshot: rename tag %q to %q: %w", from, to, err)
	}
	return nil
}
