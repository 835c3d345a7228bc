package cdc

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // machines without zones

	"github.com/tarnlake/tarn/cdc/decode"
	"github.com/tarnlake/tarn/cdc/source"
	"github.com/tarnlake/tarn/cdc/source/demo"
	"github.com/tarnlake/tarn/cdc/source/files"
)

// sources are those known, by their type in job files. A new one is a package and a line here.
var sources = map[string]func(c *Config, in io.Reader) (source.Source, error){
	"demo": func(c *Config, _ io.Reader) (source.Source, error) {
		n := c.Source.Events
		if n <= 0 {
			n = 1_000_000
		}
		return demo.NewSource(c.Source.Seed, n), nil
	},
	"files": func(c *Config, in io.Reader) (source.Source, error) {
		o := files.Options{Paths: []string{c.Source.Path}, Format: c.Source.Format, Follow: c.Source.Follow, Input: in, FileSystem: c.Sink.Catalog}
		var err error
		if o.Decode.Zone, err = timeZone(c.Source.TimeZone); err != nil {
			return nil, err
		}
		if o.Format == "" {
			return nil, fmt.Errorf("source.format is missing; there are %s", strings.Join(decode.Formats(), ", "))
		}
		return files.New(o)
	},
}

// timeZone reads a time zone, nil for none.
func timeZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	if at, err := time.Parse("-07:00", name); err == nil {
		_, offset := at.Zone() // at.Location may be that of this machine
		return time.FixedZone(name, offset), nil
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("source.time-zone %q is not known; want a name such as Asia/Shanghai, or +08:00", name)
	}
	return z, nil
}

// later are sources that are known by name and not there yet.
var later = []string{"mysql", "postgres", "kafka", "mongodb"}

func sourceNames() []string {
	out := make([]string, 0, len(sources))
	for n := range sources {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// OpenSource makes the source of a job; in is standard input.
func OpenSource(c *Config, in io.Reader) (source.Source, error) {
	if c == nil {
		return nil, errNoJob
	}
	f := sources[c.Source.Type]
	switch {
	case f != nil:
		return f(c, in)
	case slices.Contains(later, c.Source.Type):
		return nil, fmt.Errorf("source.type %s is not supported yet; there are %s", c.Source.Type, strings.Join(sourceNames(), ", "))
	}
	return nil, fmt.Errorf("source.type %q is not known; there are %s", c.Source.Type, strings.Join(sourceNames(), ", "))
}
