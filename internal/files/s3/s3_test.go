package s3

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/files/blob"
)

// environment sets the environment variables of the AWS tools for the test. key is the id of the
// access key.
func environment(t *testing.T, key string) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": "env-secret", "AWS_SESSION_TOKEN": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/", // rather than the address of a cloud's metadata
	} {
		t.Setenv(name, value)
	}
}

// serve returns a storage in a bucket of the server that answer implements, and the requests that
// the server has received so far, as "METHOD PATH".
func serve(t *testing.T, answer http.HandlerFunc) (storage blob.Storage, received func() []string) {
	t.Helper()
	environment(t, "AKIDEXAMPLE")
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r.Method+" "+r.URL.Path)
		mu.Unlock()
		const signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"
		sign := r.Header.Get("Authorization")
		if !strings.HasPrefix(sign, signed) || !strings.Contains(sign, "/eu-west-1/s3/aws4_request") || !strings.Contains(sign, "Signature=") {
			t.Errorf("%s %s is signed with %q", r.Method, r.URL, sign)
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	storage, err := Open("s3://box?region=eu-west-1&endpoint=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return storage, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), requests...)
	}
}

// lines joins all lines to one text, for comparison.
func lines(all []string) string { return strings.Join(all, "\n") }

// TestRequests checks the request for each method, and that a blob is read from where it is needed.
func TestRequests(t *testing.T) {
	var asked http.Header
	storage, received := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body)
			asked = r.Header
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "image/png")
			w.Header().Set("X-Amz-Meta-Owner", "ann")
			http.ServeContent(w, r, "", time.Now(), strings.NewReader("0123456789"))
		}
	})
	a := blob.Attributes{Type: "image/png", Metadata: map[string]string{"owner": "ann"}}
	if err := storage.Put(t.Context(), "x.png", []byte("0123456789"), a); err != nil {
		t.Error(err)
	}
	if asked.Get("Content-Type") != "image/png" || asked.Get("X-Amz-Meta-Owner") != "ann" || asked.Get("Content-Encoding") == "gzip" {
		t.Errorf("put with %v", asked)
	}
	got, err := storage.Stat(t.Context(), "x.png")
	if err != nil || got.Type != "image/png" || got.Size != 10 || got.Metadata["owner"] != "ann" {
		t.Errorf("stat: %+v, %v", got, err)
	}
	content, got, err := storage.Open(t.Context(), "x.png")
	if err != nil || got.Size != 10 {
		t.Fatalf("open: %+v, %v", got, err)
	}
	if _, err := content.Seek(-3, io.SeekEnd); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(content); string(text) != "789" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if err := content.Close(); err != nil {
		t.Error(err)
	}
	if err := storage.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	const want = "PUT /box/x.png\nHEAD /box/x.png\nGET /box/x.png\nGET /box/x.png\nPUT /box/probe\nDELETE /box/probe"
	all := received()
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], "-")
	}
	if lines(all) != want {
		t.Errorf("got\n%s", lines(all))
	}
}

// TestErrors checks that only a missing blob is reported as such, that errors quote no message of
// the server, and that requests are repeated a few times only if that can help.
func TestErrors(t *testing.T) {
	const text = "<Error><Code>%</Code><Message>env-secret</Message><StringToSign>env-secret</StringToSign></Error>"
	for name, c := range map[string]struct {
		status         int
		body           string
		missing        bool
		want           string
		requestsPerGet int
	}{
		"no such key":    {404, strings.Replace(text, "%", "NoSuchKey", 1), true, "", 1},
		"no body":        {404, "", true, "", 1},
		"refused":        {403, strings.Replace(text, "%", "SignatureDoesNotMatch", 1), false, "status 403", 1},
		"another 404":    {404, strings.Replace(text, "%", "NoSuchUpload", 1), false, "status 404", 1},
		"overloaded":     {503, strings.Replace(text, "%", "SlowDown", 1), false, "status 503", maxAttempts},
		"HTML":           {403, "<html>env-secret</html>", false, "status 403", 1},
		"text and a 500": {500, "env-secret", false, "status 500", maxAttempts},
	} {
		t.Run(name, func(t *testing.T) {
			storage, received := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, _, err := storage.Open(t.Context(), "x")
			check := func(err error) {
				t.Helper()
				if err == nil || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v", err)
				}
			}
			check(err)
			if n := len(received()); n != c.requestsPerGet {
				t.Errorf("sent %d requests, want %d: %v", n, c.requestsPerGet, received())
			}
			_, err = storage.Stat(t.Context(), "x")
			check(err)
			if missing := errors.Is(err, fs.ErrNotExist); missing != (c.status == 404) {
				t.Errorf("stat: %v", err)
			}
			err = storage.Put(t.Context(), "x", []byte("x"), blob.Attributes{})
			check(err)
			if missing := errors.Is(err, fs.ErrNotExist); missing != c.missing || !strings.Contains(err.Error(), c.want) {
				t.Errorf("put: %v, want %q", err, c.want)
			}
		})
	}
}

// TestTruncated checks that the reader of a truncated body returns an error.
func TestTruncated(t *testing.T) {
	storage, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.Method == http.MethodGet {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 500))
		}
	})
	content, a, err := storage.Open(t.Context(), "x")
	if err != nil || a.Size != 1000 {
		t.Fatalf("%+v, %v", a, err)
	}
	defer content.Close()
	if text, err := io.ReadAll(content); err == nil {
		t.Errorf("read %d bytes without an error", len(text))
	}
}

// TestNoRanges checks that a body that begins elsewhere than requested is never read.
func TestNoRanges(t *testing.T) {
	storage, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, "0123456789") // whatever range was requested
	})
	content, _, err := storage.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if _, err := content.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if text, err := io.ReadAll(content); err == nil || len(text) > 0 {
			t.Errorf("read %q, %v", text, err)
		}
	}
}

// TestNoLength checks that a body without a length is not taken for an empty one.
func TestNoLength(t *testing.T) {
	storage, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
	})
	if _, a, err := storage.Open(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "no length") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestNoCredentials checks that nothing is sent without a signature.
func TestNoCredentials(t *testing.T) {
	storage, received := serve(t, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	err := storage.Put(t.Context(), "x", []byte("x"), blob.Attributes{})
	if err == nil || !strings.Contains(err.Error(), "found no credentials") || len(received()) > 0 {
		t.Errorf("%v, sent %v", err, received())
	}
}

// TestAddress checks to which URL requests are sent, depending on the parameters and the
// environment.
func TestAddress(t *testing.T) {
	for location, want := range map[string]string{
		"s3://box?region=eu-west-1":                                                        "https://box.s3.eu-west-1.amazonaws.com/x",
		"s3://box?region=eu-west-1&use_path_style=true":                                    "https://s3.eu-west-1.amazonaws.com/box/x",
		"s3://box.of.ann?region=eu-west-1":                                                 "https://s3.eu-west-1.amazonaws.com/box.of.ann/x",
		"s3://box?region=r&endpoint=https://objects.example:9000":                          "https://box.objects.example:9000/x",
		"s3://box?region=r&endpoint=http://objects.example&use_path_style=true":            "http://objects.example/box/x",
		"s3://box?region=r&endpoint=http://127.0.0.1:9000/":                                "http://127.0.0.1:9000/box/x",
		"s3://box?region=r&endpoint=https%3A%2F%2Fobjects.example%3A9000&use_path_style=1": "https://objects.example:9000/box/x",
	} {
		environment(t, "AKIDEXAMPLE")
		if got := address(t, location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
	t.Setenv("AWS_REGION", "eu-north-1")
	if got := address(t, "s3://box"); got != "https://box.s3.eu-north-1.amazonaws.com/x" {
		t.Errorf("with AWS_REGION: %s", got)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
	if got := address(t, "s3://box"); got != "http://127.0.0.1:9000/box/x" {
		t.Errorf("with AWS_ENDPOINT_URL: %s", got)
	}
}

// address returns the URL of the blob x in a storage.
func address(t *testing.T, location string) string {
	t.Helper()
	storage, err := Open(location)
	if err != nil {
		t.Fatal(err)
	}
	return storage.(*bucket).url.JoinPath("x").String()
}
