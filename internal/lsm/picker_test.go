package lsm

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// parseRuns reads levels drawn as "L0 5 15" (the newest first), "L1 80".
func parseRuns(t *testing.T, text string) []Run {
	var runs []Run
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		level, err := strconv.Atoi(strings.TrimPrefix(words[0], "L"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words[1:] {
			size, err := strconv.ParseInt(w, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, Run{Level: level, Size: size})
		}
	}
	return runs
}

func drawLevels(s State, u Unit) string {
	var b strings.Builder
	level := -1
	sum := int64(0)
	for i, r := range s.Runs {
		if r.Level != level {
			if level >= 0 {
				b.WriteString("\n")
			}
			level = r.Level
			fmt.Fprintf(&b, "L%d", level)
		}
		mark := ""
		if i < u.Count {
			mark = "*"
			sum += r.Size
		}
		fmt.Fprintf(&b, " %s%d", mark, r.Size)
	}
	fmt.Fprintf(&b, "\n-> L%d %d: %s\n", u.Level, sum, u.Reason)
	return b.String()
}

func TestUniversal(t *testing.T) {
	datadriven.RunTest(t, "testdata/universal", func(t *testing.T, d *datadriven.TestData) string {
		s := State{Runs: parseRuns(t, d.Input), Levels: 6}
		var o LevelOptions
		for _, a := range d.CmdArgs {
			if len(a.Vals) == 0 {
				o.ForceUp = a.Key == "force-up"
				continue
			}
			n, err := strconv.ParseInt(a.Vals[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			switch a.Key {
			case "levels":
				s.Levels = int(n)
			case "trigger":
				o.Trigger = int(n)
			case "ratio":
				o.SizeRatio = int(n)
			case "amp":
				o.MaxSizeAmp = int(n)
			case "interval":
				o.Interval = n
			case "total":
				o.TotalSize = n
			case "incremental":
				o.Incremental = n
			case "now":
				s.Now = n
			case "last-full":
				s.LastFull = n
			case "from":
				o.OffPeak = OffPeak{From: int(n), To: o.OffPeak.To, Ratio: 20}
			case "to":
				o.OffPeak.To = int(n)
			case "hour":
				s.Hour = int(n)
			default:
				t.Fatalf("unknown argument %s", a.Key)
			}
		}
		o.NumLevels = s.Levels
		pick := NewUniversal(o).Pick
		if d.Cmd == "full" {
			pick = PickFull
		}
		u, ok := pick(s)
		if !ok {
			return "nothing\n"
		}
		return drawLevels(s, u)
	})
}

func TestLevelOptions(t *testing.T) {
	if o := (LevelOptions{}).withDefaults(); o.Trigger != 5 || o.NumLevels != 6 || o.StopTrigger != 8 || o.SizeRatio != 1 || o.MaxSizeAmp != 200 {
		t.Errorf("defaults are %+v", o)
	}
	if o := (LevelOptions{Trigger: 9, StopTrigger: 3}).withDefaults(); o.StopTrigger != 9 {
		t.Errorf("writers stop at %d runs, compaction begins at 9", o.StopTrigger)
	}
	if err := (LevelOptions{NumLevels: 1}).withDefaults().check(); err == nil {
		t.Error("num-levels 1 is accepted")
	}
}

func TestUniversalKeepsLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := LevelOptions{
			NumLevels: rapid.IntRange(2, 6).Draw(t, "levels"), Trigger: rapid.IntRange(1, 6).Draw(t, "trigger"),
			ForceUp: rapid.Bool().Draw(t, "force"), SizeRatio: rapid.IntRange(-1, 50).Draw(t, "ratio"),
		}
		s := State{Levels: o.NumLevels}
		for range rapid.IntRange(0, 8).Draw(t, "zero") {
			s.Runs = append(s.Runs, Run{Size: rapid.Int64Range(1, 100).Draw(t, "size")})
		}
		for l := 1; l < s.Levels; l++ {
			if rapid.Bool().Draw(t, "level") {
				s.Runs = append(s.Runs, Run{Level: l, Size: rapid.Int64Range(1, 10000).Draw(t, "size")})
			}
		}
		u, ok := NewUniversal(o).Pick(s)
		if !ok {
			if len(s.Runs) > max(o.Trigger, 2) {
				t.Fatalf("nothing is picked of %d runs", len(s.Runs))
			}
			return
		}
		if u.Count < 1 || u.Count > len(s.Runs) || u.Level < 1 || u.Level >= s.Levels {
			t.Fatalf("unit %+v of %d runs", u, len(s.Runs))
		}
		// What is picked must be newer than what is left, and level 0 is left by all or none of it.
		for _, r := range s.Runs[u.Count:] {
			if r.Level <= u.Level {
				t.Fatalf("unit %+v leaves a run at level %d", u, r.Level)
			}
		}
	})
}
