package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// confirmation are the flags of commands that destroy something.
type confirmation struct{ yes, dryRun bool }

func (c *confirmation) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "say what would be done, and do nothing")
}

// confirm asks on a terminal; elsewhere it wants --yes. False without an error is a dry run; look tells more of what
// would happen then, and whether it can.
func (a *app) confirm(c confirmation, what string, look func() error) (bool, error) {
	switch {
	case c.dryRun:
		if look != nil {
			if err := look(); err != nil {
				return false, err
			}
		}
		a.say("would %s\n", what)
		return false, nil
	case c.yes:
		return true, nil
	}
	if in, ok := a.in.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) || !a.errTTY {
		return false, hint(usage(fmt.Errorf("%s: this cannot be undone", what)), "say so with --yes, or see what it would do with --dry-run")
	}
	fmt.Fprintf(a.err, "%s? [y/N] ", what)
	var answer string
	_, _ = fmt.Fscanln(a.in, &answer)
	if s := strings.ToLower(answer); s == "y" || s == "yes" {
		return true, nil
	}
	return false, errors.New("nothing was done")
}
