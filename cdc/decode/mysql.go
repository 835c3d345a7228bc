package decode

import (
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/types"
)

// mysqlColumn gives the column of a type of MySQL as SQL writes it: "decimal(10, 2) unsigned",
// "enum('a','b')". The mapping is that of the format's own tools (their MySqlTypeUtils). A type that is
// not known is not told: the column is read as text.
func mysqlColumn(sql string, opts Options) Column {
	sql = bareType(sql)
	name, args, unsigned := splitType(sql)
	c := Column{SourceType: strings.ToLower(sql)}
	arg := func(i int) (int, bool) {
		if i >= len(args) {
			return 0, false
		}
		n, err := strconv.Atoi(args[i])
		return n, err == nil
	}
	n, sized := arg(0)
	switch name {
	case "BIT":
		c.Encoding, c.Type = BitNumber, types.BooleanType
		if sized && n > 1 {
			c.Type = types.BinaryType((min(n, 64) + 7) / 8)
		}
	case "BOOLEAN", "BOOL":
		c.Type = types.BooleanType
	case "TINYINT":
		switch {
		case unsigned:
			c.Type = types.SmallIntType
		case sized && n == 1 && !opts.TinyInt1NotBool:
			c.Type = types.BooleanType
		default:
			c.Type = types.TinyIntType
		}
	case "SMALLINT":
		c.Type = pick(unsigned, types.IntType, types.SmallIntType)
	case "MEDIUMINT", "INT", "INTEGER":
		c.Type = pick(unsigned, types.BigIntType, types.IntType)
	case "YEAR":
		c.Type = types.IntType
	case "BIGINT", "LONG":
		c.Type = pick(unsigned, types.DecimalType(20, 0), types.BigIntType)
	case "SERIAL":
		c.Type = types.DecimalType(20, 0)
	case "FLOAT":
		c.Type = types.FloatType
	case "REAL", "DOUBLE", "DOUBLE PRECISION":
		c.Type = types.DoubleType
	case "NUMERIC", "FIXED", "DECIMAL", "DEC":
		scale, _ := arg(1)
		switch {
		case !sized:
			c.Type = types.DecimalType(38, 18)
		case n >= 1 && n <= 38 && scale >= 0 && scale <= n:
			c.Type = types.DecimalType(n, scale)
		default:
			c.Type = types.StringType
		}
	case "DATE":
		c.Type = types.DateType
	case "TIME":
		c.Type = types.TimeType(0)
	case "DATETIME":
		c.Type = types.TimestampType(min(max(n, 0), 9))
	case "TIMESTAMP":
		c.Type = types.TimestampType(min(max(n, 0), 9))
		if opts.ZonedAsLTZ {
			c.Type.Kind = types.TimestampLTZ
		}
	case "CHAR", "NCHAR":
		c.Type = sizedType(types.Char, n, 1<<31-1, types.StringType)
	case "VARCHAR", "NVARCHAR":
		c.Type = sizedType(types.Varchar, n, 1<<31-1, types.StringType)
	case "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "JSON", "STRING":
		c.Type = types.StringType
	case "ENUM":
		c.Type, c.Encoding, c.Symbols = types.StringType, EnumIndex, args
	case "SET":
		c.Type, c.Encoding, c.Symbols = types.ArrayType(types.StringType), SetMask, args
	case "BINARY", "VARBINARY":
		c.Encoding, c.Type = Latin1, sizedType(types.Varbinary, n, 1<<31-1, types.BytesType)
		if name == "BINARY" && n > 0 && n <= 255 {
			c.Encoding, c.Scale = Latin1Padded, n
		}
	case "VECTOR":
		c.Encoding, c.Type = Latin1, types.BytesType
	case "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB":
		c.Encoding, c.Type = Latin1, types.BytesType
	case "GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION", "GEOMCOLLECTION":
		c.Encoding, c.Type = Geometry, types.StringType
	}
	return c
}

// attributes are words behind a type that begin what is no part of it.
var attributes = map[string]bool{
	"CHARACTER": true, "CHARSET": true, "COLLATE": true, "COMMENT": true, "NOT": true, "NULL": true, "DEFAULT": true, "AUTO_INCREMENT": true,
	"GENERATED": true, "ON": true, "BINARY": true, "ASCII": true, "UNICODE": true, "PRIMARY": true, "UNIQUE": true, "KEY": true,
}

// bareType cuts off what follows a type: character set, default, comment.
func bareType(sql string) string {
	end := strings.LastIndexByte(sql, ')') + 1
	words := strings.Fields(sql[end:])
	if end == 0 && len(words) > 1 && strings.EqualFold(words[0], "NATIONAL") {
		words = words[1:]
	}
	for i, w := range words {
		if attributes[strings.ToUpper(w)] && (i > 0 || end > 0) {
			words = words[:i]
			break
		}
	}
	return strings.TrimSpace(sql[:end] + " " + strings.Join(words, " "))
}

func pick(cond bool, a, b types.Type) types.Type {
	if cond {
		return a
	}
	return b
}

func sizedType(kind types.Kind, n, limit int, unsized types.Type) types.Type {
	if n <= 0 || n > limit {
		return unsized
	}
	return types.Type{Kind: kind, Length: n}
}

// splitType takes a type apart: its name in upper case without UNSIGNED and ZEROFILL, what stands in
// brackets (texts without their quotes), and whether it is unsigned.
func splitType(sql string) (name string, args []string, unsigned bool) {
	open := strings.IndexByte(sql, '(')
	head, tail := sql, ""
	if open >= 0 {
		head = sql[:open]
		args, tail = splitArgs(sql[open+1:])
	}
	var words []string
	for _, w := range strings.Fields(strings.ToUpper(head + " " + tail)) {
		switch w {
		case "UNSIGNED":
			unsigned = true
		case "ZEROFILL": // implies it
			unsigned = true
		case "SIGNED":
		default:
			words = append(words, w)
		}
	}
	return strings.Join(words, " "), args, unsigned
}

// splitArgs splits what stands in brackets at commas outside of quotes, up to the closing bracket, and
// gives what follows that. In quotes, two quotes or a backslash and a character stand for one.
func splitArgs(s string) (args []string, rest string) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted && c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '\'' && quoted && i+1 < len(s) && s[i+1] == '\'':
			i++
			b.WriteByte(c)
		case c == '\'':
			quoted = !quoted
		case quoted:
			b.WriteByte(c)
		case c == ',':
			args = append(args, b.String())
			b.Reset()
		case c == ')':
			return append(args, b.String()), s[i+1:]
		case c == ' ':
		default:
			b.WriteByte(c)
		}
	}
	return append(args, b.String()), ""
}
