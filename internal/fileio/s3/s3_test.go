package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/fstest"
	"github.com/tarnlake/tarn/internal/fileio/s3"
	"github.com/tarnlake/tarn/internal/fileio/s3/s3test"
)

func newFS(t *testing.T, opts s3.Options) *s3.FS {
	t.Helper()
	fs, err := s3.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestOnServer(t *testing.T) {
	srv, ok := s3test.Start(t)
	if !ok {
		return
	}
	t.Run("Conformance", func(t *testing.T) {
		fstest.Run(t, func(t *testing.T) (fileio.FS, string) { return newFS(t, srv.Options), srv.Root() })
	})
	for _, part := range []struct {
		name string
		fn   func(*testing.T, *s3test.Server)
	}{
		{"LostAnswers", testLostAnswers},
		{"LostAnswersRace", testLostAnswersRace},
		{"Conflict", testConflict},
		{"NamesInTheWay", testNamesInTheWay},
		{"BrokenReads", testBrokenReads},
		{"Unreachable", testUnreachable},
		{"Requests", testRequests},
		{"AbortDropsUpload", testAbortDropsUpload},
		{"Errors", testErrors},
		{"Replaced", testReplaced},
		{"Schemes", testSchemes},
	} {
		t.Run(part.name, func(t *testing.T) { part.fn(t, srv) })
	}
}

// transport lets a test act on requests.
type transport struct {
	fn func(*http.Request) (*http.Response, error)
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.fn(r) }

var errLost = errors.New("connection reset by the test")

// lose makes a transport that carries requests out but loses the answer of those that drop picks.
func lose(drop func(*http.Request) bool) http.RoundTripper {
	return transport{func(r *http.Request) (*http.Response, error) {
		lost := drop(r)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && lost {
			resp.Body.Close()
			return nil, errLost
		}
		return resp, err
	}}
}

func isConditional(r *http.Request) bool {
	return r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*"
}

// A PutIfAbsent whose answer was lost finds out whether it had won.
func testLostAnswers(t *testing.T, srv *s3test.Server) {
	opts := srv.Options
	opts.RetryWait = time.Millisecond
	var count atomic.Int32
	opts.Transport = lose(func(r *http.Request) bool { return isConditional(r) && count.Add(1) <= 2 })
	fs, p := newFS(t, opts), srv.Root()+"/snapshot-1"
	if err := fs.PutIfAbsent(t.Context(), p, []byte("mine")); err != nil {
		t.Fatalf("it was written by the first request: %v", err)
	}
	if count.Load() != 3 {
		t.Errorf("%d requests, want 3", count.Load())
	}
	// The same bytes, but another writer: it must not think that it won.
	count.Store(0)
	if err := fs.PutIfAbsent(t.Context(), p, []byte("mine")); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("the second writer of the same bytes: %v", err)
	}
	// No answer ever: an error that is not "it exists".
	opts.Retries = 3
	opts.Transport = lose(isConditional)
	err := newFS(t, opts).PutIfAbsent(t.Context(), p+"b", []byte("x"))
	if err != nil && (errors.Is(err, iofs.ErrExist) || !strings.Contains(err.Error(), p+"b")) {
		t.Errorf("unknown outcome: %v", err)
	}
	// On a store that keeps no user metadata the bytes decide.
	opts.Retries = 0
	for body, want := range map[string]error{"mine": nil, "other": iofs.ErrExist, "more": iofs.ErrExist} {
		count.Store(0)
		lossy := lose(func(r *http.Request) bool { return isConditional(r) && count.Add(1) == 1 })
		opts.Transport = transport{func(r *http.Request) (*http.Response, error) {
			resp, err := lossy.RoundTrip(r)
			if err == nil && r.Method == http.MethodHead {
				resp.Header.Del("X-Amz-Meta-Tarn-Writer")
			}
			return resp, err
		}}
		if err := newFS(t, opts).PutIfAbsent(t.Context(), p, []byte(body)); !errors.Is(err, want) {
			t.Errorf("without metadata, %q: %v, want %v", body, err, want)
		}
	}
}

// 8 writers, a third of all answers lost: nobody and no two believe to have won the same file.
func testLostAnswersRace(t *testing.T, srv *s3test.Server) {
	const writers, rounds = 8, 10
	root := srv.Root()
	for round := range rounds {
		p := fmt.Sprintf("%s/snapshot-%d", root, round)
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				opts := srv.Options
				opts.RetryWait = time.Millisecond
				n := 0
				opts.Transport = lose(func(r *http.Request) bool {
					if !isConditional(r) {
						return false
					}
					n++
					return n <= (i+round)%3 // none, one or two answers
				})
				errs[i] = newFS(t, opts).PutIfAbsent(t.Context(), p, []byte("the same for all"))
			})
		}
		wg.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, iofs.ErrExist) {
				t.Errorf("round %d, writer %d: %v", round, i, err)
			}
		}
		if won != 1 {
			t.Errorf("round %d: %d writers won", round, won)
		}
	}
}

// Answers after which a request is made again: another request for the key was under way and ours was not carried out, or the store
// could not take it just now.
func testConflict(t *testing.T, srv *s3test.Server) {
	for _, answer := range []struct {
		status int
		code   string
	}{
		{409, "ConditionalRequestConflict"},
		{409, "OperationAborted"},
		{409, "ConcurrentModification"},
		{400, "RequestTimeout"}, // the body did not come in time
		{400, "IncompleteBody"},
		{400, "BadDigest"},
		{408, ""},
		{429, "TooManyRequests"},
		{499, "ClientDisconnected"},
		{503, "SlowDown"},
	} {
		opts := srv.Options
		opts.RetryWait = time.Millisecond
		n := 0
		opts.Transport = transport{func(r *http.Request) (*http.Response, error) {
			if isConditional(r) {
				if n++; n <= 3 {
					body := `<Error><Code>` + answer.code + `</Code><Message>try again</Message></Error>`
					return &http.Response{
						StatusCode: answer.status, Header: http.Header{}, Request: r, ContentLength: int64(len(body)),
						Body: io.NopCloser(strings.NewReader(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
					}, nil
				}
			}
			return http.DefaultTransport.RoundTrip(r)
		}}
		p := srv.Root() + "/f"
		if err := newFS(t, opts).PutIfAbsent(t.Context(), p, []byte("x")); err != nil || n != 4 {
			t.Errorf("%d %s: after %d requests: %v", answer.status, answer.code, n, err)
		}
		n = 0
		if err := newFS(t, opts).PutIfAbsent(t.Context(), p, []byte("x")); !errors.Is(err, iofs.ErrExist) || n != 4 {
			t.Errorf("%d %s: it is there: after %d requests: %v", answer.status, answer.code, n, err)
		}
	}
}

// A folder where a file is to be, or a file where a folder is, is told at once and for certain, where the store
// minds it.
func testNamesInTheWay(t *testing.T, srv *s3test.Server) {
	opts := srv.Options
	n := 0
	opts.Transport = transport{func(r *http.Request) (*http.Response, error) {
		if isConditional(r) {
			n++
		}
		return http.DefaultTransport.RoundTrip(r)
	}}
	s, root := newFS(t, opts), srv.Root()
	if err := s.Put(t.Context(), root+"/folder/file", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/folder", "/folder/file/below"} {
		n = 0
		if err := s.PutIfAbsent(t.Context(), root+p, []byte("y")); !errors.Is(err, fileio.ErrRefused) || !strings.Contains(err.Error(), p) || n != 1 {
			t.Errorf("%s, after %d requests: %v", p, n, err)
		}
	}
}

// breaking ends a body early.
type breaking struct {
	io.ReadCloser
	left int
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errLost
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Connections that break in the middle of a body are taken up where they broke.
func testBrokenReads(t *testing.T, srv *s3test.Server) {
	p := srv.Root() + "/f"
	data := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	if err := newFS(t, srv.Options).Put(t.Context(), p, data); err != nil {
		t.Fatal(err)
	}
	opts := srv.Options
	opts.RetryWait = time.Millisecond
	var n atomic.Int32
	opts.Transport = transport{func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && n.Add(1)%2 == 1 {
			resp.Body = &breaking{resp.Body, 50_000}
		}
		return resp, err
	}}
	got, err := fileio.ReadFile(t.Context(), newFS(t, opts), p)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A store that gives no answer, or says that it cannot at the moment, is told from one that refuses or lacks something.
func testUnreachable(t *testing.T, srv *s3test.Server) {
	for _, c := range []struct {
		answer int // 0: none
		want   bool
	}{{0, true}, {http.StatusInternalServerError, true}, {http.StatusServiceUnavailable, true}, {http.StatusTooManyRequests, true}, {http.StatusForbidden, false}, {http.StatusNotFound, false}} {
		opts := srv.Options
		opts.Retries, opts.RetryWait = 1, time.Millisecond
		opts.Transport = transport{func(*http.Request) (*http.Response, error) {
			if c.answer == 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return &http.Response{StatusCode: c.answer, Header: http.Header{}, Body: http.NoBody}, nil
		}}
		fs, p := newFS(t, opts), srv.Root()+"/f"
		_, stat := fs.Stat(t.Context(), p)
		_, read := fileio.ReadFile(t.Context(), fs, p)
		for what, err := range map[string]error{"stat": stat, "read": read, "put": fs.Put(t.Context(), p, []byte("x")), "create": fs.PutIfAbsent(t.Context(), p, []byte("x"))} {
			if err == nil || fileio.Unreachable(err) != c.want || !strings.Contains(err.Error(), p) {
				t.Errorf("%s, answer %d: unreachable %t: %v", what, c.answer, fileio.Unreachable(err), err)
			}
		}
	}
}

// What a call costs in requests.
func testRequests(t *testing.T, srv *s3test.Server) {
	opts := srv.Options
	var log []string
	opts.Transport = transport{func(r *http.Request) (*http.Response, error) {
		log = append(log, r.Method)
		return http.DefaultTransport.RoundTrip(r)
	}}
	fs, root := newFS(t, opts), srv.Root()
	want := func(what string, methods ...string) {
		t.Helper()
		if got := strings.Join(log, " "); got != strings.Join(methods, " ") {
			t.Errorf("%s: requests %s, want %s", what, got, methods)
		}
		log = nil
	}
	ctx := t.Context()
	if err := fs.PutIfAbsent(ctx, root+"/small", []byte("x")); err != nil {
		t.Fatal(err)
	}
	want("PutIfAbsent", "PUT")
	if _, err := fileio.ReadFile(ctx, fs, root+"/small"); err != nil {
		t.Fatal(err)
	}
	want("a small file read", "GET")
	w, err := fs.Create(ctx, root+"/data")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, 3<<20))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want("a file below the part size written", "PUT")
	f, err := fs.Open(ctx, root+"/data")
	if err != nil {
		t.Fatal(err)
	}
	footer := make([]byte, 8<<10)
	if _, err := f.ReadAt(footer, f.Size()-int64(len(footer))); err != nil {
		t.Fatal(err)
	}
	want("open and footer", "GET")
	for off := range int64(20) {
		if _, err := f.ReadAt(footer[:100], off*100); err != nil {
			t.Fatal(err)
		}
	}
	want("20 short reads in a row", "GET")
	if _, err := f.ReadRanges(ctx, []fileio.Range{{Offset: 0, Length: 100}, {Offset: 1000, Length: 100}, {Offset: 200_000, Length: 100}}); err != nil {
		t.Fatal(err)
	}
	want("near ranges", "GET")
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("%s/d/data-%d", root, i))
		if err := fs.Put(ctx, many[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	log = nil
	if err := fs.Delete(ctx, many...); err != nil {
		t.Fatal(err)
	}
	want("50 files of a folder deleted", "GET", "POST")
}

// Abort leaves no parts that would be paid for.
func testAbortDropsUpload(t *testing.T, srv *s3test.Server) {
	opts := srv.Options
	opts.PartSize = 5 << 20
	var log []string
	var mu sync.Mutex
	opts.Transport = transport{func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		log = append(log, r.Method)
		mu.Unlock()
		return http.DefaultTransport.RoundTrip(r)
	}}
	fs := newFS(t, opts)
	w, err := fs.Create(t.Context(), srv.Root()+"/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 11<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(log, " "); got != "POST PUT PUT DELETE" {
		t.Errorf("requests %s", got)
	}
}

func testErrors(t *testing.T, srv *s3test.Server) {
	opts := srv.Options
	opts.SecretKey = "wrong-secret"
	_, err := newFS(t, opts).Open(t.Context(), srv.Root()+"/f")
	if !errors.Is(err, iofs.ErrPermission) || !strings.Contains(err.Error(), "s3.secret-key") {
		t.Errorf("wrong secret: %v", err)
	}
	fs := newFS(t, srv.Options)
	err = fs.PutIfAbsent(t.Context(), "s3://no-such-bucket-here/f", nil)
	if !errors.Is(err, iofs.ErrNotExist) || !strings.Contains(err.Error(), "no bucket") {
		t.Errorf("no bucket: %v", err)
	}
	for _, p := range []string{"/local/path", "s3://", "s3:///key", "hdfs://x/y"} {
		if _, err := fs.Stat(t.Context(), p); err == nil || !strings.Contains(err.Error(), "s3://bucket/key") {
			t.Errorf("Stat(%q): %v", p, err)
		}
	}
	if err := fs.Put(t.Context(), "s3://"+srv.Bucket, nil); err == nil {
		t.Error("wrote to a bucket itself")
	}
	if info, err := fs.Stat(t.Context(), "s3://"+srv.Bucket); err != nil || !info.IsDir {
		t.Errorf("the bucket: %+v, %v", info, err)
	}
}

// A file that is replaced while it is open is an error, not a mixture.
func testReplaced(t *testing.T, srv *s3test.Server) {
	fs, p := newFS(t, srv.Options), srv.Root()+"/f"
	if err := fs.Put(t.Context(), p, bytes.Repeat([]byte("a"), 1<<20)); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.Put(t.Context(), p, bytes.Repeat([]byte("b"), 1<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 10), 0); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("error %v", err)
	}
}

func testSchemes(t *testing.T, srv *s3test.Server) {
	fs, p := newFS(t, srv.Options), srv.Root()+"/f"
	if err := fs.Put(t.Context(), "s3a"+strings.TrimPrefix(p, "s3"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, err := fileio.ReadFile(t.Context(), fs, p); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}
