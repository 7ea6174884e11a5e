package suites

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestOpenStreams checks that all conversations together open no more streams than the stream limit
// of the target, so that a server that enforces the limit refuses none of them.
func TestOpenStreams(t *testing.T) {
	t.Parallel()
	const limit = 4
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	target := startTarget(t, d, reference.New(d, reference.Scripted, reference.Config{
		Limits: reference.Limits{StreamsPerUser: limit},
	}))
	target.StreamLimit, target.ClaimedCapabilities = limit, []string{"scripted"}
	target.Only = []string{"closes", "idle-limit", "similar-runs", "two-readers"}
	parts, err := Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for _, p := range parts {
		for _, x := range p.Trace.Exchanges {
			o := d.Operation(x.Request)
			if o == nil || !o.IsStream {
				continue
			}
			if streams++; x.Response.Status == 429 {
				t.Errorf("%s: stream refused: %s", p.Scenario.Name, x.Request.Target)
			}
		}
	}
	if streams <= limit {
		t.Errorf("only %d streams were requested", streams)
	}
}

// TestOpenStreamsDetectedLate checks that a server that counts each stream until 200 ms after its
// end, because it detects late that the client has closed the stream, leaves no conversation
// incomplete, and that each stream that it refuses is requested again. The target's configuration
// may state the limit on streams or not.
func TestOpenStreamsDetectedLate(t *testing.T) {
	t.Parallel()
	const limit = 3
	for _, stated := range []int{limit, 0} {
		t.Run(fmt.Sprintf("limit %d", stated), func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Open("runs@2026-04")
			if err != nil {
				t.Fatal(err)
			}
			server := reference.New(d, reference.Scripted, reference.Config{})
			var streams, refused atomic.Int64
			target := startTarget(t, d, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/events") {
					if streams.Add(1) > limit {
						streams.Add(-1)
						refused.Add(1)
						http.Error(w, "too many streams", http.StatusTooManyRequests)
						return
					}
					defer time.AfterFunc(200*time.Millisecond, func() { streams.Add(-1) })
				}
				server.ServeHTTP(w, r)
			}))
			target.StreamLimit, target.ClaimedCapabilities = stated, []string{"scripted"}
			target.Only, target.Sequences = []string{"cancel", "closes", "sequence-*", "together", "two-readers"}, 4
			parts, err := Run(t.Context(), target, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				if p.IncompleteReason != nil {
					t.Errorf("%s: %v, after %d refused streams in all", p.Scenario.Name, p.IncompleteReason, refused.Load())
				}
				last := map[string]int{} // by target and cursor: the status of the last response
				for _, x := range p.Trace.Exchanges {
					last[x.Request.Target+" "+x.Request.Header.Get("Last-Event-ID")] = x.Response.Status
				}
				for request, status := range last {
					if status == http.StatusTooManyRequests {
						t.Errorf("%s: GET %s was refused and not repeated successfully", p.Scenario.Name, request)
					}
				}
			}
			if refused.Load() == 0 {
				t.Error("the server refused no stream; the test needs a lower limit")
			}
		})
	}
}
