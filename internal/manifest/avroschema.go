package manifest

import (
	"strings"
	"sync"
)

// The schemas that Java writes, put together from their parts: a record is
// org.apache.paimon.avro.generated.record, nested ones are named after their path. Until 0.8 every
// record was nullable, the outermost included.

type schemaKey struct {
	what string
	v    Version
}

var schemaTexts sync.Map // schemaKey → string

func schemaText(what string, v Version, build func(Version) string) string {
	k := schemaKey{what, v}
	if s, ok := schemaTexts.Load(k); ok {
		return s.(string)
	}
	s := build(v)
	schemaTexts.Store(k, s)
	return s
}

func field(name, typ string) string { return `{"name":"` + name + `","type":` + typ + `}` }

func optional(name, typ string) string {
	return `{"name":"` + name + `","type":["null",` + typ + `],"default":null}`
}

const (
	tInt     = `"int"`
	tLong    = `"long"`
	tBytes   = `"bytes"`
	tString  = `"string"`
	tStrings = `{"type":"array","items":"string"}`
	tMillis  = `{"type":"long","logicalType":"timestamp-millis"}`
	tCounts  = `{"type":"array","items":["null","long"]}`
)

func record(name string, fields []string) string {
	return `{"type":"record","name":"` + name + `","fields":[` + strings.Join(fields, ",") + `]}`
}

// nested is a field with a record.
func nested(v Version, name, path string, fields []string) string {
	if v < V09 {
		return optional(name, record(path, fields))
	}
	return field(name, record(path, fields))
}

func outer(v Version, fields []string) string {
	s := `{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[` +
		strings.Join(fields, ",") + `]}`
	if v < V09 {
		return `["null",` + s + `]`
	}
	return s
}

func statsSchema(v Version, name, path string) string {
	return nested(v, name, path, []string{
		field("_MIN_VALUES", tBytes), field("_MAX_VALUES", tBytes), optional("_NULL_COUNTS", tCounts),
	})
}

// entryParts are the fields of an entry and of its file; the fields of unknown origin follow them.
func entrySchema(v Version, x *extras) string {
	file := []string{
		field("_FILE_NAME", tString), field("_FILE_SIZE", tLong), field("_ROW_COUNT", tLong),
		field("_MIN_KEY", tBytes), field("_MAX_KEY", tBytes),
		statsSchema(v, "_KEY_STATS", "record__FILE__KEY_STATS"),
		statsSchema(v, "_VALUE_STATS", "record__FILE__VALUE_STATS"),
		field("_MIN_SEQUENCE_NUMBER", tLong), field("_MAX_SEQUENCE_NUMBER", tLong), field("_SCHEMA_ID", tLong),
		field("_LEVEL", tInt), field("_EXTRA_FILES", tStrings), optional("_CREATION_TIME", tMillis),
	}
	if v >= V08 {
		file = append(file, optional("_DELETE_ROW_COUNT", tLong), optional("_EMBEDDED_FILE_INDEX", tBytes))
	}
	if v >= V09 {
		file = append(file, optional("_FILE_SOURCE", tInt))
	}
	if v >= V10 {
		file = append(file, optional("_VALUE_STATS_COLS", tStrings), optional("_EXTERNAL_PATH", tString))
	}
	if v >= V13 {
		file = append(file, optional("_FIRST_ROW_ID", tLong), optional("_WRITE_COLS", tStrings))
	}
	file = append(file, x.fields[1]...)
	return outer(v, append([]string{
		field("_VERSION", tInt), field("_KIND", tInt), field("_PARTITION", tBytes), field("_BUCKET", tInt),
		field("_TOTAL_BUCKETS", tInt), nested(v, "_FILE", "record__FILE", file),
	}, x.fields[0]...))
}

func listSchema(v Version, x *extras) string {
	fields := []string{
		field("_VERSION", tInt), field("_FILE_NAME", tString), field("_FILE_SIZE", tLong),
		field("_NUM_ADDED_FILES", tLong), field("_NUM_DELETED_FILES", tLong),
		statsSchema(v, "_PARTITION_STATS", "record__PARTITION_STATS"), field("_SCHEMA_ID", tLong),
	}
	if v >= V11 {
		fields = append(fields, optional("_MIN_BUCKET", tInt), optional("_MAX_BUCKET", tInt),
			optional("_MIN_LEVEL", tInt), optional("_MAX_LEVEL", tInt))
	}
	if v >= V14 {
		fields = append(fields, optional("_MIN_ROW_ID", tLong), optional("_MAX_ROW_ID", tLong))
	}
	return outer(v, append(fields, x.fields[0]...))
}

const globalIndexType = `{"type":"record","name":"record__GLOBAL_INDEX","fields":[` +
	`{"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},` +
	`{"name":"_INDEX_FIELD_ID","type":"int"},` +
	`{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},` +
	`{"name":"_INDEX_META","type":["null","bytes"],"default":null}]}`

func indexSchema(v Version, global string, x *extras) string {
	fields := []string{
		field("_VERSION", tInt), field("_KIND", tInt), field("_PARTITION", tBytes), field("_BUCKET", tInt),
		field("_INDEX_TYPE", tString), field("_FILE_NAME", tString), field("_FILE_SIZE", tLong),
		field("_ROW_COUNT", tLong),
	}
	if v >= V08 {
		vector := []string{field("f0", tString), field("f1", tInt), field("f2", tInt)}
		if v >= V10 {
			vector = append(vector, optional("_CARDINALITY", tLong))
		}
		fields = append(fields, optional("_DELETIONS_VECTORS_RANGES",
			`{"type":"array","items":["null",`+record("record__DELETIONS_VECTORS_RANGES", vector)+`]}`))
	}
	if v >= V13 {
		fields = append(fields, optional("_EXTERNAL_PATH", tString))
	}
	if v >= V14 {
		if global == "" {
			global = optional("_GLOBAL_INDEX", globalIndexType)
		}
		fields = append(fields, global)
	}
	return outer(v, append(fields, x.fields[0]...))
}
