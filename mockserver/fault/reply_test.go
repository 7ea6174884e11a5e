package fault_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// What is said instead of serving a request, or before it.
var heads = []struct {
	use    string
	refuse fault.Refusal
	status int    // of the head; 0: it is not touched
	header string // "Name: value", "" is none
	wait   time.Duration
}{
	{use: "http-error", refuse: fault.Refusal{Status: 500}},
	{use: "http-error; status=404; code=gone; text=no such thing", refuse: fault.Refusal{Status: 404, Code: "gone", Text: "no such thing"}},
	{use: "too-many; retry-after=2s", refuse: fault.Refusal{Status: 429, RetryAfter: 2 * time.Second}},
	{use: "empty", refuse: fault.Refusal{Status: 200, Media: "text/event-stream"}},
	{use: "redirect", status: 307, header: "Location: ?"},
	{use: "wrong-status", status: 201, header: "Content-Type: text/event-stream"},
	{use: "content-type", status: 200, header: "Content-Type: text/plain; charset=utf-8"},
	{use: "content-type; type=none", status: 200, header: "Content-Type: "},
	{use: "slow-head; for=2s", status: 200, header: "Content-Type: text/event-stream", wait: 2 * time.Second},
	{use: "gzip", status: 200, header: "Content-Encoding: gzip"},
	{use: "html"},
}

func TestHeads(t *testing.T) {
	for _, c := range heads {
		effect := begun(t, c.use)
		if c.use == "html" {
			if no := effect.Refuse; no.Status != 502 || !strings.HasPrefix(no.Media, "text/html") || !strings.Contains(no.Body, "<html>") {
				t.Errorf("%s: %+v", c.use, no)
			}
			continue
		}
		if effect.Refuse != c.refuse {
			t.Errorf("%s: it is refused with %+v, want %+v", c.use, effect.Refuse, c.refuse)
		}
		if (effect.Head == nil) != (c.status == 0) {
			t.Errorf("%s: the head is touched, or not, against what is wanted", c.use)
		}
		if effect.Head == nil {
			continue
		}
		h := fault.Head{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}}
		effect.Head(&h)
		name, value, _ := strings.Cut(c.header, ": ")
		if h.Status != c.status || h.Header.Get(name) != value || h.Wait != c.wait {
			t.Errorf("%s: %+v", c.use, h)
		}
	}
}

// Where a stream is taken up again that was heard up to 5 of 9.
var resumptions = []struct {
	use  string
	from int64
	ok   bool
}{
	{"resume-lost", 6, true}, {"resume-repeated", 4, true}, {"resume-from-start", 0, true}, {"resume-expired", 5, false}, {"resume-newer", 9, true},
}

func TestResumptions(t *testing.T) {
	for _, c := range resumptions {
		if from, ok := begun(t, c.use).Resume(5, 9); ok != c.ok || from != c.from {
			t.Errorf("%s: from %d, %v", c.use, from, ok)
		}
	}
}
