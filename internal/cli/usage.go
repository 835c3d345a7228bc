package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tarnlake/tarn/internal/options"
)

// later are commands that are planned: they are refused by name, not as unknown.
var later = map[string][]string{
	"tarn":          {"tail", "verify", "tag", "branch", "consumer", "clean", "index", "serve", "config"},
	"tarn snapshot": {"rollback"},
	"tarn sync":     {"pause", "resume", "resync", "example"},
}

// strict makes wrong names of commands, flags and wrong numbers of arguments errors of usage that say what there is.
func (a *app) strict(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args, cmd.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		}
	} else if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				return nil
			}
			got := "nothing"
			if len(args) > 0 {
				got = strings.Join(args, " ")
			}
			return hint(usage(fmt.Errorf("wrong number of arguments: want %s, got %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"), got)), cmd.CommandPath()+" --help has examples")
		}
	}
	cmd.SetFlagErrorFunc(flagError)
	a.completion(cmd)
	for _, c := range cmd.Commands() {
		a.strict(c)
	}
}

// unknownCommand is the error of a command that there is not.
func unknownCommand(cmd *cobra.Command, name string) error {
	path := cmd.CommandPath()
	if slices.Contains(later[path], name) {
		return usage(fmt.Errorf("%s %s is planned, but not there yet", path, name))
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	err := usage(fmt.Errorf("unknown command %q of %s", name, path))
	if like := nearest(name, names); like != "" {
		return hint(err, "did you mean "+path+" "+like+"?")
	}
	return hint(err, "there are "+strings.Join(names, ", "))
}

// flagError is the error of flags that do not parse.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return usage(err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	u := usage(fmt.Errorf("%s: %w", cmd.CommandPath(), err))
	if like := nearest(missing.GetSpecifiedName(), names); like != "" {
		return hint(u, "did you mean --"+like+"?")
	}
	return hint(u, cmd.CommandPath()+" --help lists the flags")
}

// nearest finds the word that a misspelled one was meant to be, "" if none is like it.
func nearest(word string, from []string) string {
	best, most := "", 1+len(word)/4
	for _, w := range from {
		if d := options.Edits(strings.ToLower(word), strings.ToLower(w)); d <= most && d < len(w) {
			best, most = w, d-1
		}
	}
	return best
}

// count writes a number of things: 1 row, 2 rows.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(n) + " " + thing + "s"
}
