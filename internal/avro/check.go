package avro

import (
	"fmt"

	"github.com/tarnlake/tarn/types"
)

// CheckType says why Avro files cannot hold values of a type; nil if they can. The reasons are those of the reference, which
// has milliseconds for TIME and microseconds for timestamps.
func CheckType(t types.Type) error {
	switch t.Kind {
	case types.Time:
		if t.Precision > 3 {
			return fmt.Errorf("files in Avro cannot hold %s: they have milliseconds; use TIME(3) or another file.format", t)
		}
	case types.Timestamp, types.TimestampLTZ:
		if t.Precision > 6 {
			return fmt.Errorf("files in Avro cannot hold %s: they have microseconds; use a precision of 6 or another file.format", t)
		}
	case types.Variant, types.Blob, types.Vector, types.Invalid:
		return fmt.Errorf("files in Avro cannot hold %s; use another file.format", t)
	}
	for _, part := range []*types.Type{t.Key, t.Elem} {
		if part != nil {
			if err := CheckType(*part); err != nil {
				return err
			}
		}
	}
	for _, f := range t.Fields {
		if err := CheckName(f.Name); err != nil {
			return err
		}
		if err := CheckType(f.Type); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// CheckName says why a field of an Avro file cannot have a name.
func CheckName(name string) error {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return fmt.Errorf("names in Avro files have letters of ASCII, digits and _ only, and no digit in front, which %q has not; use another file.format or another name", name)
		}
	}
	return nil
}
