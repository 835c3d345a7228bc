//go:build duckdb_arrow && cgo

package sql

/*
#include <stdlib.h>
#include <stdint.h>

void tarn_scan_bind(void *);
void tarn_scan_init(void *);
void tarn_scan_local_init(void *);
void tarn_scan_next(void *, void *);
void tarn_scan_delete(void *);
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/tarnlake/tarn/types"
)

// handle puts a Go value behind a pointer that C may keep: C memory with the number of a cgo.Handle.
func handle(v any) unsafe.Pointer {
	p := C.malloc(8)
	*(*C.uintptr_t)(p) = C.uintptr_t(cgo.NewHandle(v))
	return p
}

func unhandle[T any](p unsafe.Pointer) T {
	return cgo.Handle(*(*C.uintptr_t)(p)).Value().(T)
}

// scanGlobal is one run of tarn_scan: the columns wanted and which part comes next.
type scanGlobal struct {
	source  *scanSource
	columns []int
	next    atomic.Int64
}

// scanLocal is what one thread reads.
type scanLocal struct {
	ctx       context.Context
	reader    Reader
	rec       arrow.RecordBatch // what is left of the last batch starts at pos
	pos       int64
	converted arrowmapping.ArrowConvertedSchema
	schema    *arrow.Schema
}

func (l *scanLocal) Close() error {
	if l.converted.Ptr != nil {
		arrowmapping.DestroyArrowConvertedSchema(&l.converted)
	}
	if l.reader != nil {
		return l.reader.Close()
	}
	return nil
}

// tableFunction is one that the engine knows.
type tableFunction struct {
	d      *duck
	source *scanSource // that it reads; nil: the one that its parameter names
}

// registerScan makes the table function tarn_scan(id).
func (d *duck) registerScan() error {
	id := mapping.CreateLogicalType(mapping.TypeBigInt)
	defer mapping.DestroyLogicalType(&id)
	return d.register("tarn_scan", &tableFunction{d: d}, id)
}

func (d *duck) register(name string, fn *tableFunction, params ...mapping.LogicalType) error {
	f := mapping.CreateTableFunction()
	defer mapping.DestroyTableFunction(&f)
	mapping.TableFunctionSetName(f, name)
	for _, p := range params {
		mapping.TableFunctionAddParameter(f, p)
	}
	mapping.TableFunctionSetExtraInfo(f, handle(fn), C.tarn_scan_delete)
	mapping.TableFunctionSetBind(f, C.tarn_scan_bind)
	mapping.TableFunctionSetInit(f, C.tarn_scan_init)
	mapping.TableFunctionSetLocalInit(f, C.tarn_scan_local_init)
	mapping.TableFunctionSetFunction(f, C.tarn_scan_next)
	mapping.TableFunctionSupportsProjectionPushdown(f, true)
	if mapping.RegisterTableFunction(d.conn, f) == mapping.StateError {
		return fmt.Errorf("duckdb: cannot register %s", name)
	}
	return nil
}

func (d *duck) shadow(i int, fields []types.Field) (string, error) {
	for k := len(d.shadows); k <= i; k++ {
		fn := &tableFunction{d, &scanSource{}}
		if err := d.register(fmt.Sprint(shadowPrefix, k), fn); err != nil {
			return "", err
		}
		d.shadows = append(d.shadows, fn)
	}
	d.shadows[i].source = &scanSource{fields: fields, rows: -1}
	return fmt.Sprint("(SELECT * FROM ", shadowPrefix, i, "())"), nil
}

//export tarn_scan_delete
func tarn_scan_delete(p unsafe.Pointer) {
	h := cgo.Handle(*(*C.uintptr_t)(p))
	if c, ok := h.Value().(io.Closer); ok {
		_ = c.Close() // of a reader: the query has its result or its error already
	}
	h.Delete()
	C.free(p)
}

//export tarn_scan_bind
func tarn_scan_bind(p unsafe.Pointer) {
	info := mapping.BindInfo{Ptr: p}
	fn := unhandle[*tableFunction](mapping.BindGetExtraInfo(info))
	s := fn.source
	if s == nil {
		v := mapping.BindGetParameter(info, 0)
		id := uint64(mapping.GetInt64(v))
		mapping.DestroyValue(&v)
		if s = fn.d.scan(id); s == nil {
			mapping.BindSetError(info, fmt.Sprintf("tarn_scan(%d): there is no such scan", id))
			return
		}
	}
	for _, f := range s.fields {
		t := logicalType(f.Type)
		mapping.BindAddResultColumn(info, f.Name, t)
		mapping.DestroyLogicalType(&t)
	}
	if s.rows >= 0 {
		mapping.BindSetCardinality(info, mapping.IdxT(s.rows), false)
	}
	mapping.BindSetBindData(info, handle(s), C.tarn_scan_delete)
}

//export tarn_scan_init
func tarn_scan_init(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	g := &scanGlobal{source: unhandle[*scanSource](mapping.InitGetBindData(info))}
	for i := range mapping.InitGetColumnCount(info) {
		c := mapping.InitGetColumnIndex(info, i)
		if c < mapping.IdxT(len(g.source.fields)) { // else a virtual column, of which nothing is read
			g.columns = append(g.columns, int(c))
		}
	}
	mapping.InitSetMaxThreads(info, mapping.IdxT(max(1, g.source.parts)))
	mapping.InitSetInitData(info, handle(g), C.tarn_scan_delete)
}

//export tarn_scan_local_init
func tarn_scan_local_init(p unsafe.Pointer) {
	info := mapping.InitInfo{Ptr: p}
	s := unhandle[*scanSource](mapping.InitGetBindData(info))
	mapping.InitSetInitData(info, handle(&scanLocal{ctx: s.ctx}), C.tarn_scan_delete)
}

//export tarn_scan_next
func tarn_scan_next(p, out unsafe.Pointer) {
	info := mapping.FunctionInfo{Ptr: p}
	d := unhandle[*tableFunction](mapping.FunctionGetExtraInfo(info)).d
	g := unhandle[*scanGlobal](mapping.FunctionGetInitData(info))
	l := unhandle[*scanLocal](mapping.FunctionGetLocalInitData(info))
	if err := d.fill(g, l, mapping.DataChunk{Ptr: out}); err != nil {
		d.scanBroke(err)
		mapping.FunctionSetError(info, err.Error())
	}
}

// fill puts the next rows into a chunk of DuckDB's, none at the end.
func (d *duck) fill(g *scanGlobal, l *scanLocal, out mapping.DataChunk) error {
	for l.rec == nil {
		if l.reader == nil {
			part := g.next.Add(1) - 1
			if part >= int64(g.source.parts) {
				mapping.DataChunkSetSize(out, 0)
				return nil
			}
			r, err := g.source.open(l.ctx, int(part), g.columns)
			if err != nil {
				return err
			}
			l.reader = r
		}
		rec, _, err := l.reader.Next(l.ctx)
		switch {
		case errors.Is(err, io.EOF):
			if err := l.reader.Close(); err != nil {
				return err
			}
			l.reader = nil
		case err != nil:
			return err
		case rec.NumRows() > 0:
			l.rec, l.pos = rec, 0
		}
	}
	n := min(l.rec.NumRows()-l.pos, int64(mapping.VectorSize()))
	if len(g.columns) > 0 {
		if err := d.reference(g, l, n, out); err != nil {
			return err
		}
	}
	mapping.DataChunkSetSize(out, mapping.IdxT(n))
	if l.pos += n; l.pos >= l.rec.NumRows() {
		l.rec = nil
	}
	return nil
}

// reference points the vectors of out to n rows of the batch: nothing is copied where Arrow and
// DuckDB have the same layout.
func (d *duck) reference(g *scanGlobal, l *scanLocal, n int64, out mapping.DataChunk) error {
	if l.converted.Ptr == nil {
		fields := make([]types.Field, len(g.columns))
		for i, c := range g.columns {
			fields[i] = g.source.fields[c]
			fields[i].Type = fields[i].Type.AsNullable()
		}
		l.schema = engineSchema(fields)
		converted, ed := arrowmapping.SchemaFromArrow(d.aux, l.schema)
		if err := errorData(ed); err != nil {
			return err
		}
		l.converted = converted
	}
	if l.pos == 0 {
		if g.source.exact {
			if err := allDigits(l.rec, l.schema); err != nil {
				return err
			}
		}
		rec, err := toEngine(l.rec, l.schema)
		if err != nil {
			return err
		}
		l.rec = rec
	}
	piece := wholeStructs(l.rec.NewSlice(l.pos, l.pos+n))
	chunk, ed := arrowmapping.DataChunkFromArrow(d.aux, piece, l.converted)
	defer mapping.DestroyDataChunk(&chunk)
	if err := errorData(ed); err != nil {
		return err
	}
	for i := range g.columns {
		mapping.VectorReferenceVector(mapping.DataChunkGetVector(out, mapping.IdxT(i)), mapping.DataChunkGetVector(chunk, mapping.IdxT(i)))
	}
	return nil
}

// logicalType gives DuckDB's type; see duckType.
func logicalType(t types.Type) mapping.LogicalType {
	switch t.Kind {
	case types.Boolean:
		return mapping.CreateLogicalType(mapping.TypeBoolean)
	case types.TinyInt:
		return mapping.CreateLogicalType(mapping.TypeTinyInt)
	case types.SmallInt:
		return mapping.CreateLogicalType(mapping.TypeSmallInt)
	case types.Int:
		return mapping.CreateLogicalType(mapping.TypeInteger)
	case types.BigInt:
		return mapping.CreateLogicalType(mapping.TypeBigInt)
	case types.Float:
		return mapping.CreateLogicalType(mapping.TypeFloat)
	case types.Double:
		return mapping.CreateLogicalType(mapping.TypeDouble)
	case types.Decimal:
		return mapping.CreateDecimalType(uint8(t.Precision), uint8(t.Scale))
	case types.Char, types.Varchar:
		return mapping.CreateLogicalType(mapping.TypeVarchar)
	case types.Date:
		return mapping.CreateLogicalType(mapping.TypeDate)
	case types.Time:
		return mapping.CreateLogicalType(mapping.TypeTime)
	case types.Timestamp:
		if t.Precision > 6 {
			return mapping.CreateLogicalType(mapping.TypeTimestampNS)
		}
		return mapping.CreateLogicalType(mapping.TypeTimestamp)
	case types.TimestampLTZ:
		return mapping.CreateLogicalType(mapping.TypeTimestampTZ)
	case types.Array:
		elem := logicalType(*t.Elem)
		defer mapping.DestroyLogicalType(&elem)
		return mapping.CreateListType(elem)
	case types.Map:
		return mapLogicalType(*t.Key, *t.Elem)
	case types.Multiset:
		return mapLogicalType(*t.Elem, types.Type{Kind: types.Int})
	case types.Row:
		return structLogicalType(t.Fields)
	case types.Variant:
		return structLogicalType(variantFields)
	}
	return mapping.CreateLogicalType(mapping.TypeBlob)
}

func mapLogicalType(key, value types.Type) mapping.LogicalType {
	k, v := logicalType(key), logicalType(value)
	defer mapping.DestroyLogicalType(&k)
	defer mapping.DestroyLogicalType(&v)
	return mapping.CreateMapType(k, v)
}

func structLogicalType(fields []types.Field) mapping.LogicalType {
	members := make([]mapping.LogicalType, len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		members[i], names[i] = logicalType(f.Type), f.Name
	}
	defer func() {
		for i := range members {
			mapping.DestroyLogicalType(&members[i])
		}
	}()
	return mapping.CreateStructType(members, names)
}
