//go:build duckdb_arrow && cgo

package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
)

// TestS3Scripts runs scripts on a warehouse in S3, whose options come from the usual variables.
func TestS3Scripts(t *testing.T) {
	srv, ok := s3test.Start(t)
	if !ok {
		return
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/s3",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("TARN_WAREHOUSE", srv.Root())
			e.Vars = append(e.Vars, srv.Environ()...)
			return nil
		},
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"code": code},
		RequireUniqueNames: true,
	})
}
