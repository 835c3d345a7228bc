package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
	"github.com/tarnlake/tarn/sql/parse"
)

type sqlOptions struct {
	files    []string
	database string
	threads  int
	memory   string
	tempDir  string
	noRaw    bool
}

func (a *app) sqlCommand() *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   `sql ["SELECT …"]`,
		Short: "Run SQL on the lake; a shell without argument",
		Long: `Runs SQL: queries by an embedded DuckDB over the tables of the lake, and statements that change them
(CREATE, ALTER, DROP, INSERT, UPDATE, DELETE, TRUNCATE, CALL sys.…, SHOW, DESCRIBE, USE).

The statements come from the arguments, from files (-f), from standard input, or from a shell on a
terminal. They run one after the other and end with the first that fails.`,
		Example: `  tarn sql -w ./lake "SELECT status, count(*) FROM shop.orders GROUP BY status"
  tarn sql -w ./lake "SELECT * FROM shop.orders FOR SYSTEM_VERSION AS OF 3 LIMIT 5" --json
  tarn sql -w ./lake "SELECT * FROM shop.orders\$snapshots"
  tarn sql -w ./lake -f nightly.sql`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.sql(cmd.Context(), &o, args) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "run the statements of a file; - is standard input")
	f.StringVarP(&o.database, "database", "d", "", "current database")
	f.IntVar(&o.threads, "threads", 0, "threads of the engine; 0: all")
	f.StringVar(&o.memory, "memory", "", "memory of the engine (2GB); default: 80 % of the machine")
	f.StringVar(&o.tempDir, "temp-dir", "", "where the engine spills what does not fit")
	f.BoolVar(&o.noRaw, "no-raw-files", false, "never let the engine read files itself")
	return cmd
}

// commentedSQL keeps statements that begin with a comment from being taken for flags, which have no blanks in their names.
func commentedSQL(args []string) []string {
	out := slices.Clone(args)
	for i := slices.Index(args, "sql") + 1; i > 0 && i < len(args) && args[i] != "--"; i++ {
		if name, _, _ := strings.Cut(args[i], "="); strings.HasPrefix(name, "--") && strings.ContainsAny(name, " \t\r\n") {
			out[i] = " " + args[i]
		}
	}
	return out
}

func (a *app) sql(ctx context.Context, o *sqlOptions, args []string) error {
	var scripts []script
	for _, text := range args {
		scripts = append(scripts, script{text: text})
	}
	for _, name := range o.files {
		text, err := a.readFile(ctx, name)
		if err != nil {
			return err
		}
		scripts = append(scripts, script{file: name, text: text})
	}
	out := &results{app: a}
	cat, err := a.open(ctx, "")
	if err != nil {
		return err
	}
	s := sql.NewSession(cat, sql.Options{Database: o.database, Threads: o.threads, Memory: o.memory, TempDir: o.tempDir, NoRaw: o.noRaw})
	run := func() error {
		if len(scripts) == 0 {
			if in, ok := a.in.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
				return a.shell(ctx, s, in, cat)
			}
			text, err := a.readFile(ctx, "-")
			if err != nil {
				return err
			}
			scripts = append(scripts, script{text: text})
		}
		for _, sc := range scripts {
			if err := s.Run(ctx, sc.text, func(r *sql.Result) error { return out.print(ctx, r) }); err != nil {
				return sc.locate(err)
			}
		}
		return nil
	}
	err = run()
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	return err
}

// script is a text to run, and the file that it is from.
type script struct{ file, text string }

// locate puts the file and the line before an error.
func (s script) locate(err error) error {
	if s.file == "" {
		return err
	}
	name := s.file
	if name == "-" {
		name = "standard input"
	}
	var pe *parse.Error
	var ee *sql.EngineError
	var se *sql.StatementError
	switch {
	case errors.As(err, &pe):
		pe.File = name
	case errors.As(err, &ee) && ee.Place != nil:
		ee.Place.File = name
	case errors.As(err, &se):
		return fmt.Errorf("%s:%d: %w", name, se.Line, err)
	}
	return err
}

// results prints the results of scripts, one after the other.
type results struct {
	*app
	n int
}

func (o *results) print(ctx context.Context, r *sql.Result) error {
	if r.Fields != nil {
		o.n++
		if name, _ := o.outputName(); o.n > 1 && (name == "parquet" || name == "arrow") {
			return usage(fmt.Errorf("--output %s holds one result, and there are several statements with rows", name))
		}
	}
	return o.printResult(ctx, r)
}

// readFile reads a text, from standard input if it is called "-".
func (a *app) readFile(ctx context.Context, name string) (string, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(newStoppable(ctx, a.in))
	} else {
		text, err = os.ReadFile(name)
	}
	return string(text), missingFile(err)
}

// printResult writes a result's rows to standard output, or its message to standard error.
func (a *app) printResult(ctx context.Context, r *sql.Result) error {
	if r.Fields == nil {
		a.say("%s\n", r.Message)
		return nil
	}
	w, err := a.rowWriter(r.Fields, false)
	if err != nil {
		return err
	}
	for {
		rec, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return w.end()
		}
		if err != nil {
			return errors.Join(err, w.end())
		}
		if err := w.rows(tarn.Batch{RecordBatch: rec}); err != nil {
			return err
		}
	}
}
