package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/sql"
	"github.com/tarnlake/tarn/sql/parse"
)

const shellHelp = `Statements end with a semicolon and may have several lines. exit, quit or Ctrl-D ends.
Ctrl-C drops what is typed, or stops the statement that runs. Tab completes names, the arrows go through what was typed.
  SHOW DATABASES;  USE shop;  SHOW TABLES;  DESCRIBE orders;  SHOW CREATE TABLE orders;
  SELECT … FROM orders;  … FROM orders$snapshots;  … FROM orders FOR SYSTEM_VERSION AS OF 3;
  INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, TRUNCATE;  SHOW PROCEDURES;  CALL sys.compact('shop.orders');
`

// keys is the terminal's input. Ctrl-C comes as a key there: it clears the line and is noted.
type keys struct {
	in          io.Reader
	pending     []byte
	interrupted atomic.Bool
}

// clearLine goes to the end of the line, deletes all before it, and ends it.
const clearLine = "\x05\x15\r"

func (k *keys) Read(p []byte) (int, error) {
	for len(k.pending) == 0 {
		buf := make([]byte, 256)
		n, err := k.in.Read(buf)
		for _, c := range buf[:n] {
			if c == 3 {
				k.interrupted.Store(true)
				k.pending = append(k.pending, clearLine...)
				continue
			}
			k.pending = append(k.pending, c)
		}
		if err != nil && len(k.pending) == 0 {
			return 0, err
		}
	}
	n := copy(p, k.pending)
	k.pending = k.pending[n:]
	return n, nil
}

// shell reads statements from a terminal until the end. Prompts go to standard error, so that results can be
// sent elsewhere.
func (a *app) shell(ctx context.Context, s *sql.Session, in *os.File, cat *tarn.Catalog) error {
	a.say("tarn %s, warehouse %s. Type help for help.\n", version(), cat.Warehouse())
	raw, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(in.Fd()), raw) }()
	input := &keys{in: in}
	line := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{input, a.err}, "")
	if w, h, err := term.GetSize(int(in.Fd())); err == nil && w > 0 {
		_ = line.SetSize(w, h)
	}
	history := openHistory(historyFile())
	line.History = history
	var text strings.Builder
	line.AutoCompleteCallback = func(typed string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return complete(ctx, s, line, text.String(), typed, pos)
	}
	for {
		line.SetPrompt(prompt(s, text.Len() > 0))
		l, err := line.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return err
		}
		if input.interrupted.Swap(false) {
			text.Reset()
			continue
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
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := term.MakeRaw(int(in.Fd())); err != nil {
			return err
		}
	}
}

// complete puts what the word before the cursor can become into the line, or lists it.
func complete(ctx context.Context, s *sql.Session, line io.Writer, before, typed string, pos int) (string, int, bool) {
	word, found := s.Complete(ctx, before+typed[:pos])
	if len(found) == 0 {
		return "", 0, false
	}
	common := found[0]
	for _, f := range found[1:] {
		for !strings.HasPrefix(f, common) {
			common = common[:len(common)-1]
		}
	}
	if len(found) > 1 && len(common) <= len(word) {
		_, _ = io.WriteString(line, strings.Join(found, "  ")+"\n")
		return "", 0, false
	}
	head := typed[:pos-len(word)] + common
	return head + typed[pos:], len(head), true
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
func ended(text string) bool { return parse.Complete(text) }

// statement runs what was typed and reports its error. Ctrl-C stops the statement, not the shell.
func (a *app) statement(ctx context.Context, s *sql.Session, text string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.interrupt.Store(&cancel)
	defer a.interrupt.Store(nil)
	start := time.Now()
	err := s.Run(ctx, text, func(r *sql.Result) error { return a.printResult(ctx, r) })
	switch {
	case errors.Is(err, context.Canceled):
		a.say("interrupted\n")
	case err != nil:
		a.report(err)
	default:
		a.say("%.3f s\n", time.Since(start).Seconds())
	}
}

// historyFile is where lines typed in the shell are kept; "" if there is no home.
func historyFile() string {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "tarn", "history")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "tarn", "history")
}

const historyLines = 1000

// history is what was typed, the newest last, and its file. That a file cannot be written spoils no shell.
type history struct {
	path  string
	lines []string
}

func openHistory(path string) *history {
	h := &history{path: path}
	text, err := os.ReadFile(path)
	if path == "" || err != nil {
		return h
	}
	h.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if n := len(h.lines); n > historyLines {
		h.lines = h.lines[n-historyLines:]
		_ = os.WriteFile(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add implements term.History.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line + "\n")
	_ = f.Close()
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History: 0 is the newest line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
