package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/tarnlake/tarn/cdc"
)

// progress shows where a job stands: one line that changes on a terminal, a line now and then
// elsewhere.
type progress struct {
	a     *app
	name  string
	start time.Time

	mu    sync.Mutex
	last  time.Time
	rows  int64
	rate  float64
	shown bool
}

func newProgress(a *app, name string) *progress {
	now := time.Now()
	return &progress{a: a, name: name, start: now, last: now}
}

func (p *progress) show(s cdc.Progress) {
	if p.a.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	every := 10 * time.Second
	if p.a.errTTY {
		every = 200 * time.Millisecond
	}
	d := now.Sub(p.last)
	if d < every {
		return
	}
	p.rate = float64(s.Rows-p.rows) / d.Seconds()
	p.last, p.rows = now, s.Rows
	commit := "no commit yet"
	if !s.LastCommit.IsZero() {
		commit = fmt.Sprintf("commit %.1f s ago", now.Sub(s.LastCommit).Seconds())
	}
	line := fmt.Sprintf("%s  %s rows · %s rows/s · %d tables · checkpoint %d · %s", p.name, thousands(s.Rows), thousands(int64(p.rate)), s.Tables, s.Checkpoint, commit)
	if lag := now.Sub(time.UnixMilli(s.EventMillis)); s.EventMillis > 0 && lag < 24*time.Hour { // older ones are history that is read
		line += fmt.Sprintf(" · lag %.1f s", max(lag.Seconds(), 0))
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(" · %d set aside", s.Failed)
	}
	if p.a.errTTY {
		fmt.Fprintf(p.a.err, "\r\x1b[K%s", line)
		p.shown = true
		return
	}
	fmt.Fprintln(p.a.err, line)
}

// end leaves the line.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
