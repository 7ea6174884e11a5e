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

// TestEventsOfAllStreams checks that no more streams are requested from a server whose streams
// together have too many events or bytes, although each of them is within the limits.
func TestEventsOfAllStreams(t *testing.T) {
	t.Parallel()
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name        string
		events      int    // of each stream
		comment     string // of each of them
		limits      suites.Limits
		least, most int64
		coded       bool
		says        string
	}{
		{name: "few events, and a low limit", events: 50, limits: suites.Limits{MaxEvents: 60}, comment: "x", least: 50, most: 500},
		{name: "many events, compressed", events: 180_000, least: 12, most: 12, coded: true, says: "had 2160000 events together, more than 2000000 (see --max-events)"},
		{name: "many bytes, compressed", events: 10, comment: strings.Repeat("x", 6<<20), least: 6, most: 6, coded: true, says: "bytes together, more than 268435456 (see --max-bytes)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := strings.Repeat(":"+test.comment+"\n", test.events-2) + "data: {\"type\":\"text\",\"content\":\"x\"}\n\ndata: [DONE]\n\n"
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
				if test.coded {
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
			if !strings.Contains(gaveUp, test.says) || test.says == "" && gaveUp != "" {
				t.Errorf("it was not asked for more because %q, want %q", gaveUp, test.says)
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
