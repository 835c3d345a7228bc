package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
	"github.com/tarnlake/tarn/types"
)

// Reader gives batches until io.EOF. It is used by one goroutine at a time.
type Reader interface {
	Next(ctx context.Context) (rec arrow.RecordBatch, kinds []types.RowKind, err error)
	Close() error
}

// Options of a Session. The zero value has the defaults.
type Options struct {
	Database string // current database
	Threads  int    // of the engine; 0 is all
	Memory   string // of the engine: "2GB"; "" is its default
	TempDir  string // where the engine spills; "" is nowhere
	// NoRaw reads all files through this library, none through the engine's own Parquet reader.
	NoRaw bool
	Clock func() time.Time // for procedures that are given an age; nil is time.Now
}

// Session runs statements on a catalog, one at a time: the next can start when the Result of the last is closed. Statements that run
// at the same time need sessions of their own; all may use one catalog.
type Session struct {
	cat    *tarn.Catalog
	closed bool
	o      Options
	db     string
	engine engine
	scans  []uint64               // of the statement that runs
	views  []string               // of it, too
	tables map[string]*tarn.Table // that it reads, pinned: it sees one state of each
	exact  bool                   // it writes digits that the engine may not hold
	busy   atomic.Bool

	schemas map[string]string // variables of the engine by the columns that they describe
}

// NewSession makes a Session. The engine starts with the first query.
func NewSession(cat *tarn.Catalog, o Options) *Session {
	return &Session{cat: cat, o: o, db: o.Database, tables: map[string]*tarn.Table{}, schemas: map[string]string{}}
}

func (s *Session) now() time.Time {
	if s.o.Clock != nil {
		return s.o.Clock()
	}
	return time.Now()
}

// Database is the current database, "" for none.
func (s *Session) Database() string { return s.db }

// Close ends the session, which runs nothing any more. The result of a statement is closed before.
func (s *Session) Close() error {
	if !s.busy.CompareAndSwap(false, true) {
		return errBusy
	}
	defer s.busy.Store(false)
	s.closed = true
	if s.engine == nil {
		return nil
	}
	err := s.engine.close()
	s.engine = nil
	clear(s.schemas)
	return err
}

// Result is what a statement gave: rows, or a message. It has to be closed before the next statement
// runs.
type Result struct {
	Fields  []types.Field // nil: no rows
	Message string        // what was done, for people
	rows    rows
	mem     []arrow.RecordBatch
	missing error // comes behind mem: what it could not be told of
	schema  *arrow.Schema
	done    func()
	busy    *atomic.Bool // of the session
	closed  bool
}

// Next gives the next rows, io.EOF at the end.
func (r *Result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if r.closed {
		return nil, fmt.Errorf("%w: the result is closed", tarn.ErrInvalid)
	}
	if r.rows == nil {
		if len(r.mem) == 0 && r.missing != nil {
			return nil, &PartialError{r.missing}
		}
		if len(r.mem) == 0 {
			return nil, io.EOF
		}
		rec := r.mem[0]
		r.mem = r.mem[1:]
		return rec, nil
	}
	for {
		rec, err := r.rows.next(ctx)
		if err != nil {
			return nil, err
		}
		if rec.NumRows() == 0 {
			continue
		}
		return conform(rec, r.schema)
	}
}

// Close ends the statement.
func (r *Result) Close() error {
	var err error
	r.closed = true
	if r.rows != nil {
		err = r.rows.close()
		r.rows = nil
	}
	if r.done != nil {
		r.done()
		r.done = nil
	}
	if r.busy != nil {
		r.busy.Store(false)
		r.busy = nil
	}
	return err
}

var errBusy = &Error{Msg: "the session runs a statement already", Hint: "close its result first, or use another session", Err: tarn.ErrInvalid}

// Query runs one statement. Values stand for its parameters ? or $1, $2, …, wherever a constant may stand: those that database/sql
// takes, which are nil, booleans, numbers, strings, []byte (BYTES) and time.Time (TIMESTAMP_LTZ, microseconds), pointers to them and
// driver.Valuer. The Result has to be closed, read to its end or not.
func (s *Session) Query(ctx context.Context, statement string, values ...any) (*Result, error) {
	if len(values) > 0 {
		var err error
		if statement, err = bind(statement, values); err != nil {
			return nil, err
		}
	}
	stmts, err := parse.Script(statement)
	if err != nil {
		return nil, err
	}
	if len(stmts) != 1 {
		return nil, &Error{Msg: fmt.Sprintf("%d statements, expected one", len(stmts)), Hint: "Run runs scripts", Err: tarn.ErrInvalid}
	}
	return s.exec(ctx, statement, stmts[0])
}

// Run runs the statements of a script one after the other. each is called with the result of every
// statement and closes nothing; nil is not interested in them.
func (s *Session) Run(ctx context.Context, script string, each func(*Result) error) error {
	if each == nil {
		each = func(*Result) error { return nil }
	}
	stmts, err := parse.Script(script)
	if err != nil {
		return err
	}
	for _, st := range stmts {
		if err := s.runOne(ctx, script, st, each); err != nil {
			return &StatementError{Line: strings.Count(script[:st.Range().Start], "\n") + 1, Err: err}
		}
	}
	return nil
}

func (s *Session) runOne(ctx context.Context, script string, st parse.Statement, each func(*Result) error) (err error) {
	r, err := s.exec(ctx, script, st)
	if err != nil {
		return err
	}
	defer func() { // also if each panics
		if cerr := r.Close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
	}()
	return each(r)
}

func (s *Session) exec(ctx context.Context, script string, st parse.Statement) (*Result, error) {
	if s.cat == nil {
		return nil, fmt.Errorf("sql: %w: the session has no catalog (nil)", tarn.ErrInvalid)
	}
	if !s.busy.CompareAndSwap(false, true) {
		return nil, errBusy
	}
	var r *Result
	err := fmt.Errorf("sql: %w: the session is closed", tarn.ErrInvalid)
	if !s.closed {
		r, err = s.execOne(ctx, script, st)
	}
	if err != nil {
		s.busy.Store(false)
		return nil, err
	}
	r.busy = &s.busy
	return r, nil
}

func (s *Session) execOne(ctx context.Context, script string, st parse.Statement) (*Result, error) {
	s.tables = map[string]*tarn.Table{}
	if q := s.engineTable(ctx, script, st); q != nil {
		return s.query(ctx, script, q)
	}
	return s.execTarn(ctx, script, st)
}

func (s *Session) execTarn(ctx context.Context, script string, st parse.Statement) (*Result, error) {
	switch x := st.(type) {
	case *parse.Query:
		return s.query(ctx, script, x)
	case *parse.CreateDatabase:
		opts := optionMap(x.Options)
		if x.Comment != "" {
			opts["comment"] = x.Comment
		}
		err := s.cat.CreateDatabase(ctx, x.Name, opts)
		if x.IfNotExists && errors.Is(err, tarn.ErrExist) {
			return message("database %s is there already", x.Name), nil
		}
		return done(err, "database %s created", x.Name)
	case *parse.DropDatabase:
		err := s.cat.DropDatabase(ctx, x.Name, x.Cascade)
		if x.IfExists && errors.Is(err, tarn.ErrNotExist) {
			return message("there is no database %s", x.Name), nil
		}
		return done(err, "database %s dropped", x.Name)
	case *parse.Use:
		if _, err := s.cat.DatabaseOptions(ctx, x.Database); err != nil {
			return nil, err
		}
		s.db = x.Database
		return message("current database is %s", x.Database), nil
	case *parse.CreateTable:
		return s.createTable(ctx, script, x)
	case *parse.DropTable:
		return s.dropTables(ctx, x)
	case *parse.AlterTable:
		return s.alterTable(ctx, x)
	case *parse.Truncate:
		return s.truncate(ctx, x)
	case *parse.Insert:
		return s.insert(ctx, script, x)
	case *parse.Delete:
		return s.delete(ctx, script, x)
	case *parse.Update:
		return s.update(ctx, script, x)
	case *parse.Show:
		return s.show(ctx, x)
	case *parse.Describe:
		if x.Database != "" {
			return s.describeDatabase(ctx, x.Database)
		}
		return s.describe(ctx, x)
	case *parse.Call:
		return s.call(ctx, x)
	case *parse.Set:
		return s.set(x)
	}
	return nil, fmt.Errorf("%w: this statement", tarn.ErrUnsupported)
}

func message(format string, args ...any) *Result {
	return &Result{Message: fmt.Sprintf(format, args...)}
}

func done(err error, format string, args ...any) (*Result, error) {
	if err != nil {
		return nil, err
	}
	return message(format, args...), nil
}

func optionMap(o []parse.Option) map[string]string {
	out := map[string]string{}
	for _, x := range o {
		out[x.Key] = x.Value
	}
	return out
}

// name completes a table's name with the current database.
func (s *Session) name(n parse.TableName) (string, error) {
	db := n.Database
	if db == "" {
		db = s.db
	}
	if db == "" {
		return "", &Error{Msg: fmt.Sprintf("table %s: no database is named", n.Table), Hint: "write database.table, or USE a database first", Err: tarn.ErrInvalid}
	}
	return db + "." + n.Table, nil
}

func (s *Session) table(ctx context.Context, n parse.TableName) (*tarn.Table, error) {
	name, err := s.name(n)
	if err != nil {
		return nil, err
	}
	t, err := s.cat.Table(ctx, name)
	if errors.Is(err, tarn.ErrNotExist) {
		return nil, s.nearest(ctx, name, err)
	}
	return t, err
}

// nearest adds the name of a table that is spelled almost alike.
func (s *Session) nearest(ctx context.Context, name string, err error) error {
	db, tab, _ := strings.Cut(name, ".")
	tables, _ := s.cat.Tables(ctx, db) // those that can be told of
	if n := parse.Nearest(tab, tables); n != "" {
		return &Error{Msg: err.Error(), Hint: "did you mean " + db + "." + n + "?", Err: err}
	}
	return err
}

// start gives the engine, started.
func (s *Session) start() (engine, error) {
	if s.engine == nil {
		e, err := openEngine(engineOptions{threads: s.o.Threads, memory: s.o.Memory, tempDir: s.o.TempDir})
		if err != nil {
			return nil, err
		}
		s.engine = e
	}
	return s.engine, nil
}

func (s *Session) set(x *parse.Set) (*Result, error) {
	if x.Key == "tarn.sql.raw-files" {
		if v := strings.ToLower(x.Value); !x.Reset && v != "true" && v != "false" {
			return nil, fmt.Errorf("%w: %s: %q is neither true nor false", tarn.ErrInvalid, x.Key, x.Value)
		}
		s.o.NoRaw = !x.Reset && strings.EqualFold(x.Value, "false")
		return message("tarn.sql.raw-files is %t", !s.o.NoRaw), nil
	}
	return nil, &Error{Msg: fmt.Sprintf("there is no setting %q of the session", x.Key), Hint: "there is tarn.sql.raw-files; settings of DuckDB are set without quotes: SET threads = 4", Err: tarn.ErrInvalid}
}
