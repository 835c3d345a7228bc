package parquet

import "fmt"

// logicalKind is what the values of a column mean.
type logicalKind int8

const (
	logNone logicalKind = iota
	logString
	logMap
	logList
	logEnum
	logDecimal
	logDate
	logTime
	logTimestamp
	logInt
	logJSON
	logBSON
	logUUID
	logOther // known to exist, of no use here
)

// timeUnit of a time or timestamp.
type timeUnit int8

const (
	unitMillis timeUnit = 1
	unitMicros timeUnit = 2
	unitNanos  timeUnit = 3
)

type logical struct {
	kind      logicalKind
	scale     int
	precision int
	utc       bool
	unit      timeUnit
	bits      int
	unsigned  bool
}

func (l logical) String() string {
	switch l.kind {
	case logNone:
		return ""
	case logDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", l.precision, l.scale)
	case logTime, logTimestamp:
		n := "TIME"
		if l.kind == logTimestamp {
			n = "TIMESTAMP"
		}
		u := "?"
		if l.unit >= unitMillis && l.unit <= unitNanos {
			u = [...]string{"", "MILLIS", "MICROS", "NANOS"}[l.unit]
		}
		return fmt.Sprintf("%s(%s,utc=%t)", n, u, l.utc)
	case logInt:
		if l.unsigned {
			return fmt.Sprintf("UINT_%d", l.bits)
		}
		return fmt.Sprintf("INT_%d", l.bits)
	case logOther:
		return "OTHER"
	}
	return map[logicalKind]string{
		logString: "STRING", logMap: "MAP", logList: "LIST", logEnum: "ENUM", logDate: "DATE",
		logJSON: "JSON", logBSON: "BSON", logUUID: "UUID",
	}[l.kind]
}

// schemaElement is a node of the schema as it lies in the footer, in depth-first order.
type schemaElement struct {
	phys      physical
	typeLen   int32
	rep       repetition
	name      string
	children  int32
	converted int32 // -1 if absent
	scale     int32
	precision int32
	fieldID   int32
	hasID     bool
	logical   logical
}

func readSchemaElement(r *thriftReader, elem byte) schemaElement {
	e := schemaElement{phys: physGroup, converted: -1}
	r.sub(elem, func(id int, typ byte) {
		switch id {
		case 1:
			e.phys = physical(min(max(r.i32(typ), 0), int32(physUnknown)))
		case 2:
			e.typeLen = r.i32(typ)
		case 3:
			e.rep = repetition(min(max(r.i32(typ), 0), 3))
		case 4:
			e.name = string(r.binary(typ))
		case 5:
			e.children = r.i32(typ)
		case 6:
			e.converted = r.i32(typ)
		case 7:
			e.scale = r.i32(typ)
		case 8:
			e.precision = r.i32(typ)
		case 9:
			e.fieldID, e.hasID = r.i32(typ), true
		case 10:
			e.logical = readLogical(r, typ)
		default:
			r.skip(typ)
		}
	})
	if e.logical.kind == logNone {
		e.logical = fromConverted(e.converted, int(e.precision), int(e.scale))
	}
	return e
}

func readLogical(r *thriftReader, typ byte) (l logical) {
	r.sub(typ, func(id int, typ byte) {
		switch id {
		case 1:
			l.kind = logString
		case 2:
			l.kind = logMap
		case 3:
			l.kind = logList
		case 4:
			l.kind = logEnum
		case 5:
			l.kind = logDecimal
		case 6:
			l.kind = logDate
		case 7:
			l.kind = logTime
		case 8:
			l.kind = logTimestamp
		case 10:
			l.kind = logInt
		case 12:
			l.kind = logJSON
		case 13:
			l.kind = logBSON
		case 14:
			l.kind = logUUID
		default:
			l.kind = logOther
		}
		r.sub(typ, func(f int, typ byte) {
			switch {
			case l.kind == logDecimal && f == 1:
				l.scale = int(r.i32(typ))
			case l.kind == logDecimal && f == 2:
				l.precision = int(r.i32(typ))
			case (l.kind == logTime || l.kind == logTimestamp) && f == 1:
				l.utc = r.boolean(typ)
			case (l.kind == logTime || l.kind == logTimestamp) && f == 2:
				r.sub(typ, func(u int, typ byte) {
					l.unit = timeUnit(min(max(u, 0), 4))
					r.skip(typ)
				})
			case l.kind == logInt && f == 1:
				l.bits = int(r.integer(typ))
			case l.kind == logInt && f == 2:
				l.unsigned = !r.boolean(typ)
			default:
				r.skip(typ)
			}
		})
	})
	return l
}

// fromConverted is the meaning of the older annotation.
func fromConverted(c int32, precision, scale int) logical {
	switch c {
	case 0:
		return logical{kind: logString}
	case 1, 2:
		return logical{kind: logMap}
	case 3:
		return logical{kind: logList}
	case 4:
		return logical{kind: logEnum}
	case 5:
		return logical{kind: logDecimal, precision: precision, scale: scale}
	case 6:
		return logical{kind: logDate}
	case 7, 8:
		return logical{kind: logTime, utc: true, unit: timeUnit(c - 6)}
	case 9, 10:
		return logical{kind: logTimestamp, utc: true, unit: timeUnit(c - 8)}
	case 11, 12, 13, 14:
		return logical{kind: logInt, bits: 8 << (c - 11), unsigned: true}
	case 15, 16, 17, 18:
		return logical{kind: logInt, bits: 8 << (c - 15)}
	case 19:
		return logical{kind: logJSON}
	case 20:
		return logical{kind: logBSON}
	case 21:
		return logical{kind: logOther}
	}
	return logical{}
}
