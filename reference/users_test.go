package reference

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// doAs sends a request with the token of the given user and waits for the response. "" sends no
// credentials.
func (k *testClient) doAs(user string, req spec.Request) *recordedResponse {
	before := k.user
	defer func() { k.user = before }()
	k.user = user
	return k.do(req)
}

// onlyBob is an Authenticator that accepts only the user bob.
type onlyBob struct{}

func (onlyBob) Authenticate(_ context.Context, token string) (string, bool) {
	return "bob", token == "bobs-token"
}

// TestCredentials checks that credentials are required where the document requires them, and for
// all operations except health if the server has an authenticator.
func TestCredentials(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		asking, _ := d.TemplateOperation("prompt")
		for _, c := range []struct {
			cfg   Config
			token string
			want  int // 0: what credentials would have got
		}{
			{Config{}, "", 401}, {Config{}, "anyone", 0},
			{Config{Authenticator: onlyBob{}}, "", 401}, {Config{Authenticator: onlyBob{}}, "anyone", 401}, {Config{Authenticator: onlyBob{}}, "bobs-token", 0},
		} {
			k := newTestClient(t, d, Scripted, c.cfg)
			p := k.doAs(c.token, k.messageRequest("prompt", spec.Event{Run: "run-1", Text: "hi"}))
			wanted := c.want == 401 && (asking.RequiresCredentials || c.cfg.Authenticator != nil)
			if wanted != (p.status == 401) || wanted != (p.header.Get("WWW-Authenticate") == "Bearer") || !wanted && p.status/100 != 2 {
				t.Errorf("users %v, token %q: %d %v", c.cfg.Authenticator != nil, c.token, p.status, p.header)
			}
			if o, ok := d.TemplateOperation("health"); ok {
				if p := k.doAs("", k.messageRequest("health", spec.Event{})); p.status != 200 {
					t.Errorf("%s without credentials: %d", o.Name, p.status)
				}
			}
			k.close()
		}
	})
}

// TestOwner checks that other users cannot access a conversation.
func TestOwner(t *testing.T) {
	eachResumable(t, func(t *testing.T, d *dialect.Dialect) {
		k := newTestClient(t, d, Scripted, Config{})
		defer k.close()
		listen := k.sendPrompt("prompt", spec.Event{Run: "run-1", Text: "conformance:text secret words"})
		heard := k.events(listen, k.do(listen))
		for name, req := range map[string]spec.Request{
			"listen": listen, "listen from a cursor": k.messageRequest("listen", spec.Event{Run: "run-1", Cursor: heard[0].Cursor}),
			"cancel": k.messageRequest("cancel", spec.Event{Run: "run-1"}), "prompt": k.messageRequest("prompt", spec.Event{Run: "run-2", Text: "hi"}),
			"history": k.messageRequest("history", spec.Event{}),
		} {
			p := k.doAs("eve", req)
			if p.status != 403 || strings.Contains(string(p.bytes()), "secret") || !strings.Contains(p.header.Get("Content-Type"), "problem+json") {
				t.Errorf("%s of another user: %d %s", name, p.status, p.bytes())
			}
		}
		latest := spec.Request{Method: "GET", Target: "/history"}
		if p := k.doAs("eve", latest); p.status != 200 || strings.Contains(string(p.bytes()), "secret") || !strings.Contains(string(p.bytes()), `"threadId":null`) {
			t.Errorf("the latest history of a user without any: %d %s", p.status, p.bytes())
		}
		if p := k.do(latest); !strings.Contains(string(p.bytes()), firstThread) {
			t.Errorf("the latest history: %d %s", p.status, p.bytes())
		}
	})
}

// TestStreamLimit checks that the number of open streams is limited per user, and that a stream
// that ends makes room for another.
func TestStreamLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Limits: Limits{StreamsPerUser: 2}})
		defer k.close()
		listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 20 100"})
		first, second := k.start(listen, nil), k.start(listen, nil)
		wait(50 * time.Millisecond)
		if p := k.do(listen); p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") == "" || strings.Contains(p.header.Get("Content-Type"), "event-stream") ||
			!strings.Contains(string(p.bytes()), "AGENT_SSE_CONNECTION_LIMIT") {
			t.Errorf("one too many: %d %v %s", p.status, p.header, p.bytes())
		}
		if p := k.doAs("eve", k.messageRequest("prompt", spec.Event{Run: "r", Text: "hi", Thread: "550e8400-e29b-41d4-a716-446655440007"})); p.status != 202 {
			t.Errorf("another user: %d", p.status)
		}
		first.leave()
		<-first.done
		third := k.start(listen, nil)
		<-second.done
		<-third.done
		if third.status != 200 {
			t.Errorf("after one has left: %d", third.status)
		}
	})
}

// TestHistory checks that the history returns the messages of one day at a time, beginning with the
// latest day.
func TestHistory(t *testing.T) {
	eachResumable(t, func(t *testing.T, d *dialect.Dialect) {
		today := time.Date(2026, 3, 14, 23, 0, 0, 0, time.UTC)
		k := newTestClient(t, d, Scripted, Config{Now: func() time.Time { return today }})
		defer k.close()
		for i := range 3 {
			k.runEvents("prompt", spec.Event{Run: fmt.Sprint("run-", i), Text: fmt.Sprint("conformance:text answer ", i)})
			today = today.AddDate(0, 0, 2)
		}
		for _, c := range []struct{ before, day, more, holds string }{
			{"", "2026-03-18", "true", "answer 2"}, {"2026-03-18", "2026-03-16", "true", "answer 1"}, {"2026-03-17", "2026-03-16", "true", "answer 1"},
			{"2026-03-16", "2026-03-14", "false", "answer 0"}, {"2026-03-14", "", "false", ""}, {"0001-01-01", "", "false", ""},
		} {
			req := k.messageRequest("history", spec.Event{Day: c.before})
			p := k.do(req)
			events := k.events(req, p)
			if p.status != 200 || len(events) != 1 {
				t.Fatalf("before %q: %d %s", c.before, p.status, p.bytes())
			}
			e := events[0]
			if e.Day != c.day || e.HasMore != c.more || !strings.Contains(string(p.bytes()), c.holds) || (len(e.Parts) == 2) != (c.day != "") {
				t.Errorf("before %q: %s", c.before, p.bytes())
			}
		}
		if p := k.do(spec.Request{Method: "GET", Target: "/history?threadId=" + k.thread + "&before=yesterday"}); p.status != 422 {
			t.Errorf("before yesterday: %d", p.status)
		}
	})
}

// TestHistoryOfTools checks that the history contains tool results but no tool calls.
func TestHistoryOfTools(t *testing.T) {
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{})
	defer k.close()
	k.runEvents("prompt", spec.Event{Text: `conformance:tool {"a":1}`})
	req := k.messageRequest("history", spec.Event{})
	var roles []string
	for _, m := range k.events(req, k.do(req))[0].Parts {
		roles = append(roles, m.Role+" "+m.Text)
	}
	want := `user conformance:tool {"a":1}; tool {"found":true}; assistant I have looked it up.`
	if got := strings.Join(roles, "; "); got != want {
		t.Errorf("the history is %s, want %s", got, want)
	}
}

// TestEventSource checks that a browser's EventSource can send its token as a query parameter, and
// learns from the status 204 that no events follow.
func TestEventSource(t *testing.T) {
	m := metrics.New("")
	k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{EventSource: true, Metrics: m})
	defer k.close()
	listen := k.sendPrompt("prompt", spec.Event{Run: "run-1", Text: "hi"})
	heard := k.events(listen, k.do(listen))
	cursor := heard[len(heard)-1].Cursor
	with := func(req spec.Request, query string) spec.Request {
		req.Target += "&" + query
		return req
	}
	for _, c := range []struct {
		req  spec.Request
		want int
	}{
		{listen, 401}, {with(listen, "access_token=ada"), 200}, {with(listen, "access_token=eve"), 403},
		{with(k.messageRequest("listen", spec.Event{Run: "run-1", Cursor: cursor}), "access_token=ada"), 204},
		{with(k.messageRequest("listen", spec.Event{Run: "run-1", Cursor: heard[0].Cursor}), "access_token=ada"), 200},
		{with(k.messageRequest("cancel", spec.Event{Run: "run-1"}), "access_token=ada"), 401},
	} {
		if p := k.doAs("", c.req); p.status != c.want {
			t.Errorf("%s: %d, want %d", c.req.Target, p.status, c.want)
		}
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	listen4 := `requests_total{class="2xx",dialect="runs@2026-04",operation="GET /runs/{thread_id}/events"} 4`
	if !strings.Contains(w.Body.String(), listen4) { // of which one has status 204
		t.Errorf("the metrics lack %s:\n%s", listen4, w.Body)
	}
}
