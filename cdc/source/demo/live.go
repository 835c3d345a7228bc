package demo

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/tarnlake/tarn/types"
)

// live is the rows of a table as they are now, in the source and, which is not the same after a
// column was renamed, in a lake that follows.
type live struct {
	table *Table
	key   []int
	rows  map[string]int // key → index in list
	list  [][]types.Datum
	keys  []string
	last  int64
	lake  *lake
}

// lake is what a lake has of a table: each row as it was last written, by column name. Shards share
// it.
type lake struct {
	columns []string // in order of appearance
	types   map[string]types.Type
	key     []string
	rows    map[string]lakeRow
}

// lakeRow is a row with the names it was written under.
type lakeRow struct {
	names []string
	row   []types.Datum
}

func newLive(t *Table) *live {
	l := &live{table: t, rows: map[string]int{}, lake: &lake{types: map[string]types.Type{}, key: t.PrimaryKey, rows: map[string]lakeRow{}}}
	for _, k := range t.PrimaryKey {
		l.key = append(l.key, slices.IndexFunc(t.Fields, func(f types.Field) bool { return f.Name == k }))
	}
	l.altered()
	return l
}

// shard makes the lake rows those of another shard's table.
func (l *live) shard(other *live) { l.lake = other.lake }

// altered notes the columns of the table: a lake adds new names and never drops one.
func (l *live) altered() {
	for _, f := range l.table.Fields {
		if !slices.Contains(l.lake.columns, f.Name) {
			l.lake.columns = append(l.lake.columns, f.Name)
		}
		l.lake.types[f.Name] = f.Type
	}
}

func (l *live) len() int { return len(l.list) }

// nextID counts up; ids are never used again.
func (l *live) nextID() int64 {
	l.last++
	return l.last
}

func (l *live) keyOf(row []types.Datum) string {
	var b []byte
	for _, i := range l.key {
		b = binary.BigEndian.AppendUint64(b, uint64(row[i].(int64)))
	}
	return string(b)
}

func (l *live) put(row []types.Datum) {
	k := l.keyOf(row)
	if i, ok := l.rows[k]; ok {
		l.list[i] = row
	} else {
		l.rows[k] = len(l.list)
		l.list, l.keys = append(l.list, row), append(l.keys, k)
	}
	l.lake.rows[k] = lakeRow{l.fieldNames(), row}
}

// fieldNames gives the names of the columns; the slice is shared between rows of one schema.
func (l *live) fieldNames() []string {
	n := l.table.names
	if len(n) != len(l.table.Fields) || !slices.EqualFunc(n, l.table.Fields, func(a string, f types.Field) bool { return a == f.Name }) {
		n = make([]string, len(l.table.Fields))
		for i, f := range l.table.Fields {
			n[i] = f.Name
		}
		l.table.names = n
	}
	return n
}

func (l *live) remove(row []types.Datum) {
	k := l.keyOf(row)
	i, ok := l.rows[k]
	if !ok {
		return
	}
	end := len(l.list) - 1
	l.list[i], l.keys[i] = l.list[end], l.keys[end]
	l.rows[l.keys[i]] = i
	l.list, l.keys = l.list[:end], l.keys[:end]
	delete(l.rows, k)
	delete(l.lake.rows, k)
}

// get finds a row by its key.
func (l *live) get(key []types.Datum) ([]types.Datum, bool) {
	var b []byte
	for _, v := range key {
		b = binary.BigEndian.AppendUint64(b, uint64(v.(int64)))
	}
	i, ok := l.rows[string(b)]
	if !ok {
		return nil, false
	}
	return l.list[i], true
}

// any picks a row.
func (l *live) any(s *Shop) ([]types.Datum, bool) {
	if len(l.list) == 0 {
		return nil, false
	}
	return l.list[s.rnd.IntN(len(l.list))], true
}

// Dump is what a lake that took all changes holds of a table: columns in the order in which they
// appeared, rows in no order.
type Dump struct {
	Name       string
	Columns    []string
	Types      []types.Type
	PrimaryKey []string
	Rows       [][]types.Datum
}

// Expected gives the tables of a lake that took all changes so far, by name; shards are one table.
func (s *Shop) Expected() []Dump {
	var out []Dump
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		k := s.tables[name].lake
		d := Dump{Name: name, Columns: slices.Clone(k.columns), PrimaryKey: k.key}
		at := map[string]int{}
		for i, c := range d.Columns {
			at[c] = i
			d.Types = append(d.Types, k.types[c])
		}
		for _, r := range k.rows {
			row := make([]types.Datum, len(d.Columns))
			for i, n := range r.names {
				row[at[n]] = r.row[i]
			}
			d.Rows = append(d.Rows, row)
		}
		out = append(out, d)
	}
	return out
}

// String names the table for messages.
func (t *Table) String() string { return fmt.Sprintf("%s.%s", t.Database, t.Name) }
