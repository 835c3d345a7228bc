package parquet

import (
	"errors"
	"fmt"

	"github.com/tarnlake/tarn/types"
)

// node is a node of a file's schema.
type node struct {
	name     string
	rep      repetition
	phys     physical // physGroup for groups
	typeLen  int
	logical  logical
	id       int
	hasID    bool
	children []*node

	// Levels at which the node is there: a value's definition level is maxDef exactly if neither it
	// nor anything above it is NULL, its repetition level is at most maxRep.
	maxDef, maxRep int
	leaf           int // number of the column, -1 for groups
}

func (n *node) isLeaf() bool { return n.phys != physGroup }

// describe names the type of a node for errors.
func (n *node) describe() string {
	if !n.isLeaf() {
		if n.logical.kind == logNone {
			return "group"
		}
		return "group (" + n.logical.String() + ")"
	}
	s := n.phys.String()
	if n.phys == physFixed {
		s += fmt.Sprintf("[%d]", n.typeLen)
	}
	if l := n.logical.String(); l != "" {
		s += " (" + l + ")"
	}
	return s
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// firstLeaf is the leftmost leaf below a node.
func (n *node) firstLeaf() *node {
	for !n.isLeaf() {
		n = n.children[0]
	}
	return n
}

const (
	maxLevels     = 250 // levels are kept in bytes
	maxSchemaDeep = 100
)

// number sets levels and column numbers below a root.
func (n *node) number(def, rep int, leaves *[]*node) error {
	switch n.rep {
	case optional:
		def++
	case repeated:
		def++
		rep++
	}
	if def > maxLevels || rep > maxLevels {
		return errors.New("schema is nested too deeply")
	}
	n.maxDef, n.maxRep, n.leaf = def, rep, -1
	if n.isLeaf() {
		n.leaf = len(*leaves)
		*leaves = append(*leaves, n)
		return nil
	}
	for _, c := range n.children {
		if err := c.number(def, rep, leaves); err != nil {
			return err
		}
	}
	return nil
}

// parseSchema makes the tree of a file's schema; leaves come in the order of the columns.
func parseSchema(els []schemaElement) (root *node, leaves []*node, err error) {
	if len(els) == 0 {
		return nil, nil, errors.New("the schema is empty")
	}
	rest := els
	root, err = parseNode(&rest, 0)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) != 0 {
		return nil, nil, fmt.Errorf("the schema has %d elements too many", len(rest))
	}
	root.rep = required
	if root.isLeaf() {
		return nil, nil, errors.New("the schema's root is no group")
	}
	return root, leaves, root.number(0, 0, &leaves)
}

func parseNode(rest *[]schemaElement, depth int) (*node, error) {
	if depth > maxSchemaDeep {
		return nil, errors.New("schema is nested too deeply")
	}
	if len(*rest) == 0 {
		return nil, errors.New("the schema ends too early")
	}
	e := (*rest)[0]
	*rest = (*rest)[1:]
	n := &node{name: e.name, rep: e.rep, phys: e.phys, typeLen: int(e.typeLen), logical: e.logical, id: int(e.fieldID), hasID: e.hasID}
	if e.phys != physGroup {
		switch {
		case e.children != 0:
			return nil, fmt.Errorf("schema element %q has a type and members", e.name)
		case e.phys == physUnknown:
			return nil, fmt.Errorf("schema element %q has an unknown type", e.name)
		case e.phys == physFixed && (e.typeLen <= 0 || e.typeLen > 1<<20):
			return nil, fmt.Errorf("schema element %q has length %d", e.name, e.typeLen)
		}
		return n, nil
	}
	if depth > 0 && e.children <= 0 || int64(e.children) > int64(len(*rest)) {
		return nil, fmt.Errorf("schema element %q names %d members", e.name, e.children)
	}
	for range e.children {
		c, err := parseNode(rest, depth+1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, c)
	}
	return n, nil
}

// buildSchema makes the tree that files of the given columns have.
func buildSchema(fields []types.Field) (root *node, leaves []*node, err error) {
	root = &node{name: "paimon_schema", phys: physGroup}
	for _, f := range fields {
		c, err := buildNode(f.Name, f.Type, f.ID, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		root.children = append(root.children, c)
	}
	return root, leaves, root.number(0, 0, &leaves)
}

func buildNode(name string, t types.Type, id, depth int) (*node, error) {
	if depth > 64 {
		return nil, errors.New("type is nested too deeply")
	}
	n := &node{name: name, id: id, hasID: true, rep: optional, phys: physGroup}
	if t.NotNull {
		n.rep = required
	}
	switch t.Kind {
	case types.Array:
		n.logical.kind = logList
		return n, n.addList(*t.Elem, id, depth+1)
	case types.Map:
		n.logical.kind = logMap
		return n, n.addMap(*t.Key, *t.Elem, id, depth+1)
	case types.Multiset:
		n.logical.kind = logMap
		return n, n.addMap(*t.Elem, types.Type{Kind: types.Int, NotNull: true}, id, depth+1)
	case types.Row:
		if len(t.Fields) == 0 {
			return nil, errors.New("a ROW without fields cannot be stored")
		}
		for _, f := range t.Fields {
			c, err := buildNode(f.Name, f.Type, f.ID, 0)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			n.children = append(n.children, c)
		}
		return n, nil
	case types.Variant:
		n.children = []*node{
			{name: "value", id: 0, hasID: true, phys: physBytes},
			{name: "metadata", id: 1, hasID: true, phys: physBytes},
		}
		return n, nil
	}
	return n, n.setPrimitive(t)
}

func (n *node) addList(elem types.Type, id, depth int) error {
	c, err := buildNode("element", elem, id, depth)
	if err != nil {
		return err
	}
	c.id = types.ElementID(id, depth)
	n.children = []*node{{name: "list", rep: repeated, phys: physGroup, children: []*node{c}}}
	return nil
}

func (n *node) addMap(key, value types.Type, id, depth int) error {
	key.NotNull = true // Parquet has no NULL keys
	k, err := buildNode("key", key, id, depth)
	if err != nil {
		return err
	}
	v, err := buildNode("value", value, id, depth)
	if err != nil {
		return err
	}
	k.id, v.id = types.KeyID(id, depth), types.ElementID(id, depth)
	n.children = []*node{{name: "key_value", rep: repeated, phys: physGroup, children: []*node{k, v}}}
	return nil
}

// decimalBytes is the least size of a FIXED_LEN_BYTE_ARRAY for decimals of a precision.
func decimalBytes(precision int) int {
	// Smallest n with 2^(8n-1) >= 10^precision, for precisions 1..38.
	return [39]int{
		1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8, 9,
		9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16,
	}[precision]
}

func (n *node) setPrimitive(t types.Type) error {
	switch t.Kind {
	case types.Boolean:
		n.phys = physBool
	case types.TinyInt:
		n.phys, n.logical = physInt32, logical{kind: logInt, bits: 8}
	case types.SmallInt:
		n.phys, n.logical = physInt32, logical{kind: logInt, bits: 16}
	case types.Int:
		n.phys = physInt32
	case types.BigInt:
		n.phys = physInt64
	case types.Float:
		n.phys = physFloat
	case types.Double:
		n.phys = physDouble
	case types.Decimal:
		if t.Precision < 1 || t.Precision > 38 {
			return fmt.Errorf("DECIMAL precision %d is not within 1..38", t.Precision)
		}
		n.logical = logical{kind: logDecimal, precision: t.Precision, scale: t.Scale}
		switch {
		case t.Precision <= 9:
			n.phys = physInt32
		case t.Precision <= 18:
			n.phys = physInt64
		default:
			n.phys, n.typeLen = physFixed, decimalBytes(t.Precision)
		}
	case types.Char, types.Varchar:
		n.phys, n.logical.kind = physBytes, logString
	case types.Binary, types.Varbinary:
		n.phys = physBytes
	case types.Date:
		n.phys, n.logical.kind = physInt32, logDate
	case types.Time:
		n.phys, n.logical = physInt32, logical{kind: logTime, utc: true, unit: unitMillis}
	case types.Timestamp, types.TimestampLTZ:
		if t.Precision > 6 {
			n.phys = physInt96
			return nil
		}
		n.phys = physInt64
		n.logical = logical{kind: logTimestamp, utc: t.Kind == types.TimestampLTZ, unit: unitMillis}
		if t.Precision > 3 {
			n.logical.unit = unitMicros
		}
	default:
		return fmt.Errorf("type %s cannot be stored in Parquet files", t)
	}
	return nil
}
