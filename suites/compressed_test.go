package suites_test

import (
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A compressedWriter compresses all that is written to it with gzip. Flush sends what was written.
type compressedWriter struct {
	http.ResponseWriter
	gzip *gzip.Writer
}

func (w compressedWriter) WriteHeader(status int) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w compressedWriter) Write(p []byte) (int, error) { return w.gzip.Write(p) }

func (w compressedWriter) FlushError() error {
	if err := w.gzip.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// TestCompressed checks that streams which a server compresses, for a client that accepts it, are
// judged by the times at which their events could be decoded, and have no finding if the server
// flushes each event.
func TestCompressed(t *testing.T) {
	for _, name := range []string{"agkit", "runs", "agui"} {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var compressed atomic.Int64
		right := reference.New(d, reference.Scripted, reference.Config{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				right.ServeHTTP(w, r)
				return
			}
			compressed.Add(1)
			c := compressedWriter{w, gzip.NewWriter(w)}
			defer c.gzip.Close()
			right.ServeHTTP(c, r)
		}))
		defer srv.Close()
		base, err := url.Parse(srv.URL + d.Base)
		if err != nil {
			t.Fatal(err)
		}
		target := suites.Target{Dialect: d, Base: base, Only: []string{"compressed"}, Seed: 1}
		parts, err := suites.Run(context.WithoutCancel(t.Context()), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		judged := false
		for _, p := range parts {
			for _, r := range p.Evaluation.Results {
				for _, f := range r.Findings {
					t.Errorf("%s: %s: %s", name, r.PlannedCheck.Check.ID, f.Message)
				}
				judged = judged || r.PlannedCheck.Check.ID == "wire.flushes" && r.Verdict == spec.Passed
			}
		}
		if !judged || compressed.Load() == 0 {
			t.Errorf("%s: wire.flushes did not pass (%d compressed responses)", name, compressed.Load())
		}
	}
}
