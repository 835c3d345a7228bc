package avro

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tarnlake/tarn/internal/avro"
	"github.com/tarnlake/tarn/types"
)

// schemaOf is the schema of a file of columns, as the reference writes it: the record is called
// org.apache.paimon.avro.generated.record, those inside of it after their path.
func schemaOf(fields []types.Field) (string, error) {
	s := schemaText{used: map[string]bool{}}
	s.b.WriteString(`{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[`)
	if err := s.fields(fields, "record"); err != nil {
		return "", err
	}
	s.b.WriteString("]}")
	return s.b.String(), nil
}

type schemaText struct {
	b    strings.Builder
	used map[string]bool // names of records
}

func (s *schemaText) fields(fields []types.Field, name string) error {
	for i, f := range fields {
		if i > 0 {
			s.b.WriteByte(',')
		}
		if err := avro.CheckName(f.Name); err != nil {
			return err
		}
		if err := avro.CheckType(f.Type); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		s.b.WriteString(`{"name":"` + f.Name + `","type":`)
		if err := s.typ(f.Type, name+"_"+f.Name); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
		if !f.Type.NotNull {
			s.b.WriteString(`,"default":null`)
		}
		s.b.WriteByte('}')
	}
	return nil
}

// record gives a name that no other record of the file has.
func (s *schemaText) record(name string) string {
	for n, free := 2, name; ; n++ {
		if !s.used[free] {
			s.used[free] = true
			return free
		}
		free = name + "__" + strconv.Itoa(n)
	}
}

func (s *schemaText) typ(t types.Type, name string) error {
	if !t.NotNull {
		s.b.WriteString(`["null",`)
		defer s.b.WriteByte(']')
	}
	switch t.Kind {
	case types.Array:
		s.b.WriteString(`{"type":"array","items":`)
		defer s.b.WriteByte('}')
		return s.typ(*t.Elem, name)
	case types.Map:
		return s.mapOf(*t.Key, *t.Elem, name)
	case types.Multiset:
		return s.mapOf(*t.Elem, types.IntType, name)
	case types.Row:
		own := s.record(name)
		s.b.WriteString(`{"type":"record","name":"` + own + `","fields":[`)
		defer s.b.WriteString("]}")
		return s.fields(t.Fields, own)
	}
	s.b.WriteString(atomic(t))
	return nil
}

// mapOf writes a map: one of Avro's own if its keys are texts, else a list of pairs.
func (s *schemaText) mapOf(key, value types.Type, name string) error {
	if isText(key) {
		s.b.WriteString(`{"type":"map","values":`)
		defer s.b.WriteByte('}')
		return s.typ(value, name)
	}
	own := s.record(name)
	s.b.WriteString(`{"type":"array","items":{"type":"record","name":"` + own + `","fields":[{"name":"key","type":`)
	if err := s.typ(key, own+"_key"); err != nil {
		return err
	}
	s.b.WriteString(`},{"name":"value","type":`)
	if err := s.typ(value, own+"_value"); err != nil {
		return err
	}
	if !value.NotNull {
		s.b.WriteString(`,"default":null`)
	}
	s.b.WriteString(`}]},"logicalType":"map"}`)
	return nil
}

func isText(t types.Type) bool { return t.Kind == types.Char || t.Kind == types.Varchar }

// atomic gives the type of values that have no parts.
func atomic(t types.Type) string {
	switch t.Kind {
	case types.Boolean:
		return `"boolean"`
	case types.TinyInt, types.SmallInt, types.Int:
		return `"int"`
	case types.BigInt:
		return `"long"`
	case types.Float:
		return `"float"`
	case types.Double:
		return `"double"`
	case types.Char, types.Varchar:
		return `"string"`
	case types.Date:
		return `{"type":"int","logicalType":"date"}`
	case types.Decimal:
		return fmt.Sprintf(`{"type":"bytes","logicalType":"decimal","precision":%d,"scale":%d}`, t.Precision, t.Scale)
	case types.Time:
		return `{"type":"int","logicalType":"time-millis"}`
	case types.Timestamp, types.TimestampLTZ:
		unit := "millis"
		if t.Precision > 3 {
			unit = "micros"
		}
		// The other way round than Avro means it, as the reference writes them.
		if t.Kind == types.Timestamp {
			return `{"type":"long","logicalType":"timestamp-` + unit + `"}`
		}
		return `{"type":"long","logicalType":"local-timestamp-` + unit + `"}`
	}
	return `"bytes"`
}
