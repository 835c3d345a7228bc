package demo

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/tarnlake/tarn/types"
)

func (s *Shop) addCustomer() {
	id := s.customers.nextID()
	name := pick(s, first) + " " + pick(s, last)
	row := []types.Datum{id, name, fmt.Sprintf("c%d@example.org", id), pick(s, cities), at(s.millis)}
	if len(s.customers.table.Fields) > 5 {
		row = append(row, fmt.Sprintf("+49 30 %07d", s.rnd.IntN(10000000)))
	}
	s.emit(s.customers, types.Insert, row)
}

// moveCustomer changes the city; once there is a column for it, the phone number is asked for.
func (s *Shop) moveCustomer() {
	old, ok := s.customers.any(s)
	if !ok {
		return
	}
	row := grown(old, len(s.customers.table.Fields))
	row[3] = pick(s, cities)
	if len(row) > 5 && row[5] == nil {
		row[5] = fmt.Sprintf("+49 30 %07d", s.rnd.IntN(10000000))
	}
	s.emit(s.customers, types.UpdateAfter, row)
}

func (s *Shop) dropCustomer() {
	if s.customers.len() < 100 || s.rnd.IntN(4) > 0 {
		return
	}
	if row, ok := s.customers.any(s); ok {
		s.emit(s.customers, types.Delete, grown(row, len(s.customers.table.Fields)))
	}
}

func (s *Shop) addProduct() {
	id := s.products.nextID()
	s.emit(s.products, types.Insert, []types.Datum{id, pick(s, looks) + " " + pick(s, things), cents(int64(100 + s.rnd.IntN(50000))), int64(s.rnd.IntN(1000))})
}

// restock fills the shelves. After the column became a BIGINT there is room for more than an INT.
func (s *Shop) restock() {
	old, ok := s.products.any(s)
	if !ok {
		return
	}
	row := slices.Clone(old)
	row[3] = int64(s.rnd.IntN(100000))
	if s.products.table.Fields[3].Type.Kind == types.BigInt && s.rnd.IntN(50) == 0 {
		row[3] = int64(3000000000) + int64(s.rnd.IntN(1000))
	}
	if s.rnd.IntN(10) == 0 {
		row[2] = cents(int64(100 + s.rnd.IntN(50000)))
	}
	s.emit(s.products, types.UpdateAfter, row)
}

// order makes an order in one of the two databases, with one to four items.
func (s *Shop) order() {
	customer, ok := s.customers.any(s)
	if !ok {
		return
	}
	s.nextOrder++
	id := s.nextOrder
	n := 1 + s.rnd.IntN(4)
	var total int64
	for line := range n {
		p, ok := s.products.any(s)
		if !ok {
			return
		}
		qty := int64(1 + s.rnd.IntN(5))
		unit := p[2]
		total += qty * unscaled(unit)
		s.emit(s.items, types.Insert, []types.Datum{id, int64(line + 1), p[0], qty, unit})
	}
	var note types.Datum
	if s.rnd.IntN(5) == 0 {
		note = "please " + pick(s, []string{"ring twice", "leave at the door", "wrap as a gift", "call before"})
	}
	s.emit(s.orders[id%2], types.Insert, []types.Datum{id, customer[0], statuses[0], cents(total), note, at(s.millis), at(s.millis)})
}

// progress moves an order to its next status; what is shipped gets a shipment once there is a table
// for it.
func (s *Shop) progress() {
	o := s.orders[s.rnd.IntN(2)]
	old, ok := o.any(s)
	if !ok {
		return
	}
	i := slices.Index(statuses, old[2].(string))
	if i < 0 || i+1 >= len(statuses) {
		s.restock()
		return
	}
	row := slices.Clone(old)
	row[2], row[6] = statuses[i+1], at(s.millis)
	if o.table.Fields[4].Name == "remark" && s.rnd.IntN(10) == 0 {
		row[4] = "moved by " + pick(s, carriers)
	}
	s.emit(o, types.UpdateAfter, row)
	if row[2] == "SHIPPED" && s.shipments != nil {
		id := s.shipments.nextID()
		s.emit(s.shipments, types.Insert, []types.Datum{id, row[0], pick(s, carriers), at(s.millis)})
	}
}

// cancel deletes a young order and its items.
func (s *Shop) cancel() {
	o := s.orders[s.rnd.IntN(2)]
	row, ok := o.any(s)
	if !ok || row[2] != statuses[0] {
		return
	}
	for line := int64(1); ; line++ {
		it, ok := s.items.get([]types.Datum{row[0], line})
		if !ok {
			break
		}
		s.emit(s.items, types.Delete, it)
	}
	s.emit(o, types.Delete, row)
}

// grown gives a copy of a row with NULL for columns added since.
func grown(row []types.Datum, n int) []types.Datum {
	out := make([]types.Datum, n)
	copy(out, row)
	return out
}

func unscaled(d types.Datum) int64 {
	n, _ := d.(decimal128.Num)
	return int64(n.LowBits())
}
