package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/tarnlake/tarn/internal/paths"
)

const (
	consumerDir  = "/consumer"
	changelogDir = "/changelog"
)

// ConsumerPath is the file of a consumer.
func (s *Store) ConsumerPath(name string) string {
	return s.root + consumerDir + "/" + paths.ConsumerPrefix + name
}

func decodeConsumer(data []byte) (int64, error) {
	m, err := members(data)
	if err != nil {
		return 0, err
	}
	sc := scanner{m: m}
	var next int64
	sc.must("nextSnapshot", &next)
	return next, sc.err
}

// Consumer reads which snapshot a consumer reads next. The error is fs.ErrNotExist if there is no such
// consumer.
func (s *Store) Consumer(ctx context.Context, name string) (int64, error) {
	if err := checkName("consumer", name); err != nil {
		return 0, err
	}
	return readWhole(ctx, s.fs, s.ConsumerPath(name), decodeConsumer)
}

// PutConsumer notes which snapshot a consumer reads next; that one and later ones do not expire.
func (s *Store) PutConsumer(ctx context.Context, name string, next int64) error {
	if err := paths.CheckConsumer(name); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	data := strconv.AppendInt([]byte("{\n  \"nextSnapshot\" : "), next, 10)
	if err := s.fs.Put(ctx, s.ConsumerPath(name), append(data, "\n}"...)); err != nil {
		return fmt.Errorf("snapshot: consumer %q: %w", name, err)
	}
	return nil
}

// DeleteConsumer removes a consumer.
func (s *Store) DeleteConsumer(ctx context.Context, name string) error {
	if err := checkName("consumer", name); err != nil {
		return err
	}
	if err := s.fs.Delete(ctx, s.ConsumerPath(name)); err != nil {
		return fmt.Errorf("snapshot: delete consumer %q: %w", name, err)
	}
	return nil
}

// ExpireConsumers removes the consumers that have not moved since some time: the age of their files
// tells.
func (s *Store) ExpireConsumers(ctx context.Context, before time.Time) error {
	for info, err := range s.fs.List(ctx, s.root+consumerDir) {
		if err != nil {
			return fmt.Errorf("snapshot: consumers: %w", err)
		}
		name, ok := strings.CutPrefix(path.Base(info.Path), paths.ConsumerPrefix)
		if !ok || info.IsDir || !info.ModTime.Before(before) {
			continue
		}
		if err := s.DeleteConsumer(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// ConsumerNames lists the names of all consumers.
func (s *Store) ConsumerNames(ctx context.Context) ([]string, error) {
	return s.names(ctx, s.root+consumerDir, paths.ConsumerPrefix)
}

// Consumers reads all consumers: the next snapshot by name. One that cannot be read is an error, so
// that nothing it may need is deleted.
func (s *Store) Consumers(ctx context.Context) (map[string]int64, error) {
	names, err := s.ConsumerNames(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(names))
	for _, n := range names {
		next, err := s.Consumer(ctx, n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[n] = next
	}
	return out, nil
}

// MinNext is the smallest snapshot that a consumer reads next, the largest number if there are none.
func (s *Store) MinNext(ctx context.Context) (int64, error) {
	all, err := s.Consumers(ctx)
	least := int64(math.MaxInt64)
	for _, n := range all {
		least = min(least, n)
	}
	return least, err
}

// ChangelogPath is the file of a changelog that outlived its snapshot.
func (s *Store) ChangelogPath(id int64) string {
	return s.root + changelogDir + "/" + paths.ChangelogMetaPrefix + strconv.FormatInt(id, 10)
}

// Changelog reads what is left of a snapshot whose changelog is kept longer.
func (s *Store) Changelog(ctx context.Context, id int64) (*Snapshot, error) {
	return readWhole(ctx, s.fs, s.ChangelogPath(id), Decode)
}

// Changelogs lists the long-lived changelogs, in order.
func (s *Store) Changelogs(ctx context.Context) ([]int64, error) {
	return listIDs(ctx, s.fs, s.root+changelogDir, paths.ChangelogMetaPrefix)
}

// PutChangelog keeps a changelog beyond its snapshot, and hints to it.
func (s *Store) PutChangelog(ctx context.Context, c *Snapshot) error {
	if err := s.fs.Put(ctx, s.ChangelogPath(c.ID), Encode(c, c.Written)); err != nil {
		return fmt.Errorf("snapshot: changelog %d: %w", c.ID, err)
	}
	return putHint(ctx, s.fs, s.root+changelogDir+"/"+paths.Latest, c.ID)
}

// DeleteChangelog removes the file of a changelog.
func (s *Store) DeleteChangelog(ctx context.Context, id int64) error {
	if err := s.fs.Delete(ctx, s.ChangelogPath(id)); err != nil {
		return fmt.Errorf("snapshot: delete changelog %d: %w", id, err)
	}
	return nil
}

// HintEarliestChangelog writes the EARLIEST hint of the changelogs.
func (s *Store) HintEarliestChangelog(ctx context.Context, id int64) error {
	return putHint(ctx, s.fs, s.root+changelogDir+"/"+paths.Earliest, id)
}

// ChangelogOrSnapshot reads a snapshot, or its changelog if only that is left.
func (s *Store) ChangelogOrSnapshot(ctx context.Context, id int64) (*Snapshot, error) {
	snap, err := s.Get(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		if c, e := s.Changelog(ctx, id); !errors.Is(e, fs.ErrNotExist) {
			return c, e
		}
	}
	return snap, err
}
