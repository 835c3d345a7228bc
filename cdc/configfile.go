package cdc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// ConfigError is a mistake in a job's file.
type ConfigError struct {
	File         string // "" if the job is of no file
	Line, Column int    // 0 if the mistake is at no place: something is missing
	Text         string // of the line
	What         string
	Path         string   // the member, such as source.type
	Key          string   // one that is not known, and
	Keys         []string // those that are, there
	err          error
}

// Error implements error: file:line:column, what is wrong, and the line.
func (e *ConfigError) Error() string {
	s := "job file"
	if e.File != "" {
		s = e.File
	}
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	s += ": " + e.What
	if e.Text != "" {
		s += "\n    " + e.Text
		if !strings.Contains(e.Text, "${") { // whose values are longer or shorter
			s += "\n    " + strings.Repeat(" ", max(e.Column-1, 0)) + "^"
		}
	}
	return s
}

// Unwrap gives the error of the file system, if it is one.
func (e *ConfigError) Unwrap() error { return e.err }

// member makes an error about a member of the file.
func member(path, format string, args ...any) error {
	return &ConfigError{Path: path, What: fmt.Sprintf(format, args...)}
}

// LoadConfig reads a job's file. Values may be ${NAME} for environment variables and ${file:/path} for the content of a
// file. Each of more may change the job before defaults are set and it is checked. Mistakes are *ConfigError.
func LoadConfig(path string, more ...func(*Config) error) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		what := err.Error()
		if errors.Is(err, iofs.ErrNotExist) {
			what = "there is no such file"
		}
		return nil, &ConfigError{File: path, What: what, err: err}
	}
	return parseConfig(path, data, more)
}

// ParseConfig is LoadConfig for the content of a file.
func ParseConfig(data []byte) (*Config, error) { return parseConfig("", data, nil) }

func parseConfig(file string, source []byte, more []func(*Config) error) (*Config, error) {
	var c Config
	data, err := substitute(source)
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.DisallowUnknownField()).Decode(&c)
	}
	if err == nil {
		err = checkFile(data)
	}
	for i := 0; err == nil && i < len(more); i++ {
		err = more[i](&c)
	}
	if err == nil {
		err = c.Complete()
	}
	if err == nil {
		return &c, nil
	}
	e := configError(err, data)
	e.File = file
	if lines := strings.Split(string(source), "\n"); e.Line > 0 && e.Line <= len(lines) {
		e.Text = strings.TrimRight(lines[e.Line-1], "\r")
	}
	return nil, e
}

// checkFile looks for what a Config does not show: a second document, which would be passed over, and numbers that
// are 0, for which the defaults would be taken.
func checkFile(data []byte) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return err
	}
	docs := 0
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if docs++; docs > 1 {
			e := &ConfigError{What: "a second document begins here: a file describes one job"}
			e.place(d.Start)
			return e
		}
	}
	(&ConfigError{}).visit(data, func(path string, key, value ast.Node) {
		if n := value.GetToken(); err == nil && (path == "checkpoint.rows" || path == "source.events") && n != nil && n.Value == "0" {
			err = failAt(value, "%s 0: want a number from 1 on, or leave it out for the default", path)
		}
	})
	return err
}

// configError says where in the file an error is.
func configError(err error, data []byte) *ConfigError {
	e := &ConfigError{}
	var at yaml.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, io.EOF):
		e.What = "the file is empty"
	case errors.As(err, &at):
		e.What = at.GetMessage()
		e.place(at.GetToken())
	default:
		e.What = err.Error()
	}
	if typ := (*yaml.TypeError)(nil); errors.As(err, &typ) {
		e.What = "want " + wanted(typ.DstType)
	}
	if node := (*yaml.UnexpectedNodeTypeError)(nil); errors.As(err, &node) && node.Expected == ast.MappingType {
		e.What = "want " + wanted(reflect.TypeFor[Config]())
	}
	if unknown := (*yaml.UnknownFieldError)(nil); errors.As(err, &unknown) {
		e.Key = unknown.Token.Value
		e.What = fmt.Sprintf("unknown key %q", e.Key)
		e.Keys = keysOf(reflect.TypeFor[Config]())
		e.visit(data, func(path string, key, value ast.Node) {
			if n := value.GetToken(); path == "source.type" && n != nil && slices.Contains(later, n.Value) { // whose keys are not known
				e.What = fmt.Sprintf("source.type %s is not supported yet; there are %s", n.Value, strings.Join(sourceNames(), ", "))
				e.Key = ""
				e.place(n)
				return
			}
			top, _, nested := strings.Cut(path, ".")
			if t := key.GetToken().Position; nested && t.Line == e.Line && t.Column == e.Column {
				e.Keys = keysOf(sectionOf(top))
			}
		})
	}
	if e.Path != "" && e.Line == 0 {
		best := -1
		e.visit(data, func(path string, key, _ ast.Node) {
			if (path == e.Path || strings.HasPrefix(e.Path, path+".")) && len(path) > best {
				best = len(path)
				e.place(key.GetToken())
			}
		})
	}
	return e
}

func (e *ConfigError) place(t *token.Token) {
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
}

// visit calls f for all keys of the file, with their paths.
func (e *ConfigError) visit(data []byte, f func(path string, key, value ast.Node)) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return
	}
	var walk func(prefix string, n ast.Node)
	walk = func(prefix string, n ast.Node) {
		var values []*ast.MappingValueNode
		switch n := n.(type) {
		case *ast.MappingNode:
			values = n.Values
		case *ast.MappingValueNode:
			values = []*ast.MappingValueNode{n}
		}
		for _, v := range values {
			path := prefix + v.Key.GetToken().Value
			f(path, v.Key, v.Value)
			walk(path+".", v.Value)
		}
	}
	for _, d := range file.Docs {
		walk("", d.Body)
	}
}

// sectionOf is the struct of a member of Config.
func sectionOf(key string) reflect.Type {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") == key {
			return t.Field(i).Type
		}
	}
	return t
}

func keysOf(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if k := t.Field(i).Tag.Get("yaml"); k != "" {
			out = append(out, k)
		}
	}
	return out
}

// wanted says in words what a Go type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Slice:
		return "a list, such as [a, b]"
	case reflect.Map, reflect.Struct:
		return "keys with values, such as {key: value}"
	}
	return "text"
}

// failAt is an error at a place of the file.
func failAt(n ast.Node, format string, args ...any) error {
	e := &ConfigError{What: fmt.Sprintf(format, args...)}
	e.place(n.GetToken())
	return e
}

// UnmarshalYAML takes a list or a map of lists.
func (c *Columns) UnmarshalYAML(n ast.Node) error {
	var one string
	if _, list := n.(*ast.SequenceNode); !list && yaml.NodeToValue(n, &one) == nil && n.Type() == ast.StringType {
		c.All = strings.Split(one, ",")
		for i := range c.All {
			c.All[i] = strings.TrimSpace(c.All[i])
		}
		return nil
	}
	if yaml.NodeToValue(n, &c.All) == nil {
		return nil
	}
	c.All = nil
	if yaml.NodeToValue(n, &c.ByTable) != nil {
		return failAt(n, "want a list of columns, or a list for each table: {orders: [id]}")
	}
	return nil
}

// UnmarshalYAML takes a word or {dead-letter: file}.
func (o *OnError) UnmarshalYAML(n ast.Node) error {
	if n.Type() == ast.StringType {
		o.Mode = n.GetToken().Value
		if o.Mode != "fail" && o.Mode != "skip" {
			return failAt(n, "on-error %q is not known; there are fail, skip, {dead-letter: FILE}", o.Mode)
		}
		return nil
	}
	var m struct {
		DeadLetter string `yaml:"dead-letter"`
	}
	if err := yaml.NodeToValue(n, &m, yaml.Strict()); err != nil || m.DeadLetter == "" {
		return failAt(n, "on-error: want fail, skip or {dead-letter: FILE}")
	}
	o.Mode, o.DeadLetter = "dead-letter", m.DeadLetter
	return nil
}

// UnmarshalYAML wants a unit.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	if err := d.Set(n.GetToken().Value); err != nil {
		return failAt(n, "%v", err)
	}
	return nil
}

// Set reads a length of time with its unit.
func (d *Duration) Set(s string) error {
	v, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is no duration; want a number with its unit, such as 5s", s)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML wants a unit.
func (z *Size) UnmarshalYAML(n ast.Node) error {
	if err := z.Set(n.GetToken().Value); err != nil {
		return failAt(n, "%v", err)
	}
	return nil
}

// Set reads a number of bytes with its unit.
func (z *Size) Set(s string) error {
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

// substitute puts in what ${…} stands for.
func substitute(data []byte) ([]byte, error) {
	var out bytes.Buffer
	line, col := 1, 1
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, &ConfigError{Line: line, Column: col, What: fmt.Sprintf(format, args...)}
	}
	pass := func(b []byte) {
		line += bytes.Count(b, []byte("\n"))
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			col, b = 1, b[i+1:]
		}
		col += len(b)
	}
	for len(data) > 0 {
		i := bytes.Index(data, []byte("${"))
		if i < 0 {
			break
		}
		pass(data[:i])
		end := bytes.IndexByte(data[i:], '}')
		if end < 0 {
			return fail("${ is not closed")
		}
		name := string(data[i+2 : i+end])
		out.Write(data[:i])
		if file, ok := strings.CutPrefix(name, "file:"); ok {
			v, err := os.ReadFile(file)
			if err != nil {
				return fail("${%s}: %v", name, err)
			}
			out.WriteString(strings.TrimRight(string(v), "\r\n"))
		} else {
			v, ok := os.LookupEnv(name)
			if !ok {
				return fail("environment variable %s is not set", name)
			}
			out.WriteString(v)
		}
		pass(data[i : i+end+1])
		data = data[i+end+1:]
	}
	out.Write(data)
	return out.Bytes(), nil
}
