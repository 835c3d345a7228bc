package sql

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql/parse"
)

// bind puts the values of parameters into a text.
func bind(text string, args []any) (string, error) {
	constants := make([]string, len(args))
	for i, a := range args {
		c, err := constant(a)
		if err != nil {
			return "", fmt.Errorf("%w: value %d: %w", tarn.ErrInvalid, i+1, err)
		}
		constants[i] = c
	}
	return parse.Bind(text, constants)
}

// constant is a value as the engine reads it.
func constant(v any) (string, error) {
	v, err := driver.DefaultParameterConverter.ConvertValue(v)
	if err != nil {
		return "", err
	}
	switch x := v.(type) {
	case bool:
		return strings.ToUpper(strconv.FormatBool(x)), nil
	case int64:
		return fmt.Sprintf("CAST(%d AS BIGINT)", x), nil
	case float64:
		if math.IsNaN(x) {
			x = math.NaN() // one of them
		}
		return "CAST('" + strconv.FormatFloat(x, 'g', -1, 64) + "' AS DOUBLE)", nil
	case string:
		if !utf8.ValidString(x) {
			return "", fmt.Errorf("text is not UTF-8: bytes are given as []byte")
		}
		if strings.Contains(x, "\x00") { // which ends the text for the engine
			return "(" + strings.ReplaceAll(parse.QuoteString(x), "\x00", "' || chr(0) || '") + ")", nil
		}
		return parse.QuoteString(x), nil
	case []byte:
		return fmt.Sprintf("unhex('%x')", x), nil
	case time.Time:
		x = x.UTC()
		if y := x.Year(); y < 1 || y > 9999 {
			return "", fmt.Errorf("time %s is not of the years 1 to 9999", x.Format(time.RFC3339))
		}
		return "CAST('" + x.Format("2006-01-02 15:04:05.999999") + "Z' AS TIMESTAMPTZ)", nil
	}
	return "NULL", nil
}
