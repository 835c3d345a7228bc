package types

// Datum is one value of an atomic type, nil for NULL. It is used where single values matter
// (partitions, keys in statistics, literals of predicates), never on the path of rows.
// The Go type follows the Kind:
//
//	BOOLEAN                          bool
//	TINYINT SMALLINT INT BIGINT      int64
//	DATE                             int64, days since 1970-01-01
//	TIME                             int64, milliseconds of the day
//	FLOAT                            float32
//	DOUBLE                           float64
//	DECIMAL                          decimal128.Num, the unscaled value
//	CHAR VARCHAR                     string
//	BINARY VARBINARY                 []byte
//	TIMESTAMP TIMESTAMP_LTZ          Instant
type Datum any

// Instant is a TIMESTAMP (wall clock as if in UTC) or TIMESTAMP_LTZ: milliseconds since
// 1970-01-01T00:00:00 (rounded down) and the nanoseconds within the millisecond, 0..999999.
type Instant struct {
	Millis int64
	Nanos  int32
}
