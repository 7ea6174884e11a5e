package fault_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
)

// responseCases lists the refusal or the response head that each fault sends.
var responseCases = []struct {
	use    string
	refuse fault.CannedResponse
	status int    // of the head; 0: it is not touched
	header string // "Name: value", "" is none
	wait   time.Duration
}{
	{use: "http-error", refuse: fault.CannedResponse{Status: 500}},
	{use: "http-error; status=404; code=gone; text=no such thing", refuse: fault.CannedResponse{Status: 404, Code: "gone", Message: "no such thing"}},
	{use: "too-many; retry-after=2s", refuse: fault.CannedResponse{Status: 429, RetryAfter: 2 * time.Second}},
	{use: "empty", refuse: fault.CannedResponse{Status: 200, ContentType: "text/event-stream"}},
	{use: "redirect", status: 307, header: "Location: ?"},
	{use: "wrong-status", status: 201, header: "Content-Type: text/event-stream"},
	{use: "content-type", status: 200, header: "Content-Type: text/plain; charset=utf-8"},
	{use: "content-type; type=none", status: 200, header: "Content-Type: "},
	{use: "slow-head; for=2s", status: 200, header: "Content-Type: text/event-stream", wait: 2 * time.Second},
	{use: "gzip", status: 200, header: "Content-Encoding: gzip"},
	{use: "html"},
}

func TestHeads(t *testing.T) {
	for _, c := range responseCases {
		effect, hasApplied := newReportingEffect(t, c.use)
		if c.use == "html" {
			if no := effect.Response; no.Status != 502 || !strings.HasPrefix(no.ContentType, "text/html") || !strings.Contains(no.Body, "<html>") {
				t.Errorf("%s: %+v", c.use, no)
			}
			continue
		}
		if effect.Response != c.refuse {
			t.Errorf("%s: it is refused with %+v, want %+v", c.use, effect.Response, c.refuse)
		}
		if (effect.OnHead == nil) != (c.status == 0) {
			t.Errorf("%s: OnHead is nil: %v, want %v", c.use, effect.OnHead == nil, c.status == 0)
		}
		if effect.OnHead == nil {
			continue
		}
		h := fault.ResponseHead{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}}
		effect.OnHead(&h)
		name, value, _ := strings.Cut(c.header, ": ")
		if h.Status != c.status || h.Header.Get(name) != value || h.Delay != c.wait {
			t.Errorf("%s: %+v", c.use, h)
		}
		if !hasApplied() {
			t.Errorf("%s: it does not report that it changes the head", c.use)
		}
	}
}

// resumeCases lists the results of OnResume for each fault if the cursor is that of event 5 and the
// last event is 9.
var resumeCases = []struct {
	use  string
	from int64
	ok   bool
}{
	{"resume-lost", 6, true}, {"resume-repeated", 4, true}, {"resume-from-start", 0, true}, {"resume-expired", 5, false}, {"resume-newer", 9, true},
}

func TestResumptions(t *testing.T) {
	for _, c := range resumeCases {
		effect, hasApplied := newReportingEffect(t, c.use)
		if from, ok := effect.OnResume(5, 9); ok != c.ok || from != c.from || !hasApplied() {
			t.Errorf("%s: from %d, %v; reported: %v", c.use, from, ok, hasApplied())
		}
	}
}
