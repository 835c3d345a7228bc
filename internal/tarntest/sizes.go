package tarntest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Sizes says how much tests of the expensive kinds do. The numbers of all tiers stand here only.
type Sizes struct {
	// Histories of a model test, and steps in each.
	Histories, Steps int
	// Product: full products of the matrix with the oracle; else a pairwise cover.
	Product bool
	// Writers that race, and commits of each.
	Writers, Commits int
	// Kills of a job while it runs.
	Kills int
	// Outage is how long a service stays away where that is tested.
	Outage time.Duration
	// EveryCall: stop at every call of long histories too, not only of the short one.
	EveryCall bool
}

// Size gives the sizes of the tier that runs:
//
//	make check  go test -short: a sample, seconds
//	make test   everything once, within minutes
//	make soak   TARN_SIZES=full
//
// TARN_HISTORIES=n sets the histories apart from the tier.
func Size() Sizes {
	var s Sizes
	switch {
	case os.Getenv("TARN_SIZES") == "full":
		s = Sizes{
			Histories: 10_000, Steps: 100, Product: true, Writers: 16, Commits: 50, Kills: 100,
			Outage: time.Minute, EveryCall: true,
		}
	case testing.Short():
		s = Sizes{Histories: 20, Steps: 30, Writers: 2, Commits: 5, Kills: 1, Outage: time.Second}
	default:
		s = Sizes{Histories: 200, Steps: 60, Writers: 8, Commits: 10, Kills: 5, Outage: 5 * time.Second}
	}
	if n, err := strconv.Atoi(os.Getenv("TARN_HISTORIES")); err == nil && n > 0 {
		s.Histories = n
	}
	return s
}

// Seed gives the seed of a random test and logs it, so that a failure can be had again: TARN_SEED, or 1
// if that is not set. make test and make soak draw a new one for each run.
func Seed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("TARN_SEED")
	if text == "" {
		t.Log("TARN_SEED=1 (the default)")
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("TARN_SEED is no number: %v", err)
	}
	t.Logf("TARN_SEED=%d", seed)
	return seed
}
