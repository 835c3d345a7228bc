package s3

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options say where the store is and who asks. What is left empty comes from the environment
// (AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION or AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, the shared credentials file of AWS_PROFILE).
type Options struct {
	Endpoint     string // URL or host; Amazon's if empty
	Region       string // us-east-1 if not known
	AccessKey    string
	SecretKey    string
	SessionToken string
	// PathStyle puts the bucket into the path of the URL ("true") or into the host ("false"). If empty
	// it is chosen by the endpoint: the host for the large clouds, the path for all others.
	PathStyle string

	// PartSize is the size of the parts of a multipart upload, and so of the buffers of a writer (two of
	// them); 8 MiB if 0, at least 5 MiB.
	PartSize int
	// Transport sends the requests; one of our own if nil.
	Transport http.RoundTripper
	// Retries is how often a request is tried; 10 if 0. Waits grow to a second.
	Retries int
	// RetryWait is the longest first wait before PutIfAbsent tries again; 100 ms if 0.
	RetryWait time.Duration
}

// optionPrefixes are those that the format's Java implementation and Hadoop take.
var optionPrefixes = []string{"fs.s3a.", "fs.s3.", "s3a.", "s3."}

// FromMap reads s3.endpoint, s3.region (or s3.endpoint.region), s3.access-key, s3.secret-key,
// s3.session.token and s3.path.style.access, with any of the prefixes s3., s3a., fs.s3. and fs.s3a., dashes and dots
// being the same. Other keys are not looked at.
func FromMap(m map[string]string) (Options, error) {
	var o Options
	targets := map[string]*string{
		"endpoint": &o.Endpoint, "region": &o.Region, "endpoint.region": &o.Region,
		"access.key": &o.AccessKey, "secret.key": &o.SecretKey, "session.token": &o.SessionToken,
		"path.style.access": &o.PathStyle,
	}
	// s3. comes last and so wins over the others.
	for _, prefix := range optionPrefixes {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			name, ok := strings.CutPrefix(key, prefix)
			if !ok {
				continue
			}
			target := targets[strings.ReplaceAll(name, "-", ".")]
			if target == nil {
				continue
			}
			*target = strings.TrimSpace(m[key])
			if target == &o.PathStyle {
				if _, err := strconv.ParseBool(o.PathStyle); err != nil {
					return o, fmt.Errorf("option %s: %q is neither true nor false", key, m[key])
				}
			}
		}
	}
	return o, nil
}

// withEnv fills in what is empty from the environment.
func (o Options) withEnv() Options {
	first := func(v string, names ...string) string {
		for _, n := range names {
			if v == "" {
				v = os.Getenv(n)
			}
		}
		return v
	}
	o.Endpoint = first(o.Endpoint, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	o.Region = first(o.Region, "AWS_REGION", "AWS_DEFAULT_REGION")
	if o.AccessKey == "" && o.SecretKey == "" {
		o.AccessKey = os.Getenv("AWS_ACCESS_KEY_ID")
		o.SecretKey = os.Getenv("AWS_SECRET_ACCESS_KEY")
		o.SessionToken = first(o.SessionToken, "AWS_SESSION_TOKEN")
	}
	return o
}

// client makes the client. No request is sent.
func (o Options) client() (*minio.Core, error) {
	host, secure := "s3.amazonaws.com", true
	if o.Endpoint != "" {
		e := o.Endpoint
		if !strings.Contains(e, "://") {
			e = "https://" + e
		}
		u, err := url.Parse(e)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("s3.endpoint %q is no endpoint: it must look like https://host or http://host:port", o.Endpoint)
		}
		host, secure = u.Host, u.Scheme == "https"
	}
	creds, err := o.credentials()
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if o.PathStyle != "" {
		path, err := strconv.ParseBool(o.PathStyle)
		if err != nil {
			return nil, fmt.Errorf("s3.path.style.access: %q is neither true nor false", o.PathStyle)
		}
		lookup = minio.BucketLookupDNS
		if path {
			lookup = minio.BucketLookupPath
		}
	}
	transport := o.Transport
	if transport == nil {
		t, err := minio.DefaultTransport(secure)
		if err != nil {
			return nil, err
		}
		t.MaxIdleConnsPerHost = 64
		transport = t
	}
	region := o.Region
	if region == "" {
		region = "us-east-1"
		if o.Endpoint == "" {
			region = "" // Amazon is asked where the bucket is
		}
	}
	return minio.NewCore(host, &minio.Options{
		Creds: creds, Secure: secure, Region: region, BucketLookup: lookup, Transport: transport, MaxRetries: o.Retries,
	})
}

var errNoCredentials = errors.New("there are no credentials: set s3.access-key and s3.secret-key, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in the shared credentials file")

func (o Options) credentials() (*credentials.Credentials, error) {
	if o.AccessKey != "" && o.SecretKey != "" {
		return credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken), nil
	}
	if o.AccessKey != "" || o.SecretKey != "" {
		return nil, errors.New("of access key and secret key only one is set: set s3.access-key and s3.secret-key together")
	}
	file := credentials.NewFileAWSCredentials("", "")
	if v, err := file.GetWithContext(nil); err == nil && v.AccessKeyID != "" {
		return file, nil
	}
	if o.Endpoint == "" || os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" {
		return credentials.NewIAM(""), nil // the role of the machine or container
	}
	return nil, errNoCredentials
}
