// Package s3test gives tests a real S3 server.
package s3test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio/s3"
)

// Server is a running S3 server with one bucket.
type Server struct {
	Options s3.Options
	Bucket  string
	// Folder is where the server keeps its data, "" if it was not started by the test.
	Folder string

	script string
	pid    int
}

// Start gives a server: the one of TARN_S3_ENDPOINT (with TARN_S3_ACCESS_KEY, TARN_S3_SECRET_KEY,
// TARN_S3_REGION, TARN_S3_BUCKET) if that is set, else one of StartOwn. If there is none to be had the test fails
// under TARN_REQUIRE=all; else the reason is logged and ok is false.
func Start(t testing.TB) (srv *Server, ok bool) {
	t.Helper()
	if e := os.Getenv("TARN_S3_ENDPOINT"); e != "" {
		return &Server{
			Options: s3.Options{
				Endpoint: e, AccessKey: os.Getenv("TARN_S3_ACCESS_KEY"), SecretKey: os.Getenv("TARN_S3_SECRET_KEY"),
				Region: os.Getenv("TARN_S3_REGION"), PathStyle: "true",
			},
			Bucket: os.Getenv("TARN_S3_BUCKET"),
		}, true
	}
	return StartOwn(t)
}

// StartOwn is Start for tests that stop the server and start it again: one of this test alone, started by
// scripts/services/s3 and stopped at the end of the test.
func StartOwn(t testing.TB) (srv *Server, ok bool) {
	t.Helper()
	script, err := findScript()
	if err != nil {
		return missing(t, err.Error())
	}
	required := os.Getenv("TARN_REQUIRE") == "all"
	if !required && !built() {
		return missing(t, "versitygw is not built: run "+script+" start once, or set TARN_S3_ENDPOINT")
	}
	data, err := os.MkdirTemp("", "tarn-s3-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(script, "stop", "--wipe", "--data", data).CombinedOutput(); err != nil {
			t.Errorf("stop the S3 server: %v\n%s", err, out)
		}
		os.RemoveAll(data)
	})
	srv = &Server{Folder: data, script: script}
	if err := srv.up(); err != nil {
		return missing(t, "the S3 server did not start: "+err.Error())
	}
	return srv, true
}

// up starts the server, on the port that it had.
func (s *Server) up() error {
	var stderr bytes.Buffer
	cmd := exec.Command(s.script, "start", "--data", s.Folder)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, &stderr)
	}
	env := map[string]string{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		k, v, _ := strings.Cut(sc.Text(), "=")
		env[k] = v
	}
	s.Options = s3.Options{Endpoint: env["ENDPOINT"], AccessKey: env["ACCESS_KEY"], SecretKey: env["SECRET_KEY"], Region: env["REGION"], PathStyle: env["PATH_STYLE"]}
	s.Bucket, s.Folder = env["BUCKET"], env["DATA"]
	s.pid, err = strconv.Atoi(env["PID"])
	return err
}

// Outage kills a server of StartOwn as it stands, and starts it again on the same data after a time.
func (s *Server) Outage(t testing.TB, d time.Duration) {
	t.Helper()
	p, err := os.FindProcess(s.pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("kill the S3 server: %v", err)
	}
	<-time.After(d)
	if err := s.up(); err != nil {
		t.Errorf("start the S3 server again: %v", err)
	}
}

// Environ gives the options as the usual variables.
func (s *Server) Environ() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.Options.Endpoint, "AWS_REGION=" + s.Options.Region,
		"AWS_ACCESS_KEY_ID=" + s.Options.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.Options.SecretKey,
	}
}

func missing(t testing.TB, why string) (*Server, bool) {
	t.Helper()
	if os.Getenv("TARN_REQUIRE") == "all" {
		t.Fatalf("the S3 server is required (TARN_REQUIRE=all): %s", why)
	}
	t.Logf("not tested against an S3 server: %s", why)
	return nil, false
}

// Root is a new folder of the bucket.
func (s *Server) Root() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return "s3://" + s.Bucket + "/test-" + hex.EncodeToString(b[:])
}

// OptionMap gives the options under the names that users write.
func (s *Server) OptionMap() map[string]string {
	return map[string]string{
		"s3.endpoint": s.Options.Endpoint, "s3.access-key": s.Options.AccessKey, "s3.secret-key": s.Options.SecretKey,
		"s3.region": s.Options.Region, "s3.path.style.access": s.Options.PathStyle,
	}
}

// findScript looks for scripts/services/s3 from the folder of the test upwards.
func findScript() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		script := filepath.Join(dir, "scripts", "services", "s3")
		if _, err := os.Stat(script); err == nil {
			return script, nil
		}
		if dir == filepath.Dir(dir) {
			return "", os.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
}

// built tells whether the script has built the server before, where it keeps such things.
func built() bool {
	cache := os.Getenv("SERVICES_CACHE")
	if cache == "" {
		base := os.Getenv("XDG_CACHE_HOME")
		if base == "" {
			base = filepath.Join(os.Getenv("HOME"), ".cache")
		}
		cache = filepath.Join(base, "lake-services")
	}
	found, _ := filepath.Glob(filepath.Join(cache, "bin", "*", "versitygw"))
	return len(found) > 0
}
