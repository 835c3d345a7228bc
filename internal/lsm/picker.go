package lsm

import (
	"fmt"

	"github.com/tarnlake/tarn/internal/manifest"
)

// LevelOptions say when and how levels are compacted, by the names of the table options.
type LevelOptions struct {
	NumLevels   int   // num-levels; 0: the trigger + 1
	Trigger     int   // num-sorted-run.compaction-trigger; 0 is 5
	StopTrigger int   // num-sorted-run.stop-trigger; 0: the trigger + 3
	SizeRatio   int   // compaction.size-ratio in percent; -1 is 0, 0 is 1
	MaxSizeAmp  int   // compaction.max-size-amplification-percent; -1 is 0, 0 is 200
	ForceUp     bool  // compaction.force-up-level-0
	Gentle      int   // lookup-compact = gentle: with ForceUp, a writer leaves level 0 for so many commits at most; 0: for none
	Interval    int64 // compaction.optimization-interval in milliseconds; 0: none
	TotalSize   int64 // compaction.total-size-threshold; 0: none
	Incremental int64 // compaction.incremental-size-threshold; 0: none
	OffPeak     OffPeak
}

// OffPeak are the hours of the day in which runs may differ more and be merged all the same. They may pass
// midnight; there are none where they begin and end at the same hour.
type OffPeak struct {
	From, To int // compaction.offpeak.start.hour, inclusive, and .end.hour, exclusive
	Ratio    int // compaction.offpeak-ratio, added to the size ratio
}

// ratio is what is added to the size ratio at an hour.
func (o OffPeak) ratio(hour int) int {
	in := o.From <= hour && hour < o.To
	if o.From > o.To {
		in = o.From <= hour || hour < o.To
	}
	if !in {
		return 0
	}
	return o.Ratio
}

// Count is the number of levels.
func (o LevelOptions) Count() int { return o.withDefaults().NumLevels }

func (o LevelOptions) withDefaults() LevelOptions {
	if o.Trigger == 0 {
		o.Trigger = 5
	}
	if o.NumLevels == 0 {
		o.NumLevels = min(o.Trigger, manifest.MaxLevel) + 1
	}
	if o.StopTrigger == 0 {
		o.StopTrigger = o.Trigger + 3
	}
	o.StopTrigger = max(o.StopTrigger, o.Trigger)
	switch o.SizeRatio {
	case 0:
		o.SizeRatio = 1
	case -1:
		o.SizeRatio = 0
	}
	switch o.MaxSizeAmp {
	case 0:
		o.MaxSizeAmp = 200
	case -1:
		o.MaxSizeAmp = 0
	}
	return o
}

func (o LevelOptions) check() error {
	if o.NumLevels < 2 || o.NumLevels > manifest.MaxLevel+1 {
		return fmt.Errorf("lsm: num-levels is %d, it has to be at least 2 and at most %d", o.NumLevels, manifest.MaxLevel+1)
	}
	if o.Trigger < 1 {
		return fmt.Errorf("lsm: num-sorted-run.compaction-trigger is %d, it has to be at least 1", o.Trigger)
	}
	return nil
}

// Run is a sorted run: a file of level 0, or all files of a higher level.
type Run struct {
	Level int
	Size  int64
	Files []*manifest.DataFile
}

// State is what a compaction is picked from.
type State struct {
	Runs     []Run // the newest first
	Levels   int   // number of levels
	Now      int64 // milliseconds; 0: unknown
	LastFull int64 // when the highest level was last written; 0: never
	Hour     int   // of the day, where this process runs
}

// Unit is the runs to compact, Runs[:Count] of the state, and the level that the result goes to.
type Unit struct {
	Count  int
	Level  int
	Reason string
}

// Picker is a strategy of compaction. It is pure: all it knows is the state.
type Picker interface {
	// Pick chooses runs to compact; false if nothing has to be done.
	Pick(s State) (Unit, bool)
}

// Universal is universal compaction as RocksDB has it: runs are merged with their neighbours in age
// when there are too many of them or when they are of like size.
type Universal struct{ o LevelOptions }

// NewUniversal makes the strategy of the options.
func NewUniversal(o LevelOptions) Universal { return Universal{o.withDefaults()} }

// Pick implements Picker.
func (u Universal) Pick(s State) (Unit, bool) {
	for _, f := range []func(State) (Unit, bool){u.early, u.amplification, u.ratio, u.number, u.forceUp} {
		if unit, ok := f(s); ok {
			// One run that is where it would go needs nothing.
			if unit.Count == 1 && s.Runs[0].Level == unit.Level {
				return Unit{}, false
			}
			return unit, true
		}
	}
	return Unit{}, false
}

// full compacts all runs into the highest level.
func full(s State, reason string) (Unit, bool) {
	return Unit{Count: len(s.Runs), Level: s.Levels - 1, Reason: reason}, len(s.Runs) > 0
}

// PickFull is a full compaction on demand.
func PickFull(s State) (Unit, bool) {
	if len(s.Runs) == 1 && s.Runs[0].Level == s.Levels-1 {
		return Unit{}, false
	}
	return full(s, "full compaction asked for")
}

func (u Universal) early(s State) (Unit, bool) {
	if len(s.Runs) < 2 {
		return Unit{}, false
	}
	if u.o.Interval > 0 && s.Now > 0 && (s.LastFull == 0 || s.Now-s.LastFull > u.o.Interval) {
		return full(s, "compaction.optimization-interval has passed")
	}
	total, upper := int64(0), int64(0)
	for _, r := range s.Runs {
		total += r.Size
		if r.Level != s.Levels-1 {
			upper += r.Size
		}
	}
	if u.o.TotalSize > 0 && total < u.o.TotalSize {
		return full(s, "size is below compaction.total-size-threshold")
	}
	if u.o.Incremental > 0 && upper > u.o.Incremental {
		return full(s, "size above the highest level exceeds compaction.incremental-size-threshold")
	}
	return Unit{}, false
}

func (u Universal) amplification(s State) (Unit, bool) {
	if len(s.Runs) < u.o.Trigger || len(s.Runs) == 0 {
		return Unit{}, false
	}
	upper := int64(0)
	for _, r := range s.Runs[:len(s.Runs)-1] {
		upper += r.Size
	}
	if upper*100 > int64(u.o.MaxSizeAmp)*s.Runs[len(s.Runs)-1].Size {
		return full(s, "size amplification")
	}
	return Unit{}, false
}

func (u Universal) ratio(s State) (Unit, bool) {
	if len(s.Runs) < u.o.Trigger {
		return Unit{}, false
	}
	return u.grow(s, 1, false, "size ratio")
}

func (u Universal) number(s State) (Unit, bool) {
	if len(s.Runs) <= u.o.Trigger {
		return Unit{}, false
	}
	return u.grow(s, len(s.Runs)-u.o.Trigger+1, false, "number of sorted runs")
}

func (u Universal) forceUp(s State) (Unit, bool) {
	if !u.o.ForceUp {
		return Unit{}, false
	}
	n := 0
	for n < len(s.Runs) && s.Runs[n].Level == 0 {
		n++
	}
	if n == 0 {
		return Unit{}, false
	}
	return u.grow(s, n, true, "compaction.force-up-level-0")
}

// grow takes the first n runs and further ones that are not much larger than those before them.
// Once there is something to do, level 0 and level 1 are taken whatever their size, since the result
// would be merged with them anyway (BUGS B078).
func (u Universal) grow(s State, n int, force bool, reason string) (Unit, bool) {
	size := int64(0)
	for _, r := range s.Runs[:n] {
		size += r.Size
	}
	picked := force || n > 1
	ratio := float64(100 + u.o.SizeRatio + u.o.OffPeak.ratio(s.Hour))
	for n < len(s.Runs) {
		next := s.Runs[n]
		if float64(size)*ratio/100 < float64(next.Size) && (!picked || next.Level > 1) {
			break
		}
		size += next.Size
		n++
		picked = true
	}
	if !picked {
		return Unit{}, false
	}
	return u.unit(s, n, reason), true
}

// unit finds the level for the first n runs: just above the next run, never level 0.
func (u Universal) unit(s State, n int, reason string) Unit {
	level := s.Levels - 1
	if n < len(s.Runs) {
		level = max(0, s.Runs[n].Level-1)
	}
	if level == 0 {
		for n < len(s.Runs) {
			n++
			if l := s.Runs[n-1].Level; l != 0 {
				level = l
				break
			}
		}
	}
	if n == len(s.Runs) {
		level = s.Levels - 1
	}
	return Unit{Count: n, Level: level, Reason: reason}
}
