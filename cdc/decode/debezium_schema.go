package decode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/jsonobj"
	"github.com/tarnlake/tarn/types"
)

const (
	// maxSchemas bounds the schema parts that a decoder remembers: there is one for each table, and state of it.
	maxSchemas = maxTables
	// maxRecent is how many of them are tried first.
	maxRecent = 8
)

// schema is what the schema part of messages says of columns.
type schema struct {
	raw     []byte // as written: the same text need not be read again
	columns map[string]Column
}

// connectSchema is a schema of Kafka Connect.
type connectSchema struct {
	Field, Type, Name string
	Parameters        map[string]any
	Fields            []connectSchema
	Items, Values     *connectSchema // of arrays and maps
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *connectSchema) UnmarshalJSON(data []byte) error {
	*c = connectSchema{}
	_, err := jsonobj.Take(data, map[string]any{
		"field": &c.Field, "type": &c.Type, "name": &c.Name, "parameters": &c.Parameters, "fields": &c.Fields, "items": &c.Items, "values": &c.Values,
	})
	return err
}

// readSchema reads the schema part at the scanner's place, or finds that it is known.
func (d *Debezium) readSchema() bool {
	s := &d.s
	if s.ws() != '{' {
		_, ok := s.value()
		return ok
	}
	for i, known := range d.schemas {
		if bytes.HasPrefix(s.data[s.pos:], known.raw) { // braces match, so it is all of it
			s.pos += len(known.raw)
			copy(d.schemas[1:i+1], d.schemas[:i])
			d.schemas[0] = known
			d.m.schema = known
			return true
		}
	}
	start := s.pos
	raw, ok := s.value()
	if !ok {
		return false
	}
	if known := d.known[string(raw)]; known != nil {
		d.recent(known)
		return true
	}
	var c connectSchema
	if err := json.Unmarshal(raw, &c); err != nil {
		s.pos = start
		s.err = &Error{Reason: WrongShape, Offset: start, What: "the schema part is not one of Kafka Connect: " + err.Error()}
		return false
	}
	d.recent(d.newSchema(bytes.Clone(raw), c))
	return true
}

func (d *Debezium) newSchema(raw []byte, c connectSchema) *schema {
	sc := &schema{raw: raw}
	var row *connectSchema
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Field == "after" || (f.Field == "before" && row == nil) {
			row = f
		}
	}
	if row != nil {
		sc.columns = make(map[string]Column, len(row.Fields))
		for _, f := range row.Fields {
			sc.columns[f.Field] = d.column(f)
		}
	}
	if d.known == nil || len(d.known) >= maxSchemas {
		d.known = map[string]*schema{}
	}
	d.known[string(raw)] = sc
	return sc
}

// recent makes a schema that of the message, and the first to be tried for the next one.
func (d *Debezium) recent(sc *schema) {
	if len(d.schemas) < maxRecent {
		d.schemas = append(d.schemas, nil)
	}
	copy(d.schemas[1:], d.schemas)
	d.schemas[0] = sc
	d.m.schema = sc
}

// logical types by the name of their schema. Types are those of the format's own tools (their
// DebeziumSchemaUtils), except where these lose digits.
var logical = map[string]Column{
	"io.debezium.time.Date":                   {Type: types.DateType, Encoding: Days},
	"org.apache.kafka.connect.data.Date":      {Type: types.DateType, Encoding: Days},
	"io.debezium.time.Timestamp":              {Type: types.TimestampType(3), Encoding: Millis},
	"org.apache.kafka.connect.data.Timestamp": {Type: types.TimestampType(3), Encoding: Millis},
	"io.debezium.time.MicroTimestamp":         {Type: types.TimestampType(6), Encoding: Micros},
	"io.debezium.time.NanoTimestamp":          {Type: types.TimestampType(9), Encoding: Nanos},
	"io.debezium.time.ZonedTimestamp":         {Type: types.TimestampType(6), Encoding: Zoned},
	"io.debezium.time.Time":                   {Type: types.TimeType(3), Encoding: TimeMillis},
	"org.apache.kafka.connect.data.Time":      {Type: types.TimeType(3), Encoding: TimeMillis},
	"io.debezium.time.MicroTime":              {Type: types.TimeType(0), Encoding: TimeMicros},
	"io.debezium.time.NanoTime":               {Type: types.TimeType(0), Encoding: TimeNanos},
	"io.debezium.time.Year":                   {Type: types.IntType},
	"io.debezium.data.VariableScaleDecimal":   {Type: types.StringType, Encoding: ScaledDecimal},
	"io.debezium.data.Json":                   {Type: types.StringType},
	"io.debezium.data.Xml":                    {Type: types.StringType},
	"io.debezium.data.Uuid":                   {Type: types.StringType},
	"io.debezium.data.Enum":                   {Type: types.StringType},
	"io.debezium.data.EnumSet":                {Type: types.StringType},
	"io.debezium.time.ZonedTime":              {Type: types.StringType},
	"io.debezium.time.Interval":               {Type: types.StringType},
	"io.debezium.data.geometry.Point":         {Type: types.StringType, Encoding: Geometry},
	"io.debezium.data.geometry.Geometry":      {Type: types.StringType, Encoding: Geometry},
	"io.debezium.data.geometry.Geography":     {Type: types.StringType, Encoding: Geometry},
	"io.debezium.data.vector.FloatVector":     {Type: types.StringType},
	"io.debezium.data.vector.DoubleVector":    {Type: types.StringType},
	"io.debezium.data.TsVector":               {Type: types.StringType},
}

// plainTypes are those of schemas without a name.
var plainTypes = map[string]Column{
	"int8": {Type: types.TinyIntType}, "int16": {Type: types.SmallIntType}, "int32": {Type: types.IntType}, "int64": {Type: types.BigIntType},
	"float": {Type: types.FloatType}, "float32": {Type: types.FloatType}, "double": {Type: types.DoubleType}, "float64": {Type: types.DoubleType},
	"boolean": {Type: types.BooleanType}, "bytes": {Type: types.BytesType, Encoding: Base64},
}

// column gives what a schema says of a column.
func (d *Debezium) column(f connectSchema) Column {
	number := func(name string) (int, bool) {
		switch v := f.Parameters[name].(type) {
		case string:
			n, err := strconv.Atoi(v)
			return n, err == nil
		case float64:
			return int(v), v == float64(int(v))
		}
		return 0, false
	}
	c, ok := logical[f.Name]
	switch {
	case ok:
		if c.Encoding == Zoned && d.opts.ZonedAsLTZ {
			c.Type = types.TimestampLTZType(6)
		}
	case f.Name == "io.debezium.data.Bits":
		n, _ := number("length")
		c = Column{Encoding: Base64Reversed, Type: types.BinaryType((min(max(n, 1), 1<<20) + 7) / 8)}
	case strings.HasSuffix(f.Name, "kafka.connect.data.Decimal"):
		c = Column{Encoding: EncodedDecimal}
		c.Scale, _ = number("scale")
		p, told := number("connect.decimal.precision")
		switch {
		case !told && c.Scale == 0:
			c.Type = types.DecimalType(20, 0)
		case !told && c.Scale > 0 && c.Scale <= 38:
			c.Type = types.DecimalType(38, c.Scale)
		case p >= 1 && p <= 38 && c.Scale >= 0 && c.Scale <= p:
			c.Type = types.DecimalType(p, c.Scale)
		default:
			c.Type = types.StringType
		}
	default:
		if c, ok = plainTypes[f.Type]; !ok {
			c.Type = types.StringType // texts; structs, lists and maps as JSON
			c.nested = d.newNested(&f)
		}
	}
	c.Name = f.Field
	if c.SourceType = f.Name; c.SourceType == "" {
		c.SourceType = f.Type
	}
	if t, _ := f.Parameters["__debezium.source.column.type"].(string); t != "" {
		c.SourceType = strings.ToLower(t)
		if n, ok := number("__debezium.source.column.length"); ok {
			c.SourceType += "(" + strconv.Itoa(n)
			if n, ok := number("__debezium.source.column.scale"); ok {
				c.SourceType += "," + strconv.Itoa(n)
			}
			c.SourceType += ")"
		}
	}
	c.Zone = d.opts.Zone
	return c
}

// shape gives the shape of a row of the current message.
func (d *Debezium) shape(row []member) (*Shape, *Error) {
	m := &d.m
	list := d.shapes.of(m.db, m.ns, m.table)
	for i, s := range *list {
		if s.schema == m.schema && s.matches(row) && d.sameKey(s) {
			if i > 0 {
				return used(list, i), nil
			}
			return s, nil
		}
	}
	if err := checkNames(row); err != nil {
		return nil, err
	}
	s := &Shape{Table: d.table(), schema: m.schema, pkNames: string(m.keys)}
	for i := range d.key {
		s.keyRaw = append(s.keyRaw, string(d.key[i].name))
	}
	keys := d.keyNames()
	s.keys = keys
	for i := range row {
		name := text(row[i].name)
		c := Column{Name: name, Zone: d.opts.Zone, base64: true}
		if m.schema != nil {
			if told, ok := m.schema.columns[name]; ok {
				c = told
			}
		}
		c.PrimaryKey = slices.Contains(keys, name)
		s.Columns = append(s.Columns, c)
		s.raw = append(s.raw, string(row[i].name))
	}
	remember(list, s)
	return s, nil
}

// keyNames gives the names of the key columns: those of the message's key, else pkNames.
func (d *Debezium) keyNames() []string {
	var names []string
	for i := range d.key {
		names = append(names, text(d.key[i].name))
	}
	if names == nil && d.m.keys != nil && json.Unmarshal(d.m.keys, &names) != nil {
		return nil
	}
	return names
}

// sameKey tells whether the message has the key of the shape.
func (d *Debezium) sameKey(s *Shape) bool {
	if len(d.key) != len(s.keyRaw) || string(d.m.keys) != s.pkNames {
		return false
	}
	for i := range d.key {
		if string(d.key[i].name) != s.keyRaw[i] {
			return false
		}
	}
	return true
}
