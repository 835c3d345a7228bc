//go:build duckdb_arrow && cgo

package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// duck is DuckDB in this process, in memory. It goes below the database/sql driver: the table
// function needs vectors and the result streams.
type duck struct {
	db   mapping.Database
	conn mapping.Connection
	aux  mapping.Connection // converts Arrow while conn runs a query

	mu    sync.Mutex
	last  uint64
	scans map[uint64]*scanSource
	broke error // of a scan of the query that runs

	shadows []*tableFunction
}

func openEngine(o engineOptions) (engine, error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return nil, errors.New("duckdb: cannot make a configuration")
	}
	defer mapping.DestroyConfig(&config)
	settings := [][2]string{
		// Unknown extensions would be looked for on the network.
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		{"TimeZone", "UTC"},
		{"errors_as_json", "true"},
		// Footers are kept by file and time, those of files younger than ten seconds are read again.
		{"parquet_metadata_cache", "true"},
	}
	if o.threads > 0 {
		settings = append(settings, [2]string{"threads", strconv.Itoa(o.threads)})
	}
	if o.memory != "" {
		settings = append(settings, [2]string{"memory_limit", o.memory})
	}
	if o.tempDir != "" {
		settings = append(settings, [2]string{"temp_directory", o.tempDir})
	}
	for _, s := range settings[:2] {
		if mapping.SetConfig(config, s[0], s[1]) == mapping.StateError {
			return nil, fmt.Errorf("duckdb: setting %s = %s is refused", s[0], s[1])
		}
	}
	d := &duck{scans: map[uint64]*scanSource{}}
	var msg string
	if mapping.OpenExt(":memory:", &d.db, config, &msg) == mapping.StateError {
		return nil, fmt.Errorf("duckdb: open: %s", msg)
	}
	if mapping.Connect(d.db, &d.conn) == mapping.StateError || mapping.Connect(d.db, &d.aux) == mapping.StateError {
		return nil, errors.Join(errors.New("duckdb: cannot connect"), d.close())
	}
	for _, s := range settings[2:] {
		if err := d.exec(context.Background(), "SET "+s[0]+" = '"+s[1]+"'"); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	if err := d.registerScan(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *duck) close() error {
	if d.aux.Ptr != nil {
		mapping.Disconnect(&d.aux)
	}
	if d.conn.Ptr != nil {
		mapping.Disconnect(&d.conn)
	}
	mapping.Close(&d.db)
	return nil
}

func (d *duck) addScan(s *scanSource) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	d.scans[d.last] = s
	return d.last
}

func (d *duck) dropScan(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.scans, id)
}

func (d *duck) scan(id uint64) *scanSource {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.scans[id]
}

// interruptible calls f and interrupts what the connection does when ctx ends meanwhile.
func (d *duck) interruptible(ctx context.Context, f func()) {
	if ctx.Done() == nil {
		f()
		return
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			mapping.Interrupt(d.conn)
		case <-done:
		}
	}()
	f()
	close(done)
	<-stopped
}

func (d *duck) exec(ctx context.Context, sql string) error {
	r, err := d.query(ctx, sql)
	if err != nil {
		return err
	}
	for {
		if _, err := r.next(ctx); err != nil {
			if err := r.close(); err != nil {
				return err
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// query runs all but the last statement of the text and streams the last: a PIVOT is several. The error is a
// *foreignColumns, and the last statement did not run, if it has columns that the format has no type for.
func (d *duck) query(ctx context.Context, sql string) (rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.scanBroke(nil)
	var extracted mapping.ExtractedStatements
	n := mapping.ExtractStatements(d.conn, sql, &extracted)
	defer mapping.DestroyExtracted(&extracted)
	if n == 0 {
		if msg := mapping.ExtractStatementsError(extracted); msg != "" {
			return nil, d.failed(ctx, msg)
		}
		return nil, errors.New("there is no statement")
	}
	for i := range n {
		r, err := d.run(ctx, extracted, i, i == n-1)
		if err != nil {
			return nil, err
		}
		if i == n-1 {
			return r, nil
		}
		if err := r.close(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (d *duck) run(ctx context.Context, extracted mapping.ExtractedStatements, i mapping.IdxT, last bool) (*duckRows, error) {
	r := &duckRows{d: d}
	if mapping.PrepareExtractedStatement(d.conn, extracted, i, &r.stmt) == mapping.StateError {
		err := d.failed(ctx, mapping.PrepareError(r.stmt))
		mapping.DestroyPrepare(&r.stmt)
		return nil, err
	}
	if last {
		if err := foreign(r.stmt); err != nil {
			mapping.DestroyPrepare(&r.stmt)
			return nil, err
		}
	}
	var state mapping.State
	d.interruptible(ctx, func() { state = bindings.ExecutePreparedStreaming(r.stmt, &r.res) })
	if state == mapping.StateError {
		err := d.failed(ctx, mapping.ResultError(&r.res))
		return nil, errors.Join(err, r.close())
	}
	if err := r.readSchema(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	switch mapping.ResultReturnType(r.res) {
	case mapping.ResultTypeNothing:
		r.returned = nothing
	case mapping.ResultTypeChangedRows:
		r.returned = changedRows
	}
	return r, nil
}

// failed makes an error of DuckDB's message; that the context ended comes first, then what went wrong in a scan.
func (d *duck) failed(ctx context.Context, msg string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broke != nil {
		return d.broke
	}
	return engineMessage(msg)
}

func (d *duck) scanBroke(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broke = err
}

// duckRows is a streaming result.
type duckRows struct {
	d      *duck
	stmt   mapping.PreparedStatement
	res    mapping.Result
	opts   arrowmapping.ArrowOptions
	arrow  *arrow.Schema
	closed bool

	returned resultKind
}

func (r *duckRows) kind() resultKind { return r.returned }

func (r *duckRows) readSchema() error {
	n := mapping.ColumnCount(&r.res)
	names := make([]string, n)
	kinds := make([]mapping.LogicalType, n)
	for i := range n {
		names[i] = mapping.ColumnName(&r.res, i)
		kinds[i] = mapping.ColumnLogicalType(&r.res, i)
	}
	defer func() {
		for i := range kinds {
			mapping.DestroyLogicalType(&kinds[i])
		}
	}()
	r.opts = mapping2arrow(&r.res)
	schema, ed := arrowmapping.NewArrowSchema(r.opts, kinds, names)
	if err := errorData(ed); err != nil {
		return err
	}
	r.arrow = schema
	return nil
}

func mapping2arrow(r *mapping.Result) arrowmapping.ArrowOptions {
	return arrowmapping.ResultGetArrowOptions(r)
}

func errorData(ed mapping.ErrorData) error {
	defer mapping.DestroyErrorData(&ed)
	if ed.Ptr != nil && mapping.ErrorDataHasError(ed) {
		return engineMessage(mapping.ErrorDataMessage(ed))
	}
	return nil
}

func (r *duckRows) schema() *arrow.Schema { return r.arrow }

func (r *duckRows) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var chunk mapping.DataChunk
		r.d.interruptible(ctx, func() { chunk = mapping.FetchChunk(r.res) })
		if chunk.Ptr == nil {
			if msg := mapping.ResultError(&r.res); msg != "" {
				return nil, r.d.failed(ctx, msg)
			}
			return nil, io.EOF
		}
		if mapping.DataChunkGetSize(chunk) == 0 {
			mapping.DestroyDataChunk(&chunk)
			continue
		}
		rec, ed := arrowmapping.DataChunkToArrowArray(r.opts, r.arrow, chunk)
		mapping.DestroyDataChunk(&chunk)
		if err := errorData(ed); err != nil {
			return nil, err
		}
		// The memory is DuckDB's and goes with Release: batches of ours are Go's.
		own := cloneRecord(rec)
		rec.Release()
		return own, nil
	}
}

func (r *duckRows) close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.opts.Ptr != nil {
		arrowmapping.DestroyArrowOptions(&r.opts)
	}
	mapping.DestroyResult(&r.res)
	mapping.DestroyPrepare(&r.stmt)
	return nil
}
