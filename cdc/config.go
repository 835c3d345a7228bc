package cdc

import "time"

// Config is a sync job as its YAML file describes it. The zero value of a member is its default.
type Config struct {
	Name          string            `yaml:"name"`
	Source        SourceConfig      `yaml:"source"`
	Sink          SinkConfig        `yaml:"sink"`
	SchemaChanges string            `yaml:"schema-changes"` // evolve (default), ignore, fail
	Types         map[string]string `yaml:"types"`          // source type → type, for example tinyint(1): boolean
	Checkpoint    CheckpointConfig  `yaml:"checkpoint"`
	OnError       OnError           `yaml:"on-error"` // fail (default), skip, {dead-letter: file}
}

// SourceConfig says where changes come from.
type SourceConfig struct {
	Type    string   `yaml:"type"` // demo, files
	Tables  []string `yaml:"tables"`
	Exclude []string `yaml:"exclude"`
	// files: Path is a file, a folder's pattern, or "-" for standard input; Format how lines look.
	Path   string `yaml:"path"`
	Format string `yaml:"format"`
	Follow bool   `yaml:"follow"`
	// TimeZone is that of times without one, where they become points in time (TIMESTAMP_LTZ): a name or +08:00.
	TimeZone string `yaml:"time-zone"`
	// demo
	Events int    `yaml:"events"`
	Seed   uint64 `yaml:"seed"`
}

// SinkConfig says where they go.
type SinkConfig struct {
	Warehouse   string            `yaml:"warehouse"`
	Table       string            `yaml:"table"` // pattern: "ods.{table}"; {database} is known too
	PrimaryKey  Columns           `yaml:"primary-key"`
	PartitionBy Columns           `yaml:"partition-by"`
	Computed    map[string]string `yaml:"computed"`
	Options     map[string]string `yaml:"options"`
	// CaseSensitive is true unless it is set: with false all names are written in lower case.
	CaseSensitive *bool `yaml:"case-sensitive"`
	// Catalog holds the options of the warehouse's file system (s3.endpoint, …).
	Catalog map[string]string `yaml:"catalog"`
}

// CheckpointConfig says how often the job commits: at the first of the three.
type CheckpointConfig struct {
	Every Duration `yaml:"every"` // default 5s
	Rows  int64    `yaml:"rows"`  // default 500000
	Bytes Size     `yaml:"bytes"` // default 256 MB
}

// Columns are column names for all tables, or by table.
type Columns struct {
	All     []string
	ByTable map[string][]string
}

// For gives the columns for a table; nil if the job names none.
func (c Columns) For(table string) []string {
	if v, ok := c.ByTable[table]; ok {
		return v
	}
	return c.All
}

// general tells whether the columns for a table are those for all.
func (c Columns) general(table string) bool {
	_, ok := c.ByTable[table]
	return !ok
}

// OnError is what happens to a change that cannot be applied.
type OnError struct {
	Mode       string // fail, skip, dead-letter
	DeadLetter string // file
}

// Duration is a length of time with its unit: 5s, 2m.
type Duration time.Duration

// Size is a number of bytes with its unit: 256 MB.
type Size int64
