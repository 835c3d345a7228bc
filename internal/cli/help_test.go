package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command has two examples or more, of itself and with flags that it has; no text names a flag that there is not.
func TestExamples(t *testing.T) {
	var out bytes.Buffer
	root := newApp(strings.NewReader(""), &out, &out).root()
	flags := map[string]bool{"help": true, "version": true}
	var all []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, s := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			s.VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		}
		for _, k := range c.Commands() {
			walk(k)
		}
	}
	walk(root)
	named := regexp.MustCompile(`(?:^|[\s"'(])--([a-z][a-z-]*)`)
	for _, c := range all {
		for _, m := range named.FindAllStringSubmatch(c.Short+" "+c.Long+" "+c.Example, -1) {
			if !flags[m[1]] {
				t.Errorf("%s: the help names --%s, which there is not", c.CommandPath(), m[1])
			}
		}
		if c.HasSubCommands() || !c.Runnable() || strings.Contains(c.CommandPath(), "completion") || c.Name() == "help" || c.Name() == "version" {
			continue
		}
		n := strings.Count(c.Example, c.CommandPath())
		if n < 2 {
			t.Errorf("%s has %d examples, want 2 or more: %q", c.CommandPath(), n, c.Example)
		}
		for _, line := range strings.Split(c.Example, "\n") {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if strings.Contains(line, c.CommandPath()) && c.Flags().Lookup(m[1]) == nil && c.InheritedFlags().Lookup(m[1]) == nil {
					t.Errorf("%s: the example %q has --%s, which the command does not", c.CommandPath(), line, m[1])
				}
			}
		}
	}
}
