package tarn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
)

// A nil Prepared is nothing, everywhere.
func TestNothingPrepared(t *testing.T) {
	ctx := t.Context()
	tab := keyed(t, "STRING")
	w, err := tab.NewWriter(ctx, &tarn.WriterOptions{After: []*tarn.Prepared{nil}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(ctx, rows(t, tab, `{"id":1,"v":"a"}`)); err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	none := (*tarn.Prepared)(nil)
	if !none.Empty() || none.Rows() != 0 || none.Files() != 0 || none.Base() != 0 {
		t.Error("a nil Prepared is not empty")
	}
	if r, err := tab.Commit(ctx, tarn.CommitID{User: "u", Number: 1}, none, tarn.JoinPrepared(none, p)); err != nil || r.SnapshotID != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	raw, err := none.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	back, err := tarn.UnmarshalPrepared(raw)
	if err != nil || !back.Empty() {
		t.Errorf("%v, %v", back, err)
	}
	if done, err := tab.WasCommitted(ctx, tarn.CommitID{User: "u", Number: 9}, none); err != nil || done {
		t.Errorf("%v, %v", done, err)
	}
	if held, err := tab.HoldsAny(ctx, none); err != nil || held {
		t.Errorf("%v, %v", held, err)
	}
	if err := errors.Join(tab.CheckPrepared(ctx, none), tab.Abort(ctx, none)); err != nil {
		t.Error(err)
	}
}

// What was prepared for one table is no part of another: its files are not there.
func TestCommitOfAnotherTable(t *testing.T) {
	ctx := t.Context()
	a, err := open(t).CreateTable(ctx, "d.a", tarn.TableDef{Fields: fields("id", "INT")})
	if err != nil {
		t.Fatal(err)
	}
	b := keyed(t, "STRING")
	w, err := a.NewWriter(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Write(ctx, rows(t, a, `{"id":1}`)); err != nil {
		t.Fatal(err)
	}
	p, err := w.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := tarn.UnmarshalPrepared(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*tarn.Prepared{p, kept, tarn.JoinPrepared(nil, kept)} {
		_, err := b.Commit(ctx, tarn.CommitID{User: "u", Number: 1}, x)
		if !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "prepared for table d.a") {
			t.Errorf("%v", err)
		}
	}
	// Without a user all programs would be the same one.
	if _, err := a.Commit(ctx, tarn.CommitID{Number: 1}, p); !errors.Is(err, tarn.ErrInvalid) || !strings.Contains(err.Error(), "User is empty") {
		t.Errorf("%v", err)
	}
	if _, err := tarn.UnmarshalPrepared([]byte(`{"version":1,"deltas":[{"Added":[null]}]}`)); err == nil {
		t.Error("a file that is null was accepted")
	}
}
