package cdc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/internal/fileio"
)

// RunOptions of Run. The zero value has the defaults.
type RunOptions struct {
	// Source is used instead of the one that the job's file names.
	Source source.Source
	// Stdin is what a source of "-" reads; nil is os.Stdin.
	Stdin io.Reader
	// Stop ends the job after one more checkpoint when it is closed.
	Stop <-chan struct{}
	// Once ends the job when the source has no more for the moment.
	Once bool
	// Progress is called after each fetch and each checkpoint; nil is none.
	Progress func(Progress)
	Log      *slog.Logger
	Clock    func() time.Time
	// NoSync and Events are for the catalog.
	NoSync bool
	Events *tarn.Events
}

// Progress is where a job stands.
type Progress struct {
	Rows        int64 // applied by this run
	Tables      int
	Failed      int
	Checkpoint  int64     // newest one, -1: none
	LastCommit  time.Time // when it was committed
	EventMillis int64     // when the source made the newest change applied
	Skipped     int64     // rows and messages dropped by on-error
}

// Summary is what a run did.
type Summary struct {
	Progress
	// FailedTables are those set aside, with the reasons; the others are complete.
	FailedTables map[string]error
}

// runner is a job that runs.
type runner struct {
	cfg  *Config
	o    RunOptions
	cat  *tarn.Catalog
	job  *tarn.Job
	w    *Writer
	src  source.Source
	p    Progress
	last []byte // position of the newest event applied
	done []byte // position of the newest checkpoint
	at   int64  // its number
	// seen and doneSeen are how many events the source has given up to last and done.
	seen, doneSeen int64
	leased         time.Time
	bytes          int64 // of the events since the newest checkpoint
	dead           *os.File
	lost           error // of the dead-letter file
	// back is where tables go back to that are set aside.
	back map[string]tarn.TableState
	told map[string]bool // tables of which it was logged that they are set aside
	// held are tables that are set aside with what was prepared for them: nobody can tell whether it was committed, or
	// the next start has to try again.
	held map[string]tarn.TableState
	kept kept
}

// Run runs a job, with defaults where it says nothing, until its source ends, Stop is closed or the context ends. It goes on from the job's
// newest checkpoint. Tables that fail are in the Summary; the error is about the job as a whole.
func Run(ctx context.Context, cfg *Config, o RunOptions) (sum *Summary, err error) {
	if cfg == nil {
		return &Summary{}, errNoJob
	}
	c := *cfg
	if err := c.complete(o.Source == nil); err != nil {
		return &Summary{}, fmt.Errorf("job %s: %w", cfg.Name, err)
	}
	r := &runner{cfg: &c, o: o, back: map[string]tarn.TableState{}, held: map[string]tarn.TableState{}, told: map[string]bool{}, at: -1}
	if r.o.Clock == nil {
		r.o.Clock = time.Now //nolint:forbidigo // the default
	}
	if r.o.Log == nil {
		r.o.Log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if cerr := r.close(); err == nil {
			err = cerr
		}
		sum = &Summary{Progress: r.p, FailedTables: map[string]error{}}
		if r.w != nil {
			sum.FailedTables = r.w.Failed()
		}
	}()
	if err := r.open(ctx); err != nil {
		return nil, fmt.Errorf("job %s: %w", cfg.Name, err)
	}
	if err := r.run(ctx); err != nil {
		return nil, fmt.Errorf("job %s: %w", cfg.Name, err)
	}
	return nil, nil
}

func (r *runner) open(ctx context.Context) error {
	var err error
	r.cat, err = tarn.Open(ctx, r.cfg.Sink.Warehouse, &tarn.OpenOptions{
		FileIO: r.cfg.Sink.Catalog, NoSync: r.o.NoSync, Log: r.o.Log, Clock: r.o.Clock, Events: r.o.Events,
	})
	if err != nil {
		return err
	}
	if r.job, err = r.cat.OpenJob(ctx, r.cfg.Name); err != nil {
		return err
	}
	host, _ := os.Hostname()
	other, err := r.job.Lease(ctx, fmt.Sprintf("%s, process %d", host, os.Getpid()), r.o.Clock(), leaseTime)
	if err != nil {
		return err
	}
	if other != "" {
		return &runsError{fmt.Sprintf("it runs already (%s): stop that process, or wait %s after its end", other, leaseTime)}
	}
	if err := r.openDeadLetters(); err != nil {
		return err
	}
	wo, err := r.cfg.writerOptions(r.job.User())
	if err != nil {
		return err
	}
	wo.BadRow, wo.Clock, wo.Pin = r.badRow, r.o.Clock, r.job.User()
	wo.truncated = func(table string) { r.count(table).Truncates++ }
	wo.Warn = func(table string, err error) {
		r.o.Log.Warn("table needs a look", "table", table, "err", err)
	}
	if r.w, err = NewWriter(r.cat, wo); err != nil {
		return err
	}
	if r.src = r.o.Source; r.src == nil {
		in := r.o.Stdin
		if in == nil {
			in = os.Stdin
		}
		if r.src, err = OpenSource(r.cfg, in); err != nil {
			return err
		}
	}
	from, err := r.recover(ctx)
	if err != nil {
		return err
	}
	return r.src.Open(ctx, from)
}

const leaseTime = 30 * time.Second

// runsError is an ErrFenced of a job that was not even started.
type runsError struct{ text string }

func (e *runsError) Error() string        { return e.text }
func (e *runsError) Is(target error) bool { return target == tarn.ErrFenced }

// badRow follows on-error.
func (r *runner) badRow(table string, raw []byte, err error) error {
	switch r.cfg.OnError.Mode {
	case "skip":
		r.p.Skipped++
		r.count(table).LeftOut++
		return nil
	case "dead-letter":
		r.p.Skipped++
		r.count(table).LeftOut++
		return r.deadLetter(table, raw, err)
	}
	return err
}

func (r *runner) openDeadLetters() error {
	if r.cfg.OnError.Mode != "dead-letter" {
		return nil
	}
	f, err := os.OpenFile(r.cfg.OnError.DeadLetter, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("on-error: dead-letter file: %w", err)
	}
	r.dead = f
	return nil
}

func (r *runner) deadLetter(table string, raw []byte, cause error) error {
	letter := map[string]any{"table": table, "error": cause.Error(), "event": string(raw), "time": r.o.Clock().UTC()}
	if !utf8.Valid(raw) { // which JSON cannot hold
		letter["eventBase64"] = raw
	}
	line, err := json.Marshal(letter)
	if err != nil {
		return err
	}
	if _, err = r.dead.Write(append(line, '\n')); err != nil {
		r.lost = fmt.Errorf("dead-letter file: %w", err)
	}
	return err
}

func (r *runner) run(ctx context.Context) error {
	every := time.Duration(r.cfg.Checkpoint.Every)
	next := r.o.Clock().Add(every)
	for {
		evs, err := r.fetch(ctx, next)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		for i := range evs {
			if err := r.w.Apply(ctx, &evs[i]); err != nil {
				if msg := (*MessageError)(nil); errors.As(err, &msg) { // what came before it is not held up
					return errors.Join(err, r.checkpoint(ctx))
				}
				return err
			}
			if r.lost != nil {
				return r.lost
			}
			if evs[i].Position != nil {
				if r.last, err = evs[i].Position.MarshalBinary(); err != nil {
					return err
				}
				r.seen++
			}
			r.bytes += int64(len(evs[i].Raw))
			r.p.EventMillis = max(r.p.EventMillis, evs[i].Millis)
		}
		if left := r.w.Skipping(); end && len(left) > 0 {
			return fmt.Errorf("the source ended before the place up to which %s has its changes: it is not the one that the job read before; give it the old one, or reset the job", strings.Join(left, ", "))
		}
		stop := end || r.stopped() || r.o.Once && len(evs) == 0
		if now := r.o.Clock(); stop || !now.Before(next) || r.w.Buffered() >= r.cfg.Checkpoint.Rows || r.bytes >= int64(r.cfg.Checkpoint.Bytes) {
			if err := r.checkpoint(ctx); err != nil {
				return err
			}
			next = r.o.Clock().Add(every)
		}
		r.tell()
		if stop {
			return nil
		}
	}
}

func (r *runner) stopped() bool {
	select {
	case <-r.o.Stop:
		return r.o.Stop != nil
	default:
		return false
	}
}

// fetch waits for events until the next checkpoint is due or the job has to stop.
func (r *runner) fetch(ctx context.Context, next time.Time) ([]decode.Event, error) {
	wait := max(next.Sub(r.o.Clock()), time.Millisecond)
	fctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if r.o.Stop != nil {
		go func() {
			select {
			case <-r.o.Stop:
				cancel()
			case <-fctx.Done():
			}
		}()
	}
	evs, err := r.src.Fetch(fctx)
	if err != nil && fctx.Err() != nil && ctx.Err() == nil {
		return nil, nil // time for a checkpoint
	}
	return evs, err
}

func (r *runner) tell() {
	failed := r.w.Failed()
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if _, known := r.held[name]; !known && !r.told[name] { // a job may run for long before it ends with its reasons
			r.told[name] = true
			r.o.Log.Warn("table is set aside", "table", name, "err", failed[name])
		}
	}
	r.p.Rows, r.p.Tables, r.p.Failed, r.p.Checkpoint = r.w.Rows(), len(r.w.Tables()), len(failed), r.at
	if r.o.Progress != nil {
		r.o.Progress(r.p)
	}
}

// checkpoint writes down what is prepared, then commits it, then tells the source.
func (r *runner) checkpoint(ctx context.Context) error {
	parts, err := r.w.Prepare(ctx)
	if err != nil {
		return err
	}
	r.bytes = 0
	if bytes.Equal(r.last, r.done) && !anyPrepared(parts) {
		return r.renew(ctx, leaseTime/3)
	}
	if r.dead != nil && !r.o.NoSync { // what was left out is on the disk before the place behind it
		if err := r.dead.Sync(); err != nil {
			return fmt.Errorf("dead-letter file: %w", err)
		}
	}
	ck := &tarn.Checkpoint{Position: encodePosition(r.last), Events: r.seen, Millis: r.o.Clock().UnixMilli()}
	r.kept.Newest = max(r.kept.Newest, r.p.EventMillis)
	for i := range parts {
		if p := &parts[i]; p.Failed == nil && p.rows > 0 {
			r.count(p.Table).Rows += p.rows
		}
	}
	if ck.Extra, err = r.extra(); err != nil {
		return err
	}
	for i := range parts {
		st, err := r.state(&parts[i])
		if err != nil {
			return err
		}
		ck.Tables = append(ck.Tables, st)
	}
	for _, name := range slices.Sorted(maps.Keys(r.back)) { // tables without events in this run are of the job too
		if !slices.ContainsFunc(parts, func(p TablePrepared) bool { return p.Table == name }) {
			r.back[name] = tarn.TableState{Table: name, Position: ck.Position, Events: ck.Events, At: r.job.Last() + 1}
			ck.Tables = append(ck.Tables, r.back[name])
		}
	}
	for i := range ck.Tables {
		if st := &ck.Tables[i]; st.Incarnation == "" {
			st.Incarnation = r.w.born[st.Table]
		}
	}
	if err := r.job.Write(ctx, ck); err != nil {
		return err
	}
	if err := r.commit(ctx, ck, parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Failed == nil && p.ahead == nil {
			r.back[p.Table] = tarn.TableState{Table: p.Table, Position: ck.Position, Events: ck.Events, At: ck.Number}
		}
	}
	r.done, r.doneSeen, r.at = r.last, r.seen, ck.Number
	r.p.LastCommit = r.o.Clock()
	if err := r.renew(ctx, 0); err != nil {
		return err
	}
	if r.done != nil && len(r.w.Failed()) == 0 {
		if err := r.src.Ack(ctx, r.done); err != nil {
			return err
		}
	}
	return r.job.Trim(ctx, 3)
}

// renew says that the job still runs, if that was not said for some time: a source may be still for long.
func (r *runner) renew(ctx context.Context, after time.Duration) error {
	now := r.o.Clock()
	if now.Sub(r.leased) < after {
		return nil
	}
	r.leased = now
	_, err := r.job.Lease(ctx, "", now, leaseTime)
	return err
}

func anyPrepared(parts []TablePrepared) bool {
	for _, p := range parts {
		if p.Prepared != nil {
			return true
		}
	}
	return false
}

// state is a table's part of a checkpoint.
func (r *runner) state(p *TablePrepared) (tarn.TableState, error) {
	if st, ok := r.held[p.Table]; ok {
		return st, nil
	}
	st, ok := r.back[p.Table]
	if !ok { // it had no changes before the newest checkpoint that it does not hold
		st = tarn.TableState{Table: p.Table, Position: encodePosition(r.done), Events: r.doneSeen, At: r.at}
	}
	st.Ahead = encodePosition(p.ahead)
	if p.Failed != nil {
		st.Status, st.Reason = tarn.TableFailed, p.Failed.Error()
		return st, nil
	}
	if p.Prepared != nil {
		b, err := p.Prepared.MarshalBinary()
		if err != nil {
			return st, err
		}
		st.Prepared, st.Base = b, p.Prepared.Base()
	}
	return st, nil
}

// commit commits all tables, some at the same time. One that fails is set aside.
func (r *runner) commit(ctx context.Context, ck *tarn.Checkpoint, parts []TablePrepared) error {
	if err := r.job.Verify(ctx); err != nil {
		return err
	}
	pins := make([]error, len(parts))
	errs := eachTable("commit", parts, func(i int) error {
		p := &parts[i]
		if p.Prepared == nil {
			return nil
		}
		_, err := r.w.Commit(ctx, ck.Number, p)
		if err == nil {
			// Snapshots that tell whether this was committed do not expire before the next time.
			pins[i] = p.t.t.PutConsumer(ctx, r.job.User(), p.Prepared.Base()+1)
		}
		return err
	})
	for i := range parts {
		switch err := cmp.Or(errs[i], pins[i]); {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case ofStorage(err):
			return err
		default:
			parts[i].Failed = err
			k := slices.IndexFunc(ck.Tables, func(s tarn.TableState) bool { return s.Table == parts[i].Table })
			r.hold(&ck.Tables[k], stepOf(ck), err)
		}
	}
	return nil
}

func encodePosition(p []byte) json.RawMessage {
	if p == nil {
		return nil
	}
	return json.RawMessage(`"` + base64.StdEncoding.EncodeToString(p) + `"`)
}

func decodePosition(m json.RawMessage) ([]byte, error) {
	if len(m) == 0 || string(m) == "null" {
		return nil, nil
	}
	var s string
	if err := json.Unmarshal(m, &s); err != nil {
		return nil, fmt.Errorf("position in checkpoint: %w", err)
	}
	return base64.StdEncoding.DecodeString(s)
}

func (r *runner) close() error {
	var errs []error
	if r.w != nil {
		errs = append(errs, r.w.Close())
	}
	if r.src != nil {
		errs = append(errs, r.src.Close())
	}
	if r.dead != nil {
		errs = append(errs, r.dead.Close())
	}
	if r.job != nil {
		ctx, cancel := context.WithTimeout(context.Background(), fileio.Patience)
		defer cancel()
		errs = append(errs, r.job.Release(ctx))
	}
	return errors.Join(errs...)
}
