// Package check examines a table without changing it: that all it refers to is there and fits
// together.
package check

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/tarnlake/tarn/internal/datafile"
	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/schema"
	"github.com/tarnlake/tarn/internal/snapshot"
	"github.com/tarnlake/tarn/types"
)

// Problem is one thing that is wrong.
type Problem struct {
	// Damage means that rows cannot be read; other problems cost space or time only.
	Damage bool   `json:"damage"`
	Path   string `json:"path"`
	What   string `json:"what"`
	Advice string `json:"advice"`
}

// Report is the result of an examination.
type Report struct {
	Snapshots int       `json:"snapshots"`
	Manifests int       `json:"manifests"`
	Files     int       `json:"files"`
	Rows      int64     `json:"rows"` // of the newest snapshot, before merging
	Problems  []Problem `json:"problems"`
}

// Damaged reports whether any problem is damage.
func (r *Report) Damaged() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Damage })
}

// Table is what is examined.
type Table struct {
	FS        fileio.FS
	Path      string
	Snapshots *snapshot.Store
	Manifests *manifest.Store
	Files     *datafile.Store
	// Order is the order of keys, nil for tables without a primary key.
	Order *datafile.KeyOrder
	// Schema is the table's, Schemas are all of its branch.
	Schema  *schema.Schema
	Schemas *schema.Manager
	// BucketFunction is the option bucket-function.type.
	BucketFunction string
}

type checker struct {
	t       Table
	r       *Report
	files   map[string]bool    // examined data files and others, by path
	schemas map[int64]bool     // examined schemas of the branch: whether they are there
	overlap map[[2]string]bool // pairs of files that were told of
	bucket  *bucketOf
	fields  []types.Field // what a read of a data file wants
}

// Run examines all snapshots, tags, consumers and branches of a table. The error is one of the storage; what is wrong
// with the table stands in the report.
func Run(ctx context.Context, t Table) (*Report, error) {
	c := newChecker(t, &Report{Problems: []Problem{}})
	if err := c.branch(ctx); err != nil {
		return nil, err
	}
	if t.Snapshots.BranchName() == snapshot.MainBranch {
		if err := c.branches(ctx); err != nil {
			return nil, err
		}
	}
	return c.r, nil
}

func newChecker(t Table, r *Report) *checker {
	c := &checker{t: t, r: r, files: map[string]bool{}, schemas: map[int64]bool{}, overlap: map[[2]string]bool{}, bucket: newBucketOf(t), fields: t.Schema.Fields}
	if t.Order != nil {
		c.fields = datafile.KeyValueFields(nil, t.Schema.Fields, true)
	}
	return c
}

// branch examines the branch that the table was opened at.
func (c *checker) branch(ctx context.Context) error {
	if err := c.hints(ctx); err != nil {
		return err
	}
	consumers, err := c.consumers(ctx)
	if err != nil {
		return err
	}
	ids, err := c.t.Snapshots.List(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for i, id := range ids {
		if i > 0 && ids[i-1]+1 != id {
			c.problem(false, c.t.Snapshots.Path(ids[i-1]+1), fmt.Sprintf("snapshots %d to %d are missing in the middle", ids[i-1]+1, id-1),
				"streams that have not passed them cannot go on; nothing else depends on them")
		}
		snap, err := c.t.Snapshots.Get(ctx, id)
		if errors.Is(err, iofs.ErrNotExist) {
			again, lerr := c.t.Snapshots.List(ctx)
			if lerr != nil {
				return fmt.Errorf("check: %w", lerr)
			}
			if !slices.Contains(again, id) {
				continue // expired meanwhile
			}
		}
		if err != nil {
			c.problem(true, c.t.Snapshots.Path(id), err.Error(), "roll back to an older snapshot, or delete this file if it is the newest and half written")
			continue
		}
		if snap.ID != id {
			c.problem(true, c.t.Snapshots.Path(id), fmt.Sprintf("the file says that it is snapshot %d", snap.ID), "restore the file from a copy, or roll back to an older snapshot")
		}
		stays, err := c.unlessGone(func() error {
			err := c.snapshot(ctx, snap, c.t.Snapshots.Path(id), i == len(ids)-1)
			// Tags keep no changelogs, and branches begin with a tag: what they begin with has none once it expires.
			if err != nil || c.t.Snapshots.BranchName() != snapshot.MainBranch {
				return err
			}
			return c.changelog(ctx, snap, c.t.Snapshots.Path(id))
		}, func() (bool, error) { return c.expired(ctx, id) })
		if err != nil {
			return err
		}
		if stays {
			c.r.Snapshots++
		}
	}
	logs, err := c.changelogs(ctx)
	if err != nil {
		return err
	}
	c.behind(consumers, append(logs, ids...))
	return c.tags(ctx)
}

// unlessGone examines something. Problems are forgotten if it was deleted meanwhile, and its files with it.
func (c *checker) unlessGone(examine func() error, gone func() (bool, error)) (stays bool, err error) {
	found := len(c.r.Problems)
	if err := examine(); err != nil || len(c.r.Problems) == found {
		return true, err
	}
	is, err := gone()
	if err == nil && is {
		c.r.Problems, c.files = c.r.Problems[:found], map[string]bool{}
	}
	return !is, err
}

// noFile says whether there is no file of this name any more.
func (c *checker) noFile(ctx context.Context, path string) (bool, error) {
	there, err := fileio.Exists(ctx, c.t.FS, path)
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	return !there, nil
}

// expired reports whether a snapshot is on its way out: its files go before it does. Who expires tells by
// the hint of the earliest one what is hidden.
func (c *checker) expired(ctx context.Context, id int64) (bool, error) {
	first, err := c.t.Snapshots.EarliestID(ctx)
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	there, err := c.t.Snapshots.Exists(ctx, id)
	if err != nil {
		return false, fmt.Errorf("check: %w", err)
	}
	return !there || first > id, nil
}

func (c *checker) problem(damage bool, path, what, advice string) {
	p := Problem{damage, path, strings.ReplaceAll(what, path+": ", ""), advice}
	if !slices.Contains(c.r.Problems, p) { // several snapshots have the same manifest
		c.r.Problems = append(c.r.Problems, p)
	}
}
