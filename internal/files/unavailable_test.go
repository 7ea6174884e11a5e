package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/files/blob"
)

// A store is an HTTP server that implements as much of the S3 API as the package files uses.
type store struct {
	mu      sync.Mutex
	objects map[string]object
}

type object struct {
	head http.Header
	data []byte
}

// newStore starts an object store for the test and returns its location in the form that s3.Open
// accepts.
func newStore(t *testing.T) string {
	credentials(t)
	s := httptest.NewServer(&store{objects: map[string]object{}})
	t.Cleanup(s.Close)
	return "s3://box?region=eu-west-1&use_path_style=true&endpoint=" + s.URL
}

func credentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "env-secret")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := strings.CutPrefix(r.URL.Path, "/box")
	o, known := s.objects[key]
	switch {
	case !ok || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"):
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut:
		data, err := body(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o = object{http.Header{}, data}
		for name, values := range r.Header {
			if name == "Content-Type" || strings.HasPrefix(name, "X-Amz-Meta-") {
				o.head[name] = values
			}
		}
		s.objects[key] = o
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !known:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
	default:
		for name, values := range o.head {
			w.Header()[name] = values
		}
		http.ServeContent(w, r, "", start, bytes.NewReader(o.data))
	}
}

// body returns the body of an upload, decoded if it has aws-chunked encoding.
func body(r *http.Request) ([]byte, error) {
	if !strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		return io.ReadAll(r.Body)
	}
	var data []byte
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil || n == 0 {
			_, _ = io.Copy(io.Discard, in)
			return data, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		data = append(data, chunk[:n]...)
	}
}

// checkUnavailable checks that all methods of s return ErrUnavailable soon. The S3 driver retries a
// request twice.
func checkUnavailable(t *testing.T, s *Store, f File) {
	t.Helper()
	began := time.Now()
	var group sync.WaitGroup
	for what, do := range map[string]func() error{
		"put":  func() error { _, err := s.Put(t.Context(), a("x")); return err },
		"find": func() error { _, _, err := s.Find(t.Context(), f.Path); return err },
		"ping": func() error { return s.Ping(t.Context()) },
		"link": func() error {
			w := get(s, s.Link("", f))
			if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), f.Path) {
				return fmt.Errorf("%d %s", w.Code, w.Body)
			}
			return ErrUnavailable
		},
	} {
		group.Go(func() {
			if err := do(); !errors.Is(err, ErrUnavailable) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	group.Wait()
	if took := time.Since(began); took > storageTimeout {
		t.Errorf("that took %v", took)
	}
	t.Logf("given up after %v", time.Since(began))
}

func TestDirectoryGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "files")
	s := open(t, "dir:"+dir, Config{})
	f := put(t, s, a("x"))
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	checkUnavailable(t, s, f)
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was made again")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checkUnavailable(t, s, f)
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	if _, owner, err := s.Find(t.Context(), f.Path); err != nil || owner != "ann" {
		t.Errorf("back again: of %q, %v", owner, err)
	}
	put(t, s, a("x"))
}

// TestDirectoryBroken checks that a file whose metadata is unreadable is unavailable.
func TestDirectoryBroken(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "dir:"+dir, Config{})
	f := put(t, s, a("x"))
	if err := os.WriteFile(filepath.Join(dir, f.Path+".attrs"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Find(t.Context(), f.Path); !errors.Is(err, ErrUnavailable) {
		t.Errorf("find: %v", err)
	}
	if w := get(s, s.Link("", f)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("the link: %d", w.Code)
	}
}

func TestDirectoryStays(t *testing.T) {
	place, key := "dir:"+t.TempDir(), []byte("0123456789abcdef")
	one := open(t, place, Config{SigningKey: key})
	f := put(t, one, a("x"))
	link := one.Link("http://h/files", f)
	two := open(t, place, Config{SigningKey: key})
	if got, owner, err := two.Find(t.Context(), f.Path); err != nil || got != f || owner != "ann" {
		t.Errorf("found %+v of %q, %v", got, owner, err)
	}
	if w := get(two, link); w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), png) {
		t.Errorf("the link: %d %q", w.Code, w.Body)
	}
}

func TestStoreGone(t *testing.T) {
	credentials(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	s := open(t, "s3://box?region=eu-west-1&use_path_style=true&endpoint=http://"+l.Addr().String(), Config{})
	checkUnavailable(t, s, File{Path: newPath("x", "image/png")})
}

// TestStoreRefuses checks that a store that refuses requests counts as unavailable, not as empty.
func TestStoreRefuses(t *testing.T) {
	credentials(t)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(h.Close)
	s := open(t, "s3://box?region=eu-west-1&use_path_style=true&endpoint="+h.URL, Config{})
	checkUnavailable(t, s, File{Path: newPath("x", "image/png")})
}

func TestOpenRefuses(t *testing.T) {
	credentials(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		"dir:":                                "no such file",
		"https://user:secret@host/x":          "s3://BUCKET",
		"dir:" + file:                         "directory",
		"dir:" + file + "/below":              "not a directory",
		"s3://":                               "s3://BUCKET",
		"s3://user:secret@box":                "environment",
		"s3://box/below?x=secret":             "s3://BUCKET",
		"s3://box?x=%zzsecret":                "parameters",
		"s3://\x7fsecret":                     "s3://BUCKET",
		"s3://box?access_key=secret":          "parameter access_key",
		"s3://box?anonymous=secret":           "parameter anonymous",
		"s3://box":                            "missing region",
		"s3://box?ssetype=secret":             "parameter ssetype",
		"s3://box?b=secret&a=1&region=x":      "parameter a, b, want region, endpoint",
		"s3://box?a%0Ab=secret":               "parameter a%0Ab",
		"s3://box?endpoint=ftp://secret":      "endpoint",
		"s3://box?endpoint=http://h/secret":   "endpoint",
		"s3://box?endpoint=secret":            "endpoint",
		"s3://box?use_path_style=secret":      "parameter use_path_style",
		"s3://box?endpoint=http://u:secret@h": "endpoint",
	} {
		_, err := openAt(place, Config{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want %q", place, err, want)
		}
	}
	if _, err := New(blob.NewMemory(1), Config{SigningKey: []byte("secret")}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("short key: %v", err)
	}
}

// TestNothingCanBeKept checks that Ping fails for a store that can be read but not written.
func TestNothingCanBeKept(t *testing.T) {
	credentials(t)
	inner := &store{objects: map[string]object{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code></Error>")
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer srv.Close()
	for name, place := range map[string]string{
		"a bucket that may only be read":           "s3://box?region=eu-west-1&use_path_style=true&endpoint=" + srv.URL,
		"a directory in which no file can be made": "dir:/proc/self/task",
	} {
		if dir, ok := strings.CutPrefix(place, "dir:"); ok {
			if _, err := os.Stat(dir); err != nil {
				t.Logf("%s: DID NOT RUN: not on Linux: %v", name, err)
				continue
			}
		}
		s, err := openAt(place, Config{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		begun := time.Now()
		if err := s.Ping(t.Context()); !errors.Is(err, ErrUnavailable) || time.Since(begun) > storageTimeout {
			t.Errorf("%s: after %v: Ping: %v", name, time.Since(begun), err)
		}
	}
}

// TestPingLeavesNothing checks that Ping leaves no files behind.
func TestPingLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := openAt("dir:"+dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
