package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/tarnlake/tarn/types"
)

// object is a JSON object whose members keep their order. A value is nil, bool, int64, float64, string, []byte (printed
// in hexadecimal), rawJSON, []any or object.
type object []member

type member struct {
	name  string
	value any
}

// rawJSON is JSON already.
type rawJSON []byte

// appendJSON writes a value without spaces.
func appendJSON(b []byte, v any) []byte { return appendTree(b, v, "", "") }

func appendTree(b []byte, v any, comma, colon string) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(types.AppendFloat(append(b, '"'), v, 64), '"')
		}
		return types.AppendFloat(b, v, 64)
	case string:
		return types.AppendJSONString(b, v)
	case []byte:
		return append(hex.AppendEncode(append(b, '"'), v), '"')
	case rawJSON:
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(append(b, ','), comma...)
			}
			b = appendTree(b, x, comma, colon)
		}
		return append(b, ']')
	case object:
		b = append(b, '{')
		for i, m := range v {
			if i > 0 {
				b = append(append(b, ','), comma...)
			}
			b = append(append(types.AppendJSONString(b, m.name), ':'), colon...)
			b = appendTree(b, m.value, comma, colon)
		}
		return append(b, '}')
	}
	return types.AppendJSONString(b, fmt.Sprint(v))
}

// lineWidth is the most columns of a line that appendPretty puts objects and lists into.
const lineWidth = 200

// appendPretty writes a value with indentation: what fits into a line stays in one. Used is what stands in the line.
func appendPretty(b []byte, v any, indent, used int) []byte {
	from := len(b)
	b = appendTree(b, v, " ", " ")
	if len(b)-from+used <= lineWidth && depthOf(v) <= 2 {
		return b
	}
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			b = append(b[:from], '[')
			for i, x := range v {
				b = newLine(b, i, indent+2)
				b = appendPretty(b, x, indent+2, indent+2)
			}
			return append(newLine(b, 0, indent), ']')
		}
	case object:
		if len(v) > 0 {
			b = append(b[:from], '{')
			for i, m := range v {
				b = newLine(b, i, indent+2)
				at := len(b)
				b = append(types.AppendJSONString(b, m.name), ": "...)
				b = appendPretty(b, m.value, indent+2, indent+2+len(b)-at)
			}
			return append(newLine(b, 0, indent), '}')
		}
	}
	return b
}

// newLine begins a line, after a comma but for the first.
func newLine(b []byte, i, indent int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = append(b, '\n')
	return append(b, bytes.Repeat([]byte{' '}, indent)...)
}

// depthOf is how deeply objects and lists are nested in a value, those without members not counted.
func depthOf(v any) int {
	most := -1
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			most = max(most, depthOf(x))
		}
	case object:
		for _, m := range v {
			most = max(most, depthOf(m.value))
		}
	}
	return most + 1
}

// decodeJSON reads JSON into such values.
func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return decodeValue(d)
}

func decodeValue(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return rawJSON(t.String()), nil
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := decodeValue(d)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := d.Token()
			return list, err
		}
		o := object{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeValue(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{fmt.Sprint(k), v})
		}
		_, err := d.Token()
		return o, err
	case string, bool, nil:
		return t, nil
	}
	return nil, io.ErrUnexpectedEOF
}

// humanBytes writes a size for people: 1.2 MB.
func humanBytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1000, 0
	for ; x >= 999.95 && unit < 3; unit++ {
		x /= 1000
	}
	return fmt.Sprintf("%.1f %s", x, [...]string{"kB", "MB", "GB", "TB"}[unit])
}
