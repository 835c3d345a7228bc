package check

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/schema"
)

// hints looks whether LATEST and EARLIEST name snapshots that are there. They change while the table is written, so one
// counts as wrong only if it is the same on a second look.
func (c *checker) hints(ctx context.Context) error {
	for _, name := range []string{paths.Latest, paths.Earliest} {
		path := c.t.Snapshots.Dir() + "/" + name
		first, wrong, err := c.hint(ctx, path, name)
		if err != nil {
			return err
		}
		if wrong == "" {
			continue
		}
		again, wrong, err := c.hint(ctx, path, name)
		if err != nil {
			return err
		}
		if wrong == "" || again != first {
			continue
		}
		// Paimon follows LATEST without looking whether it is there; a hint that cannot be read is none.
		c.problem(name == paths.Latest && strings.Contains(wrong, "not there"), path, wrong, "delete this file: it is made anew by the next commit or expiry, and a listing takes its place until then")
	}
	return nil
}

// hint reads a hint and says what is wrong with it, "" for nothing.
func (c *checker) hint(ctx context.Context, path, name string) (text, wrong string, err error) {
	data, err := fileio.ReadFile(ctx, c.t.FS, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return "", "", nil
	}
	if ctx.Err() != nil || fileio.Unreachable(err) {
		return "", "", fmt.Errorf("check: %w", err)
	}
	if err != nil {
		return "", "the hint cannot be read: " + err.Error(), nil
	}
	text = strings.TrimSpace(string(data))
	id, perr := strconv.ParseInt(text, 10, 64)
	if perr != nil {
		return text, "the hint is no number of a snapshot", nil
	}
	if id < 1 {
		return text, "", nil // releases before 0.8 wrote such, and nobody follows them
	}
	look := []int64{id}
	if name == paths.Latest {
		look = append(look, id+1) // it may be behind
	}
	for _, i := range look {
		there, err := c.t.Snapshots.Exists(ctx, i)
		if err != nil || there {
			return text, "", err
		}
	}
	return text, fmt.Sprintf("the hint names snapshot %d, which is not there", id), nil
}

// consumers reads the consumers, by name. One that cannot be read keeps every snapshot.
func (c *checker) consumers(ctx context.Context) (map[string]int64, error) {
	names, err := c.t.Snapshots.ConsumerNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	out := map[string]int64{}
	for _, name := range names {
		next, err := c.t.Snapshots.Consumer(ctx, name)
		switch {
		case errors.Is(err, iofs.ErrNotExist):
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			c.problem(true, c.t.Snapshots.ConsumerPath(name), err.Error(), "delete the consumer: until then no snapshot expires, and its reader cannot go on")
		default:
			out[name] = next
		}
	}
	return out, nil
}

// behind looks for consumers whose next snapshot has expired, or comes much later. The changelogs and snapshots were
// listed after the consumers.
func (c *checker) behind(consumers map[string]int64, ids []int64) {
	for _, name := range slices.Sorted(maps.Keys(consumers)) {
		next, path := consumers[name], c.t.Snapshots.ConsumerPath(name)
		switch {
		case len(ids) == 0:
		case next < ids[0]:
			c.problem(false, path, fmt.Sprintf("consumer %s goes on at snapshot %d, which has expired: the oldest is %d", name, next, ids[0]), "its reader has missed changes: let it read the table anew, or delete the consumer")
		case next > ids[len(ids)-1]+1:
			c.problem(false, path, fmt.Sprintf("consumer %s goes on at snapshot %d, the newest is %d", name, next, ids[len(ids)-1]), "its reader waits for a snapshot that may never come: let it read the table anew, or delete the consumer")
		}
	}
}

func (c *checker) tags(ctx context.Context) error {
	tags, err := c.t.Snapshots.TagNames(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, name := range tags {
		path := c.t.Snapshots.TagPath(name)
		tag, err := c.t.Snapshots.Tag(ctx, name)
		if errors.Is(err, iofs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			c.problem(true, path, err.Error(), "delete the tag: until then no snapshot expires")
			continue
		}
		_, err = c.unlessGone(func() error { return c.snapshot(ctx, tag.Snapshot, path, false) }, func() (bool, error) { return c.noFile(ctx, path) })
		if err != nil {
			return err
		}
	}
	return nil
}

// branches examines the branches beside main.
func (c *checker) branches(ctx context.Context) error {
	names, err := c.t.Snapshots.Branches(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, name := range names {
		t := c.t
		dir := paths.BranchDir(t.Path, name)
		t.Snapshots, t.Schemas = c.t.Snapshots.Branch(name), schema.NewManager(t.FS, dir)
		s, err := t.Schemas.Latest(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			what := err.Error()
			if errors.Is(err, iofs.ErrNotExist) {
				what = "branch " + name + " has no schema"
			}
			c.problem(true, dir, what, "delete the branch, or restore its schema")
			continue
		}
		t.Schema = s
		b := newChecker(t, c.r)
		b.files = c.files
		if err := b.branch(ctx); err != nil {
			return err
		}
	}
	return nil
}
