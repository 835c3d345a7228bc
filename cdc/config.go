package cdc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tarnlake/tarn/types"
)

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

// UnmarshalYAML takes a list or a map of lists.
func (c *Columns) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&c.All); err == nil {
		return nil
	}
	c.All = nil
	if err := unmarshal(&c.ByTable); err != nil {
		return errors.New("want a list of columns, or a list for each table: {orders: [id]}")
	}
	return nil
}

// OnError is what happens to a change that cannot be applied.
type OnError struct {
	Mode       string // fail, skip, dead-letter
	DeadLetter string // file
}

// UnmarshalYAML takes a word or {dead-letter: file}.
func (o *OnError) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&o.Mode); err == nil {
		if o.Mode != "fail" && o.Mode != "skip" {
			return fmt.Errorf("on-error %q is not known; there are fail, skip, {dead-letter: FILE}", o.Mode)
		}
		return nil
	}
	var m struct {
		DeadLetter string `yaml:"dead-letter"`
	}
	if err := unmarshal(&m); err != nil || m.DeadLetter == "" {
		return errors.New("on-error: want fail, skip or {dead-letter: FILE}")
	}
	o.Mode, o.DeadLetter = "dead-letter", m.DeadLetter
	return nil
}

// Duration is a length of time with its unit: 5s, 2m.
type Duration time.Duration

// UnmarshalYAML wants a unit.
func (d *Duration) UnmarshalYAML(unmarshal func(any) error) error {
	var s string
	if err := unmarshal(&s); err != nil {
		return errors.New("want a duration with its unit, such as 5s")
	}
	v, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is no duration; want a number with its unit, such as 5s", s)
	}
	*d = Duration(v)
	return nil
}

// Size is a number of bytes with its unit: 256 MB.
type Size int64

// UnmarshalYAML wants a unit.
func (z *Size) UnmarshalYAML(unmarshal func(any) error) error {
	var s string
	if err := unmarshal(&s); err != nil {
		return errors.New("want a size with its unit, such as 256 MB")
	}
	units := []struct {
		suffix string
		n      int64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}}
	t := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	for _, u := range units {
		if num, ok := strings.CutSuffix(t, u.suffix); ok {
			n, err := strconv.ParseInt(num, 10, 64)
			if err != nil || n <= 0 || n > (1<<62)/u.n {
				break
			}
			*z = Size(n * u.n)
			return nil
		}
	}
	return fmt.Errorf("%q is no size; want a number with its unit, such as 256 MB", s)
}

// LoadConfig reads a job's file. Values may be ${NAME} for environment variables and
// ${file:/path} for the content of a file. Errors show the line.
func LoadConfig(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("job file: %w", err)
	}
	c, err := ParseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("job file %s: %w", path, err)
	}
	return c, nil
}

// ParseConfig is LoadConfig for the content of a file.
func ParseConfig(data []byte) (*Config, error) {
	data, err := substitute(data)
	if err != nil {
		return nil, err
	}
	var c Config
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.DisallowUnknownField())
	if err := dec.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s", yaml.FormatError(err, false, true))
	}
	return &c, c.Complete()
}

// substitute puts in what ${…} stands for.
func substitute(data []byte) ([]byte, error) {
	var out bytes.Buffer
	line := 1
	for len(data) > 0 {
		i := bytes.Index(data, []byte("${"))
		if i < 0 {
			break
		}
		line += bytes.Count(data[:i], []byte("\n"))
		end := bytes.IndexByte(data[i:], '}')
		if end < 0 {
			return nil, fmt.Errorf("line %d: ${ is not closed", line)
		}
		name := string(data[i+2 : i+end])
		out.Write(data[:i])
		if file, ok := strings.CutPrefix(name, "file:"); ok {
			v, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("line %d: ${%s}: %w", line, name, err)
			}
			out.WriteString(strings.TrimRight(string(v), "\r\n"))
		} else {
			v, ok := os.LookupEnv(name)
			if !ok {
				return nil, fmt.Errorf("line %d: environment variable %s is not set", line, name)
			}
			out.WriteString(v)
		}
		data = data[i+end+1:]
	}
	out.Write(data)
	return out.Bytes(), nil
}

// Complete sets defaults and checks what YAML cannot.
func (c *Config) Complete() error {
	switch {
	case c.Name == "":
		return errors.New("name is missing: the job's name, under which it goes on after a restart")
	case c.Source.Type == "":
		return fmt.Errorf("source.type is missing; there are %s", strings.Join(sourceNames(), ", "))
	case sources[c.Source.Type] == nil:
		_, err := OpenSource(c, nil)
		return err
	case c.Source.Type == "files" && c.Source.Path == "":
		return errors.New("source.path is missing: a file of change events, or - for standard input")
	case c.Sink.Warehouse == "":
		return errors.New("sink.warehouse is missing: a folder or s3://bucket/path")
	}
	if c.Sink.Table == "" {
		c.Sink.Table = "{database}.{table}"
	}
	if strings.Count(c.Sink.Table, ".") != 1 {
		return fmt.Errorf("sink.table %q: want database.table, such as ods.{table}", c.Sink.Table)
	}
	if c.SchemaChanges == "" {
		c.SchemaChanges = "evolve"
	}
	if !slices.Contains([]string{"evolve", "ignore", "fail"}, c.SchemaChanges) {
		return fmt.Errorf("schema-changes %q is not known; there are evolve, ignore, fail", c.SchemaChanges)
	}
	if c.OnError.Mode == "" {
		c.OnError.Mode = "fail"
	}
	for from, to := range c.Types {
		if _, err := types.Parse(strings.ToUpper(to)); err != nil {
			return fmt.Errorf("types: %s: %w", from, err)
		}
	}
	for _, p := range slices.Concat(c.Source.Tables, c.Source.Exclude) {
		if _, err := regexp.Compile("^(?:" + p + ")$"); err != nil {
			return fmt.Errorf("table pattern %q: %w", p, err)
		}
	}
	if c.Checkpoint.Every == 0 {
		c.Checkpoint.Every = Duration(5 * time.Second)
	}
	if c.Checkpoint.Rows <= 0 {
		c.Checkpoint.Rows = 500000
	}
	if c.Checkpoint.Bytes <= 0 {
		c.Checkpoint.Bytes = 256 << 20
	}
	return nil
}
