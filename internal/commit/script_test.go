package commit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/snapshot"
)

// TestScripts runs the scripts of testdata. Commands:
//
//	commit user=u n=1 [base=3] [by=2]   lines: "add|delete|log|before|after|index FILE …", where a file
//	                                    is name@level:lo-hi; by names the committer (each knows only
//	                                    what it has seen)
//	overwrite user=u n=1                the same
//	files                               the live files
//	snapshots                           identities and numbers of rows
//	rollback to=2 | lose id=3           by the hand of others
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		e := memEnv(t)
		committers := map[string]*Committer{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			e.t = t
			switch d.Cmd {
			case "commit", "overwrite":
				return e.script(t, d, committers)
			case "files":
				return strings.Join(e.liveFiles(t.Context()), " ") + "\n"
			case "snapshots":
				return e.describe(t)
			case "rollback", "lose":
				return e.remove(t, d)
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func (e *env) script(t *testing.T, d *datadriven.TestData, committers map[string]*Committer) string {
	user, by := "u", "1"
	var n, base int64
	d.MaybeScanArgs(t, "user", &user)
	d.MaybeScanArgs(t, "by", &by)
	d.MaybeScanArgs(t, "n", &n)
	d.MaybeScanArgs(t, "base", &base)
	c := committers[by]
	if c == nil {
		c = e.committer()
		committers[by] = c
	}
	delta := manifest.Delta{Partition: noPartition, TotalBuckets: 1}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		for _, w := range words[1:] {
			if words[0] == "index" {
				delta.Index = append(delta.Index, indexEntry(manifest.Add, hashIndex, w))
				continue
			}
			to := map[string]*[]*manifest.DataFile{
				"add": &delta.Added, "delete": &delta.Deleted, "log": &delta.Changelog, "before": &delta.CompactBefore, "after": &delta.CompactAfter,
			}[words[0]]
			if to == nil {
				d.Fatalf(t, "unknown word %q", words[0])
			}
			*to = append(*to, parseFile(t, d, w))
		}
	}
	var r Result
	var err error
	if d.Cmd == "overwrite" {
		r, err = c.CommitOverwrite(t.Context(), id(user, n), Overwrite{}, []manifest.Delta{delta}, Options{Base: base})
	} else {
		r, err = c.Commit(t.Context(), id(user, n), []manifest.Delta{delta}, Options{Base: base})
	}
	var out strings.Builder
	for _, s := range []*snapshot.Snapshot{r.Append, r.Compact} {
		if s != nil {
			fmt.Fprintf(&out, "snapshot %d %s\n", s.ID, s.CommitKind)
		}
	}
	if r.Repeated > 0 {
		fmt.Fprintf(&out, "%d done before\n", r.Repeated)
	}
	var ce *ConflictError
	switch {
	case errors.As(err, &ce):
		fmt.Fprintf(&out, "conflict of %s: %s\n", ce.Kind, ce.Reason)
	case err != nil:
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

// parseFile reads name@level:lo-hi.
func parseFile(t *testing.T, d *datadriven.TestData, s string) *manifest.DataFile {
	name, rest, _ := strings.Cut(s, "@")
	level, keys, _ := strings.Cut(rest, ":")
	lo, hi, _ := strings.Cut(keys, "-")
	var n [3]int64
	for i, x := range []string{level, lo, hi} {
		var err error
		if n[i], err = strconv.ParseInt(x, 10, 64); err != nil {
			d.Fatalf(t, "file %q is not name@level:lo-hi", s)
		}
	}
	return dataFile(t, name, int(n[0]), n[1], n[2])
}

func (e *env) describe(t *testing.T) string {
	ids, err := e.c.Snapshots.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, id := range ids {
		s, err := e.c.Snapshots.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d %s %s %d rows %+d of %d", s.ID, s.CommitKind, s.CommitUser, s.CommitIdentifier, *s.DeltaRecordCount, *s.TotalRecordCount)
		if s.ChangelogRecordCount != nil {
			fmt.Fprintf(&out, " changelog %d", *s.ChangelogRecordCount)
		}
		if s.IndexManifest != "" {
			out.WriteString(" index")
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (e *env) remove(t *testing.T, d *datadriven.TestData) string {
	ids, err := e.c.Snapshots.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var to, lost int64
	d.MaybeScanArgs(t, "to", &to)
	d.MaybeScanArgs(t, "id", &lost)
	for _, id := range ids {
		if to > 0 && id > to || id == lost {
			if err := e.c.Snapshots.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ""
}
