package decode

import "strconv"

const (
	// maxTables bounds how many tables a decoder remembers: more than there are, unless names are made up.
	maxTables = 16384
	// maxShapes bounds the shapes it remembers of a table.
	maxShapes = 32
	// slab is how many values are allocated at once.
	slab = 8192
)

// member is a name and a value of an object, as written.
type member struct{ name, value []byte }

// shapes finds the shape of a message, and holds the memory that rows are cut from.
type shapes struct {
	tables  map[string]*[]*Shape
	scratch []byte
	values  [][]byte
	rows    []Row
}

// newValues gives a slice for the values of a row, all nil.
func (c *shapes) newValues(n int) [][]byte {
	if len(c.values) < n {
		c.values = make([][]byte, max(slab, n))
	}
	v := c.values[:n:n]
	c.values = c.values[n:]
	return v
}

// newRows gives a slice for the rows of an event.
func (c *shapes) newRows(n int) []Row {
	if len(c.rows) < n {
		c.rows = make([]Row, max(slab/8, n))
	}
	r := c.rows[:n:n]
	c.rows = c.rows[n:]
	return r
}

// of gives the shapes known of a table.
func (c *shapes) of(db, schema, name []byte) *[]*Shape {
	k := append(c.scratch[:0], db...)
	k = append(k, 0)
	k = append(k, schema...)
	k = append(k, 0)
	k = append(k, name...)
	c.scratch = k
	if list := c.tables[string(k)]; list != nil {
		return list
	}
	if c.tables == nil || len(c.tables) >= maxTables {
		c.tables = map[string]*[]*Shape{}
	}
	list := &[]*Shape{}
	c.tables[string(k)] = list
	return list
}

// remember puts a shape in front of the list.
func remember(list *[]*Shape, s *Shape) {
	if len(*list) < maxShapes {
		*list = append(*list, nil)
	}
	copy((*list)[1:], *list)
	(*list)[0] = s
}

// used moves shape i of the list to the front.
func used(list *[]*Shape, i int) *Shape {
	s := (*list)[i]
	copy((*list)[1:i+1], (*list)[:i])
	(*list)[0] = s
	return s
}

// Check looks whether a row has a value for each column, and whether these are written as the columns say. Rows of
// decoders do: for the others it costs reading them once.
func (s *Shape) Check(r *Row) error {
	if r == nil {
		return &Error{Reason: WrongShape, Offset: -1, What: "there is no row (nil)"}
	}
	if len(r.Values) != len(s.Columns) {
		return &Error{Reason: WrongShape, Offset: -1, What: strconv.Itoa(len(r.Values)) + " values for " + strconv.Itoa(len(s.Columns)) + " columns"}
	}
	if s.raw != nil {
		return nil
	}
	for i, v := range r.Values {
		if v == nil || s.Columns[i].Encoding == Text {
			continue
		}
		sc := scanner{data: v}
		if got, ok := sc.value(); !ok || len(got) != len(v) {
			return &Error{Reason: WrongValue, Offset: -1, What: "column " + s.Columns[i].Name + ": " + strconv.Quote(string(v[:min(len(v), 60)])) + " is no JSON", Do: "json.Marshal makes it, or the column's Encoding is Text"}
		}
	}
	return nil
}

// matches tells whether a row has the columns of the shape, in their order.
func (s *Shape) matches(row []member) bool {
	if len(row) != len(s.raw) {
		return false
	}
	for i := range row {
		if string(row[i].name) != s.raw[i] {
			return false
		}
	}
	return true
}

// fill puts the values of a row in their places. The row may have fewer columns than the shape or
// another order; those it lacks keep what is there. It tells whether all columns of the row have a place.
func (s *Shape) fill(values [][]byte, row []member) bool {
	if s.matches(row) {
		for i := range row {
			to := i
			if s.at != nil {
				to = s.at[i]
			}
			if v := row[i].value; isNull(v) {
				values[to] = nil
			} else {
				values[to] = v
			}
		}
		return true
	}
	all := true
	for i := range row {
		to := s.index(row[i].name, i)
		if to < 0 {
			all = false
			continue
		}
		if v := row[i].value; isNull(v) {
			values[to] = nil
		} else {
			values[to] = v
		}
	}
	return all
}

// index finds a column by its quoted name, hint (a place in the row) first; -1 if there is none.
func (s *Shape) index(quoted []byte, hint int) int {
	if hint >= len(s.raw) || s.raw[hint] != string(quoted) {
		hint = -1
		for i, r := range s.raw {
			if r == string(quoted) {
				hint = i
				break
			}
		}
	}
	if hint >= 0 && s.at != nil {
		return s.at[hint]
	}
	return hint
}

// checkNames refuses a row that has a column twice or one without a name.
func checkNames(row []member) *Error {
	seen := make(map[string]bool, len(row))
	for i := range row {
		name := text(row[i].name)
		if name == "" {
			return &Error{Reason: WrongShape, Offset: -1, What: "a column has no name"}
		}
		if seen[name] {
			return &Error{Reason: WrongShape, Offset: -1, What: "the column " + strconv.Quote(name) + " comes twice"}
		}
		seen[name] = true
	}
	return nil
}
