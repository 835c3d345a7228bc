package s3_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarnlake/tarn/internal/fileio/s3"
)

func TestFromMap(t *testing.T) {
	want := s3.Options{Endpoint: "http://h:1", AccessKey: "a", SecretKey: "s", PathStyle: "true", Region: "eu"}
	for name, m := range map[string]map[string]string{
		"documented": {"s3.endpoint": "http://h:1", "s3.access-key": "a", "s3.secret-key": "s", "s3.path.style.access": "true", "s3.region": "eu", "bucket": "3"},
		"hadoop":     {"fs.s3a.endpoint": "http://h:1", "fs.s3a.access.key": "a", "fs.s3a.secret.key": "s", "fs.s3a.path.style.access": "true", "fs.s3a.endpoint.region": "eu"},
		"mixed":      {"fs.s3.endpoint": "http://h:1", "s3a.access-key": "a", "s3.secret.key": "s", "s3.path-style-access": "true", "fs.s3a.region": "us", "s3.region": "eu"},
	} {
		got, err := s3.FromMap(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := s3.FromMap(map[string]string{"s3.path.style.access": "yes"}); err == nil || !strings.Contains(err.Error(), "s3.path.style.access") {
		t.Errorf("error %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	for _, c := range []struct {
		opts s3.Options
		want string
	}{
		{s3.Options{Endpoint: "http://localhost:1"}, "s3.access-key"},
		{s3.Options{Endpoint: "http://localhost:1", AccessKey: "a"}, "only one"},
		{s3.Options{Endpoint: "http://h/path", AccessKey: "a", SecretKey: "b"}, "s3.endpoint"},
		{s3.Options{Endpoint: "ftp://h", AccessKey: "a", SecretKey: "b"}, "s3.endpoint"},
		{s3.Options{PathStyle: "maybe", AccessKey: "a", SecretKey: "b"}, "s3.path.style.access"},
	} {
		if _, err := s3.New(c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.opts, err, c.want)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_ENDPOINT_URL", "http://localhost:1")
	if _, err := s3.New(s3.Options{}); err != nil {
		t.Errorf("all from the environment: %v", err)
	}
}
