// Package cli is the command line: commands, output and progress over the public API.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
	"github.com/tarnlake/tarn/sql/parse"
)

// app is what all commands share.
type app struct {
	in       io.Reader
	out, err io.Writer
	tty      bool // standard output is a terminal
	errTTY   bool

	warehouse string
	catalog   []string // key=value of the file system
	output    string
	json, csv bool
	verbose   int
	quiet     bool
	color     string

	stop      chan struct{}                       // closed by the first signal
	interrupt *atomic.Pointer[context.CancelFunc] // in a shell: stops the statement that runs
	graceful  *atomic.Bool                        // the command watches stop itself, to end its step
	committed *atomic.Bool                        // a commit is made, which is not broken off
}

// Main runs a command line and gives the exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := newApp(in, out, errOut)
	sigs := make(chan os.Signal, 2)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(sigs)
	go func() {
		// The first signal lets a running job end its step, the second ends at once.
		first := true
		for sig := range sigs {
			if stop := a.interrupt.Load(); stop != nil && sig == os.Interrupt {
				(*stop)()
				continue
			}
			if !first {
				os.Exit(exitInterrupted)
			}
			first = false
			close(a.stop)
			if a.graceful.Load() {
				a.say("tarn: stopping after one more checkpoint; again to stop at once\n")
			} else {
				if a.committed.Load() {
					a.say("tarn: the commit is finished first; again to stop at once\n")
				}
				cancel()
			}
		}
	}()
	cmd := a.root()
	cmd.SetArgs(commentedSQL(args))
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errOut)
	err := cmd.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	switch {
	case code == exitInterrupted:
		if errors.Is(err, tarn.ErrUnknownOutcome) {
			a.report(err)
		}
		a.say("tarn: interrupted\n")
	case code == exitFailed && errors.Is(err, tarn.ErrUnknownOutcome):
		a.report(hint(err, "the storage went away in the middle: it may be done, or not. Look at tarn snapshot list before you try it again"))
	case err != nil:
		a.report(err)
	}
	return code
}

func newApp(in io.Reader, out, errOut io.Writer) *app {
	return &app{
		in: in, out: out, err: errOut, tty: isTTY(out), errTTY: isTTY(errOut),
		stop: make(chan struct{}), interrupt: new(atomic.Pointer[context.CancelFunc]), graceful: new(atomic.Bool), committed: new(atomic.Bool),
	}
}

func isTTY(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// report prints an error and its hints.
func (a *app) report(err error) {
	red, dim, off := "", "", ""
	if a.useColor(a.errTTY) {
		red, dim, off = "\x1b[31m", "\x1b[2m", "\x1b[0m"
	}
	fmt.Fprintf(a.err, "%starn: error:%s %v\n", red, off, err)
	for _, h := range hints(err) {
		fmt.Fprintf(a.err, "%starn: hint:%s %s\n", dim, off, h)
	}
}

// hints are what an error and those within it advise.
func hints(err error) []string {
	var out []string
	add := func(h string) {
		if h != "" {
			out = append(out, h)
		}
	}
	switch e := err.(type) {
	case *hintError:
		add(e.hint)
	case *sql.Error:
		add(e.Hint)
	case *sql.EngineError:
		add(e.Hint)
	case *parse.Error:
		add(e.Hint)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			out = append(out, hints(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			out = append(out, hints(inner)...)
		}
	}
	return out
}

func (a *app) useColor(tty bool) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return tty && os.Getenv("NO_COLOR") == ""
}

func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "tarn",
		Short:         "A streaming lakehouse in one binary, on Apache Paimon tables",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	f := cmd.PersistentFlags()
	f.StringVarP(&a.warehouse, "warehouse", "w", "", "warehouse: a folder or s3://bucket/path (TARN_WAREHOUSE)")
	f.StringArrayVar(&a.catalog, "catalog", nil, "option of the warehouse's file system, key=value (s3.endpoint=…)")
	f.StringVarP(&a.output, "output", "o", "", "output: "+strings.Join(outputs, ", "))
	f.BoolVar(&a.json, "json", false, "same as -o jsonl")
	f.BoolVar(&a.csv, "csv", false, "same as -o csv")
	f.CountVarP(&a.verbose, "verbose", "v", "tell more; twice for debugging")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "tell errors only")
	f.StringVar(&a.color, "color", "auto", "colours: auto, always, never")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return a.checkFlags() }
	cmd.AddCommand(a.demoCommand(), a.sqlCommand(), a.syncCommand(), a.readCommand(), a.writeCommand(), a.dbCommand(), a.tableCommand(), a.snapshotCommand(),
		a.compactCommand(), a.checkCommand(), a.inspectCommand(), versionCommand(a))
	cmd.AddCommand(topics()...)
	cmd.SetHelpCommand(helpCommand(cmd))
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd()
	a.strict(cmd)
	return cmd
}

// checkFlags looks at the flags that all commands share.
func (a *app) checkFlags() error {
	if !slices.Contains([]string{"auto", "always", "never"}, a.color) {
		return usage(fmt.Errorf("--color %q is not known; there are auto, always, never", a.color))
	}
	if a.json && a.csv || (a.json || a.csv) && a.output != "" {
		return usage(errors.New("--json, --csv and --output exclude each other"))
	}
	_, err := a.outputName()
	return err
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(a.out, "tarn", version())
		return err
	}}
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "dev"
}

// logger writes to standard error.
func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case a.quiet:
		level = slog.LevelError
	case a.verbose == 1:
		level = slog.LevelInfo
	case a.verbose > 1:
		level = slog.LevelDebug
	}
	if !a.errTTY {
		return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(a.err, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !a.useColor(a.errTTY)}))
}

// fileIO are the options of the warehouse's file system.
func (a *app) fileIO() (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range a.catalog {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usage(fmt.Errorf("--catalog %q: want key=value", kv))
		}
		out[k] = v
	}
	return out, nil
}

// open opens the warehouse that flags and environment name.
func (a *app) open(ctx context.Context, fallback string) (*tarn.Catalog, error) {
	wh := a.warehouse
	if wh == "" {
		wh = os.Getenv("TARN_WAREHOUSE")
	}
	if wh == "" {
		wh = fallback
	}
	if wh == "" {
		return nil, hint(usage(errors.New("no warehouse is named")), "give it by --warehouse, or set TARN_WAREHOUSE")
	}
	fs, err := a.fileIO()
	if err != nil {
		return nil, err
	}
	cat, err := tarn.Open(ctx, wh, &tarn.OpenOptions{FileIO: fs, Log: a.logger()})
	if err != nil && exitCode(ctx, err) == exitFailed {
		err = usage(err) // nothing was read yet: it is the name, or an option
	}
	return cat, err
}
