package expire

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/manifest"
)

// TestOrphans is B053: only true orphans go, folders stay.
func TestOrphans(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	e.history(12)
	e.tag("t3", 3)
	e.expire(Options{RetainMin: 2, TimeRetained: -1})
	e.exact("before")
	b := e.table.Snapshots.Branch("b")
	data, err := fileio.ReadFile(ctx, e.fs, e.table.Snapshots.Path(11))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.fs.Put(ctx, b.Path(11), data); err != nil {
		t.Fatal(err)
	}
	lost := []string{
		root + "/bucket-0/data-lost.parquet", root + "/bucket-7/data-lost-2.parquet", root + "/index/index-lost",
		root + "/manifest/manifest-lost", root + "/manifest/manifest-list-lost", root + "/dt=1/h=a%3Db/bucket-1/data-lost-3.parquet",
		root + "/statistics/stat-lost",
	}
	for _, p := range lost {
		e.write(p)
	}
	other := []string{root + "/schema/schema-0", root + "/_own/file", root + "/README", root + "/consumer/consumer-x"}
	for _, p := range other {
		e.write(p)
	}
	slices.Sort(lost)
	o := OrphanOptions{OlderThan: time.Now().Add(time.Hour), DryRun: true}
	find := func() []string {
		t.Helper()
		r, err := FindOrphans(ctx, e.table, o)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(r.Paths)
		return r.Paths
	}
	if got := find(); !slices.Equal(got, lost) {
		t.Errorf("orphans\n%v\nwant\n%v", got, lost)
	}
	o.OlderThan = time.Unix(0, 0)
	if got := find(); len(got) > 0 {
		t.Errorf("young files: %v", got)
	}
	o = OrphanOptions{OlderThan: time.Now().Add(time.Hour), Keep: func(p string) bool { return strings.HasSuffix(p, "data-lost-3.parquet") }}
	if got := find(); len(got) != len(lost)-1 {
		t.Errorf("removed %v", got)
	}
	o.Keep = nil
	if got := find(); len(got) != 1 {
		t.Errorf("removed %v", got)
	}
	e.exact("after")
	for _, p := range other {
		if _, err := e.fs.Stat(ctx, p); err != nil {
			t.Error(err)
		}
	}
	if _, err := FindOrphans(ctx, e.table, OrphanOptions{}); err == nil {
		t.Error("no age was taken")
	}
	// Something that refers to files is broken.
	e.write(root + "/manifest/manifest-lost")
	if err := e.fs.Put(ctx, e.table.Snapshots.TagPath("broken"), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if r, err := FindOrphans(ctx, e.table, o); err == nil {
		t.Errorf("removed %v", r.Paths)
	}
}

// Orphans are found beside an expiry: what it has hidden may have lost its lists, whatever step it has come to.
func TestOrphansBesideExpiry(t *testing.T) {
	ctx := t.Context()
	e := memEnv(t)
	e.history(12)
	e.tag("t3", 3)
	o := OrphanOptions{OlderThan: time.Now().Add(time.Hour), DryRun: true}
	first, err := e.table.Snapshots.Get(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.table.Manifests.Delete(ctx, first.DeltaManifestList); err != nil {
		t.Fatal(err)
	}
	if _, err := FindOrphans(ctx, e.table, o); err == nil {
		t.Error("the references of a snapshot that stays cannot be read")
	}
	if err := e.table.Snapshots.HintEarliest(ctx, 10); err != nil {
		t.Fatal(err)
	}
	r, err := FindOrphans(ctx, e.table, o)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := e.table.Snapshots.Tag(ctx, "t3")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []manifest.List{tag.Snapshot.Base(), tag.Snapshot.Delta()} {
		if slices.ContainsFunc(r.Paths, func(p string) bool { return strings.HasSuffix(p, l.Name) }) {
			t.Errorf("%s of a tag is called an orphan", l.Name)
		}
	}
}
