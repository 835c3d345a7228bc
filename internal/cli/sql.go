package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

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

func (a *app) sql(ctx context.Context, o *sqlOptions, args []string) error {
	scripts := args
	for _, name := range o.files {
		text, err := a.readFile(name)
		if err != nil {
			return err
		}
		scripts = append(scripts, text)
	}
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
			text, err := a.readFile("-")
			if err != nil {
				return err
			}
			scripts = append(scripts, text)
		}
		for _, text := range scripts {
			if err := s.Run(ctx, text, func(r *sql.Result) error { return a.printResult(ctx, r) }); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(run(), s.Close())
}

// readFile reads a text, from standard input if it is called "-".
func (a *app) readFile(name string) (string, error) {
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(a.in)
	} else {
		text, err = os.ReadFile(name)
	}
	return string(text), err
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

const shellHelp = `Statements end with a semicolon and may have several lines. exit, quit or Ctrl-D ends.
  SHOW DATABASES;  USE shop;  SHOW TABLES;  DESCRIBE orders;  SHOW CREATE TABLE orders;
  SELECT … FROM orders;  … FROM orders$snapshots;  … FROM orders FOR SYSTEM_VERSION AS OF 3;
  INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, TRUNCATE;  SHOW PROCEDURES;  CALL sys.compact('shop.orders');
`

// shell reads statements from a terminal until the end.
func (a *app) shell(ctx context.Context, s *sql.Session, in *os.File, cat *tarn.Catalog) error {
	a.say("tarn %s, warehouse %s. Type help for help.\n", version(), cat.Warehouse())
	raw, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(in.Fd()), raw) }()
	line := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, a.out}, "")
	if w, h, err := term.GetSize(int(in.Fd())); err == nil {
		_ = line.SetSize(w, h)
	}
	var text strings.Builder
	for {
		line.SetPrompt(prompt(s, text.Len() > 0))
		l, err := line.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return err
		}
		if text.Len() == 0 {
			switch strings.TrimRight(strings.ToLower(strings.TrimSpace(l)), "; ") {
			case "":
				continue
			case "exit", "quit", `\q`:
				return nil
			case "help", "?":
				_, _ = line.Write([]byte(shellHelp))
				continue
			}
		}
		text.WriteString(l + "\n")
		if !ended(text.String()) {
			continue
		}
		// Output and the keys for interrupting want the terminal as it was.
		if err := term.Restore(int(in.Fd()), raw); err != nil {
			return err
		}
		a.statement(ctx, s, text.String())
		text.Reset()
		if _, err := term.MakeRaw(int(in.Fd())); err != nil {
			return err
		}
	}
}

func prompt(s *sql.Session, more bool) string {
	if more {
		return "   …> "
	}
	if s.Database() == "" {
		return "tarn> "
	}
	return s.Database() + "> "
}

// ended says whether a text is whole: its last statement is closed by a semicolon, outside of quotes.
func ended(text string) bool {
	if !strings.HasSuffix(strings.TrimSpace(text), ";") {
		return false
	}
	_, err := parse.Script(text)
	var pe *parse.Error
	return !errors.As(err, &pe) || !pe.Incomplete
}

// statement runs what was typed and reports its error.
func (a *app) statement(ctx context.Context, s *sql.Session, text string) {
	start := time.Now()
	err := s.Run(ctx, text, func(r *sql.Result) error { return a.printResult(ctx, r) })
	if err != nil {
		a.report(err)
		return
	}
	a.say("%.3f s\n", time.Since(start).Seconds())
}
