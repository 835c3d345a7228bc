// Package demo is the built-in source: the databases of a shop that is open for business. It makes
// the same changes for the same seed, so it can go on from any position, and it keeps what a lake
// that took all changes has to hold.
package demo

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

// Change is one event of the shop: a row that changed, or a statement that changed a table.
type Change struct {
	Database, Table string
	// DDL is nil for a change of a row.
	DDL *DDL
	// Kind is Insert, UpdateAfter or Delete.
	Kind types.RowKind
	// Row has the values of all columns of the table as it is now; of a deleted row too.
	Row    []types.Datum
	Millis int64 // when it happened
}

// DDL is a table made or altered. Table is as it is afterwards.
type DDL struct {
	Text  string
	Table *Table
}

// Table is a table of the shop.
type Table struct {
	Database, Name string
	Fields         []types.Field
	PrimaryKey     []string

	names []string // of Fields, shared by the rows written under them
}

// Shop makes changes. It is used by one goroutine.
type Shop struct {
	rnd    *rand.Rand
	events int
	done   int
	millis int64

	customers, products, items, shipments *live
	orders                                [2]*live
	queue                                 []Change
	script                                []step
	tables                                map[string]*live // lake name → rows of all shards
	nextOrder                             int64
}

// step is a statement at a point of the stream, by share of all events.
type step struct {
	at   float64
	make func(s *Shop) []Change
}

// StartMillis is when the first change happens: 2024-01-01T00:00:00Z.
const StartMillis = 1704067200000

// New opens a shop that makes about the given number of changes of rows.
func New(seed uint64, events int) *Shop {
	s := &Shop{rnd: rand.New(rand.NewPCG(seed, 0x7461726e)), events: events, millis: StartMillis, tables: map[string]*live{}}
	s.open()
	return s
}

func field(name string, t types.Type) types.Field { return types.Field{Name: name, Type: t} }

var (
	bigint   = types.Type{Kind: types.BigInt}
	integer  = types.Type{Kind: types.Int}
	text     = types.Type{Kind: types.Varchar, Length: types.MaxLength}
	price    = types.Type{Kind: types.Decimal, Precision: 10, Scale: 2}
	amount   = types.Type{Kind: types.Decimal, Precision: 12, Scale: 2}
	datetime = types.Type{Kind: types.Timestamp, Precision: 3}
)

func notNull(t types.Type) types.Type { t.NotNull = true; return t }

// open creates the tables and puts the first rows into them.
func (s *Shop) open() {
	s.customers = s.create("shop", "customers", []string{"id"}, field("id", notNull(bigint)), field("name", text),
		field("email", text), field("city", text), field("created", datetime))
	s.products = s.create("shop", "products", []string{"id"}, field("id", notNull(integer)), field("name", text),
		field("price", price), field("stock", integer))
	s.items = s.create("shop", "order_items", []string{"order_id", "line"}, field("order_id", notNull(bigint)), field("line", notNull(integer)),
		field("product_id", integer), field("qty", integer), field("price", price))
	for i := range s.orders {
		s.orders[i] = s.create(fmt.Sprintf("shop_%d", i+1), "orders", []string{"id"}, field("id", notNull(bigint)), field("customer_id", bigint),
			field("status", text), field("amount", amount), field("note", text), field("created", datetime), field("updated", datetime))
	}
	for range 200 {
		s.addProduct()
	}
	for range 500 {
		s.addCustomer()
	}
	s.script = []step{
		{0.25, func(s *Shop) []Change {
			return []Change{s.alter(s.customers, "ALTER TABLE customers ADD COLUMN phone VARCHAR(32)", func(t *Table) {
				t.Fields = append(t.Fields, field("phone", text))
			})}
		}},
		{0.4, func(s *Shop) []Change {
			return []Change{s.alter(s.products, "ALTER TABLE products MODIFY COLUMN stock BIGINT", func(t *Table) {
				t.Fields[3].Type = bigint
			})}
		}},
		{0.55, func(s *Shop) (out []Change) {
			for _, o := range s.orders {
				out = append(out, s.alter(o, "ALTER TABLE orders RENAME COLUMN note TO remark", func(t *Table) {
					t.Fields[4].Name = "remark"
				}))
			}
			return out
		}},
		{0.7, func(s *Shop) []Change {
			s.shipments = s.create("shop", "shipments", []string{"id"}, field("id", notNull(bigint)), field("order_id", bigint),
				field("carrier", text), field("shipped", datetime))
			out := s.queue
			s.queue = nil
			return out
		}},
	}
}

func (s *Shop) create(db, name string, pk []string, fields ...types.Field) *live {
	t := &Table{Database: db, Name: name, Fields: fields, PrimaryKey: pk}
	l := newLive(t)
	if s.tables[name] == nil {
		s.tables[name] = l
	} else {
		l.shard(s.tables[name])
	}
	s.queue = append(s.queue, Change{Database: db, Table: name, DDL: &DDL{"CREATE TABLE " + name, t.clone()}, Millis: s.millis})
	return l
}

func (t *Table) clone() *Table {
	c := *t
	c.Fields = append([]types.Field(nil), t.Fields...)
	return &c
}

func (s *Shop) alter(l *live, text string, change func(*Table)) Change {
	change(l.table)
	l.altered()
	return Change{Database: l.table.Database, Table: l.table.Name, DDL: &DDL{text, l.table.clone()}, Millis: s.millis}
}

// Next gives the next change; false when the shop closes.
func (s *Shop) Next() (Change, bool) {
	for len(s.queue) == 0 {
		if s.done >= s.events {
			return Change{}, false
		}
		if len(s.script) > 0 && float64(s.done) >= s.script[0].at*float64(s.events) {
			made := s.script[0].make(s)
			s.script = s.script[1:]
			s.queue = append(s.queue, made...)
			continue
		}
		s.act()
	}
	c := s.queue[0]
	s.queue = s.queue[1:]
	if c.DDL == nil {
		s.done++
	}
	return c, true
}

// act lets somebody do something: most often a customer orders, or an order moves on.
func (s *Shop) act() {
	s.millis += int64(1 + s.rnd.IntN(200))
	switch r := s.rnd.IntN(100); {
	case r < 8:
		s.addCustomer()
	case r < 11:
		s.moveCustomer()
	case r < 12 && s.products.len() < 5000:
		s.addProduct()
	case r < 20:
		s.restock()
	case r < 55:
		s.order()
	case r < 94:
		s.progress()
	case r < 96:
		s.cancel()
	default:
		s.dropCustomer()
	}
}

func (s *Shop) emit(l *live, kind types.RowKind, row []types.Datum) {
	s.queue = append(s.queue, Change{Database: l.table.Database, Table: l.table.Name, Kind: kind, Row: row, Millis: s.millis})
	if kind == types.Delete {
		l.remove(row)
	} else {
		l.put(row)
	}
}

func cents(n int64) types.Datum { return decimal128.FromI64(n) }

func at(ms int64) types.Datum { return types.Instant{Millis: ms} }

var (
	first    = []string{"Ada", "Bo", "Chen", "Dora", "Emil", "Fatma", "Gil", "Hana", "Ivo", "Jun", "Kai", "Lena", "Mio", "Noor", "Ole", "Pia", "Quinn", "Ravi", "Sol", "Tomas", "Uma", "Vera", "Wim", "Xia", "Yara", "Zoë"}
	last     = []string{"Adler", "Berg", "Costa", "Diaz", "Eriksen", "Fuchs", "Grün", "Hoang", "Ito", "Jansen", "Kowalski", "Lind", "Moreau", "Novák", "Okafor", "Park", "Rossi", "Silva", "Tanaka", "Weiß"}
	cities   = []string{"Berlin", "Lisboa", "Osaka", "Lagos", "Kraków", "Québec", "Lima", "Hà Nội", "Tromsø", "Pune", "Gent", "Cork"}
	things   = []string{"lamp", "chair", "kettle", "rug", "shelf", "clock", "vase", "desk", "stool", "mirror", "bowl", "blanket"}
	looks    = []string{"oak", "blue", "brass", "tiny", "folding", "woollen", "glass", "round", "striped", "white"}
	carriers = []string{"post", "cycle courier", "parcel van", "freight"}
	statuses = []string{"CREATED", "PAID", "PACKED", "SHIPPED", "DELIVERED"}
)

func pick[T any](s *Shop, from []T) T { return from[s.rnd.IntN(len(from))] }
