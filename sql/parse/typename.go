package parse

import (
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// refused are types that the format does not have, and what to take instead.
var refused = map[string]string{
	"UTINYINT": "SMALLINT", "UINT8": "SMALLINT", "USMALLINT": "INT", "UINT16": "INT",
	"UINTEGER": "BIGINT", "UINT": "BIGINT", "UINT32": "BIGINT", "UBIGINT": "DECIMAL(20, 0)", "UINT64": "DECIMAL(20, 0)",
	"HUGEINT": "DECIMAL(38, 0)", "INT128": "DECIMAL(38, 0)", "UHUGEINT": "DECIMAL(38, 0)", "UINT128": "DECIMAL(38, 0)",
	"VARINT": "DECIMAL(38, 0)", "BIGNUM": "DECIMAL(38, 0)",
	"UUID": "STRING", "JSON": "STRING", "ENUM": "STRING", "INTERVAL": "BIGINT", "BIT": "BYTES", "BITSTRING": "BYTES",
	"TIMETZ": "TIME", "UNION": "ROW", "GEOMETRY": "BYTES", "GEOGRAPHY": "BYTES",
	"SERIAL": "INT", "BIGSERIAL": "BIGINT", "MONEY": "DECIMAL(19, 4)", "RAW": "BYTES", "SYMBOL": "STRING", "XML": "STRING",
}

// simple are type names without parameters.
var simple = map[string]types.Type{
	"BOOLEAN": {Kind: types.Boolean}, "BOOL": {Kind: types.Boolean}, "LOGICAL": {Kind: types.Boolean},
	"TINYINT": {Kind: types.TinyInt}, "INT1": {Kind: types.TinyInt}, "BYTE": {Kind: types.TinyInt},
	"SMALLINT": {Kind: types.SmallInt}, "INT2": {Kind: types.SmallInt}, "SHORT": {Kind: types.SmallInt}, "INT16": {Kind: types.SmallInt},
	"INT": {Kind: types.Int}, "INTEGER": {Kind: types.Int}, "INT4": {Kind: types.Int}, "SIGNED": {Kind: types.Int}, "INT32": {Kind: types.Int},
	"BIGINT": {Kind: types.BigInt}, "INT8": {Kind: types.BigInt}, "LONG": {Kind: types.BigInt}, "INT64": {Kind: types.BigInt},
	"FLOAT": {Kind: types.Float}, "REAL": {Kind: types.Float}, "FLOAT4": {Kind: types.Float},
	"DOUBLE": {Kind: types.Double}, "FLOAT8": {Kind: types.Double},
	"STRING": {Kind: types.Varchar, Length: types.MaxLength}, "TEXT": {Kind: types.Varchar, Length: types.MaxLength},
	"BYTES": {Kind: types.Varbinary, Length: types.MaxLength}, "BLOB": {Kind: types.Varbinary, Length: types.MaxLength}, "BYTEA": {Kind: types.Varbinary, Length: types.MaxLength},
	"DATE":        {Kind: types.Date},
	"DATETIME":    {Kind: types.Timestamp, Precision: 6},
	"TIMESTAMP_S": {Kind: types.Timestamp, Precision: 0}, "TIMESTAMP_MS": {Kind: types.Timestamp, Precision: 3},
	"TIMESTAMP_US": {Kind: types.Timestamp, Precision: 6}, "TIMESTAMP_NS": {Kind: types.Timestamp, Precision: 9},
	"VARIANT": {Kind: types.Variant},
}

// Type reads a type as CREATE TABLE takes it, such as `MAP<STRING, INT NOT NULL>`, `INTEGER[]` or
// `STRUCT(a INT)`. The error is an *Error.
func Type(text string) (types.Type, error) {
	toks, err := lex(text)
	if err != nil {
		return types.Type{}, err
	}
	p := &parser{text: text, toks: toks}
	t, err := p.typeName()
	if err != nil {
		return t, err
	}
	if p.accept("NOT", "NULL") {
		t.NotNull = true
	}
	return t, p.end()
}

// typeName reads a type with its suffixes ([], ARRAY, MULTISET), without NOT NULL.
func (p *parser) typeName() (types.Type, error) {
	if err := p.enter(); err != nil {
		return types.Type{}, err
	}
	defer p.leave()
	t, err := p.baseType()
	if err != nil {
		return t, err
	}
	for wrapped := 0; ; wrapped++ {
		// `INT NOT NULL ARRAY`: NOT NULL belongs to the element if a suffix follows it.
		inner := t
		n := 0
		if p.is("NOT", "NULL") {
			inner.NotNull = true
			n = 2
		}
		next := p.at(n)
		if wrapped > maxDepth {
			return t, p.errorAt(next, "this is nested too deeply", "")
		}
		switch {
		case next.is("["):
			if !p.at(n + 1).is("]") {
				return t, p.errorAt(p.at(n+1), "arrays of a fixed size are not supported", "leave the size out")
			}
			p.pos += n + 2
			t = types.Type{Kind: types.Array, Elem: &inner}
		case next.is("ARRAY"):
			p.pos += n + 1
			t = types.Type{Kind: types.Array, Elem: &inner}
		case next.is("MULTISET"):
			p.pos += n + 1
			t = types.Type{Kind: types.Multiset, Elem: &inner}
		default:
			return t, nil
		}
	}
}

func (p *parser) baseType() (types.Type, error) {
	t := p.cur()
	if !t.isName() {
		return types.Type{}, p.unexpected("a type")
	}
	name := strings.ToUpper(t.text)
	p.pos++
	if known, ok := simple[name]; ok {
		if name == "DOUBLE" {
			p.accept("PRECISION")
		}
		return known, nil
	}
	if instead, ok := refused[name]; ok {
		return types.Type{}, p.errorAt(t, "type "+name+" is not supported: the table format does not have it", "use "+instead)
	}
	switch name {
	case "VECTOR":
		return types.Type{}, p.errorAt(t, "type VECTOR cannot be read or written yet", "use ARRAY")
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimal()
	case "CHAR", "CHARACTER", "BPCHAR", "NCHAR":
		if p.accept("VARYING") {
			return p.sized(types.Varchar, types.MaxLength)
		}
		return p.sized(types.Char, 1)
	case "VARCHAR", "NVARCHAR":
		return p.sized(types.Varchar, types.MaxLength)
	case "BINARY":
		if p.accept("VARYING") {
			return p.sized(types.Varbinary, types.MaxLength)
		}
		return p.sized(types.Binary, 1)
	case "VARBINARY":
		return p.sized(types.Varbinary, types.MaxLength)
	case "TIME":
		return p.time(t)
	case "TIMESTAMP":
		return p.timestamp()
	case "TIMESTAMPTZ", "TIMESTAMP_LTZ":
		return p.precision(types.TimestampLTZ, 6)
	case "ARRAY":
		elem, err := p.one("<")
		return types.Type{Kind: types.Array, Elem: elem}, err
	case "MULTISET":
		elem, err := p.one("<")
		return types.Type{Kind: types.Multiset, Elem: elem}, err
	case "MAP":
		return p.mapType()
	case "ROW", "STRUCT":
		return p.rowType()
	}
	return types.Type{}, p.errorAt(t, "unknown type "+t.describe(), nearType(name))
}

func nearType(name string) string {
	names := []string{"DECIMAL", "VARCHAR", "VARBINARY", "TIMESTAMP", "TIMESTAMP_LTZ", "ARRAY", "MAP", "ROW", "CHAR", "BINARY", "TIME"}
	for n := range simple {
		names = append(names, n)
	}
	if n := Nearest(name, names); n != "" {
		return "did you mean " + n + "?"
	}
	return "types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), CHAR(n), VARCHAR(n), STRING, BINARY(n), BYTES, DATE, TIME, TIMESTAMP(p), TIMESTAMP_LTZ(p), ARRAY<t>, MAP<k, v>, ROW<name t, …>"
}

func (p *parser) decimal() (types.Type, error) {
	t := types.Type{Kind: types.Decimal, Precision: 10}
	if !p.is("(") {
		return t, nil
	}
	at := p.cur()
	n, err := p.numbers(2)
	if err != nil {
		return t, err
	}
	t.Precision = n[0]
	if len(n) > 1 {
		t.Scale = n[1]
	}
	if t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision {
		return t, p.errorAt(at, "DECIMAL has 1 to 38 digits, and no more behind the point than in all", "")
	}
	return t, nil
}

// sized reads (n).
func (p *parser) sized(k types.Kind, length int) (types.Type, error) {
	t := types.Type{Kind: k, Length: length}
	if !p.is("(") {
		return t, nil
	}
	at := p.cur()
	n, err := p.numbers(1)
	if err != nil {
		return t, err
	}
	if t.Length = n[0]; t.Length < 1 {
		return t, p.errorAt(at, "the length must be at least 1", "")
	}
	return t, nil
}

func (p *parser) precision(k types.Kind, precision int) (types.Type, error) {
	t := types.Type{Kind: k, Precision: precision}
	if !p.is("(") {
		return t, nil
	}
	at := p.cur()
	n, err := p.numbers(1)
	if err != nil {
		return t, err
	}
	if t.Precision = n[0]; t.Precision > 9 {
		return t, p.errorAt(at, "the precision must be 0 to 9", "")
	}
	return t, nil
}

func (p *parser) time(at token) (types.Type, error) {
	t, err := p.precision(types.Time, 0)
	if err != nil {
		return t, err
	}
	if p.is("WITH", "TIME", "ZONE") {
		return t, p.errorAt(at, "type TIME WITH TIME ZONE is not supported: the table format does not have it", "use TIME")
	}
	p.accept("WITHOUT", "TIME", "ZONE")
	return t, nil
}

func (p *parser) timestamp() (types.Type, error) {
	t, err := p.precision(types.Timestamp, 6)
	switch {
	case err != nil:
	case p.accept("WITHOUT", "TIME", "ZONE"):
	case p.accept("WITH", "TIME", "ZONE"), p.accept("WITH", "LOCAL", "TIME", "ZONE"):
		t.Kind = types.TimestampLTZ
	}
	return t, err
}

// numbers reads (n) or (n, m).
func (p *parser) numbers(most int) ([]int, error) {
	var out []int
	err := p.list(func() error {
		if len(out) == most {
			return p.errorAt(p.cur(), "expected at most "+strconv.Itoa(most)+" numbers", "")
		}
		n, err := p.integer("a number")
		out = append(out, n)
		return err
	})
	return out, err
}

// nullable reads a type and NOT NULL or NULL behind it.
func (p *parser) nullable() (types.Type, error) {
	t, err := p.typeName()
	if err != nil {
		return t, err
	}
	if p.accept("NOT", "NULL") {
		t.NotNull = true
	} else {
		p.accept("NULL")
	}
	return t, nil
}

// one reads <type>.
func (p *parser) one(open string) (*types.Type, error) {
	if err := p.expect(open); err != nil {
		return nil, err
	}
	t, err := p.nullable()
	if err != nil {
		return nil, err
	}
	return &t, p.expect(">")
}

// brackets takes < or ( and gives what closes it.
func (p *parser) brackets() (string, error) {
	switch p.acceptOneOf("<", "(") {
	case "<":
		return ">", nil
	case "(":
		return ")", nil
	}
	return "", p.unexpected("'<' or '('")
}

func (p *parser) mapType() (types.Type, error) {
	t := types.Type{Kind: types.Map}
	closing, err := p.brackets()
	if err != nil {
		return t, err
	}
	key, err := p.nullable()
	if err != nil {
		return t, err
	}
	if err := p.expect(","); err != nil {
		return t, err
	}
	value, err := p.nullable()
	t.Key, t.Elem = &key, &value
	if err != nil {
		return t, err
	}
	return t, p.expect(closing)
}

func (p *parser) rowType() (types.Type, error) {
	t := types.Type{Kind: types.Row}
	closing, err := p.brackets()
	if err != nil {
		return t, err
	}
	if p.accept(closing) {
		return t, nil
	}
	for {
		id, err := p.ident("a member's name")
		if err != nil {
			return t, err
		}
		for _, f := range t.Fields {
			if f.Name == id.Name {
				return t, &Error{Msg: "member " + id.Name + " is given twice", Text: p.text, Pos: id.Start}
			}
		}
		p.accept(":")
		f := types.Field{Name: id.Name}
		if f.Type, err = p.nullable(); err != nil {
			return t, err
		}
		p.accept("COMMENT")
		if p.cur().kind == str {
			f.Description = p.advance().text
		}
		t.Fields = append(t.Fields, f)
		if p.accept(closing) {
			return t, nil
		}
		if !p.accept(",") {
			return t, p.unexpected("',' or '" + closing + "'")
		}
	}
}
