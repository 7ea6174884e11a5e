package suites_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// A target whose streams have very many events, but each of them fewer than one may have,
// is not asked for more of them in the end.
func TestEventsOfAllStreams(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name         string
		events       int // of each stream
		limits       suites.Limits
		least, most  int64
		givesUp      bool
		contentCoded bool
	}{
		{name: "few events, and a low limit", events: 50, limits: suites.Limits{MaxEvents: 60}, least: 50, most: 500},
		{name: "many events", events: 180_000, least: 6, most: 6, givesUp: true},
		{name: "many events, compressed", events: 180_000, least: 6, most: 6, givesUp: true, contentCoded: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := strings.Repeat(":\n", test.events-2) + "data: {\"type\":\"text\",\"content\":\"x\"}\n\ndata: [DONE]\n\n"
			var asked atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/health" || !strings.Contains(string(body), `"content":"conformance:`) {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				if !strings.Contains(string(body), "probe") {
					asked.Add(1)
				}
				w.Header().Set("Content-Type", stream)
				if test.contentCoded {
					w.Header().Set("Content-Encoding", "gzip")
					_, _ = w.Write(gzipped(answer))
					return
				}
				_, _ = io.WriteString(w, answer)
			}))
			defer srv.Close()
			target := suites.Target{Dialect: d, Seed: 1, Parallel: 1, LackedCapabilities: []string{"scripted"}, Limits: test.limits}
			parts, _ := played(t, target, srv.URL)
			gaveUp := ""
			for _, p := range parts {
				if p.IncompleteReason != nil {
					gaveUp = p.IncompleteReason.Error()
				}
			}
			if n := asked.Load(); n < test.least || n > test.most {
				t.Errorf("it was asked for %d streams, want %d to %d", n, test.least, test.most)
			}
			if says := strings.Contains(gaveUp, "had 1080000 events together, more than 1000000 (see --max-events)"); says != test.givesUp || !says && gaveUp != "" {
				t.Errorf("it was not asked for more because %q", gaveUp)
			}
		})
	}
}

func gzipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.Bytes()
}
