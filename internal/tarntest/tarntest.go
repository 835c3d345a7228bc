// Package tarntest is what tests of several packages share: the real Paimon as an oracle, the sizes of
// the tiers of tests, seeds. Golden tables are in tarntest/golden. It imports no package of tarn that
// could not use it in its own tests.
package tarntest

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the folder of the module, found from the folder of the test upwards.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("the test does not run inside of the module: no go.mod above its folder")
		}
		dir = up
	}
}

// Required tells whether nothing may be missing (TARN_REQUIRE=all, as in make test).
func Required() bool { return os.Getenv("TARN_REQUIRE") == "all" }

// Missing says that something a test needs is not there: the test fails if everything is required;
// otherwise the reason is logged, and the test is to return.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Required() {
		t.Fatalf("required (TARN_REQUIRE=all), but missing: "+format, args...)
	}
	t.Logf("not tested: "+format, args...)
}
