package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/streamassay/streamassay/mockserver"
)

const hello = "conformance:text hello to all of you"

func seeded(n uint64) mockserver.Config { return mockserver.Config{Seed: &n} }

// TestStatusAndClock checks the status, and that the clock can be set.
func TestStatusAndClock(t *testing.T) {
	k := rigged(t, seeded(7))
	now := k.want(200, "GET", "/v1/status", "")
	if now.at("seed") != 7.0 || now.at("clock") != "2026-01-01T00:00:00Z" || now.at("dialects.0.name") != "agentscope@1.1" {
		t.Error(now.text)
	}
	k.want(200, "GET", "/healthz", "")
	k.want(200, "GET", "/openapi.yaml", "")
	for body, want := range map[string]string{
		`{"time": "2030-02-03T04:05:06Z"}`: "2030-02-03T04:05:06Z",
		`{"time": "2031-01-01T00:00:00Z"}`: "2031-01-01T00:00:00Z",
	} {
		if got := k.want(200, "PUT", "/v1/clock", body).at("time"); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
	k.want(200, "PUT", "/v1/clock", `{"time": "2030-01-01T00:00:00Z"}`)
	if got := k.want(200, "PUT", "/v1/clock", `{"advance": "90s"}`).at("time"); got != "2030-01-01T00:01:30Z" {
		t.Error(got)
	}
	k.want(200, "PUT", "/v1/clock", `{"run": true}`)
	if got := k.want(200, "GET", "/v1/clock", "").at("time"); strings.HasPrefix(fmt.Sprint(got), "2030") {
		t.Error(got)
	}
}

// TestJournal lists, counts, verifies, exports and removes exchanges.
func TestJournal(t *testing.T) {
	k := rigged(t, seeded(7))
	for _, test := range []string{"a", "a", "b"} {
		if text, err := k.ask(hello, "X-Test-Id", test, "Authorization", "Bearer very-secret").rest(); err != nil || !strings.Contains(text, "hello") {
			t.Fatalf("%v: %s", err, text)
		}
	}
	k.want(200, "POST", "/v1/wait", `{"filter": {"ended": "whole"}, "n": 3}`)
	page := k.want(200, "GET", "/v1/journal?test=a&limit=1&offset=1", "")
	if page.header.Get("X-Total-Count") != "2" || page.at("exchanges.0.id") != 2.0 || page.at("exchanges.1") != nil || page.at("exchanges.0.op") != "run" {
		t.Error(page.header.Get("X-Total-Count"), page.text)
	}
	if strings.Contains(page.text, "very-secret") {
		t.Error("a secret is shown")
	}
	one := k.want(200, "GET", "/v1/journal/3", "")
	if one.at("test") != "b" || one.at("ended.how") != "whole" || one.at("status") != 200.0 {
		t.Error(one.text)
	}
	all := k.want(200, "GET", "/v1/journal?op=run", "", "Accept", ndjson)
	if strings.Count(all.text, "\n") != 3 || !json.Valid([]byte(strings.SplitN(all.text, "\n", 2)[0])) {
		t.Error(all.text)
	}
	k.want(404, "GET", "/v1/journal/99", "")
	k.want(404, "GET", "/v1/journal/x", "")
	if got := k.want(200, "POST", "/v1/verify", `{"calls": [{"op": "run", "exactly": 3}]}`); got.text != "{\"ok\":true}\n" {
		t.Error(got.text)
	}
	if got := k.want(200, "POST", "/v1/verify?test=b", `{"calls": [{"op": "run", "exactly": 3}]}`); got.at("ok") != false || got.at("failures.0.seen") != 1.0 {
		t.Error(got.text)
	}
	k.want(200, "POST", "/v1/verify", "calls: [{op: run}]", "Content-Type", "application/yaml")
	k.want(204, "DELETE", "/v1/journal?test=a", "")
	if got := k.want(200, "GET", "/v1/journal", "").at("total"); got != 1.0 {
		t.Errorf("%v are left", got)
	}
	k.want(204, "DELETE", "/v1/journal", "")
	if got := k.want(200, "GET", "/v1/journal", "").at("total"); got != 0.0 {
		t.Errorf("%v are left", got)
	}
}

// TestWait checks that a wait ends with its condition or with its timeout.
func TestWait(t *testing.T) {
	k := rigged(t, seeded(7))
	if got := k.want(200, "POST", "/v1/wait", `{"filter": {"status": 200}, "n": 2, "timeout": "10ms"}`); got.at("ok") != false || got.at("seen") != 0.0 || got.at("wanted") != 2.0 {
		t.Error(got.text)
	}
	answered := make(chan reply)
	go func() {
		answered <- k.do("POST", "/v1/wait", `{"filter": {"test": "w", "ended": "left"}, "n": 1, "timeout": "20s"}`)
	}()
	c := k.ask(hello, "X-Test-Id", "w", "X-Mock-Hold", "1")
	c.frame()
	c.leave()
	if got := <-answered; got.at("ok") != true || got.at("seen") != 1.0 {
		t.Error(got.text)
	}
}

// TestStep holds a stream, steps it, injects frames and releases it.
func TestStep(t *testing.T) {
	k := rigged(t, seeded(7))
	c := k.ask(hello, "X-Test-Id", "s", "X-Mock-Hold", "1")
	first := c.frame()
	list := k.want(200, "GET", "/v1/streams?test=s", "")
	id, _ := list.at("streams.0.id").(string)
	if list.at("streams.0.held") != 1.0 || list.at("streams.1") != nil || k.want(200, "GET", "/v1/streams?test=other", "").at("streams.0") != nil {
		t.Fatal(list.text)
	}
	at := "/v1/streams/" + id
	k.want(200, "GET", at, "")
	if got := k.want(200, "POST", at+"/next", "").at("held"); got != 2.0 {
		t.Errorf("held %v after one step", got)
	}
	if second := c.frame(); second == first {
		t.Error(second)
	}
	k.want(200, "POST", at+"/inject", `{"frame": "data: one\n\n"}`)
	k.want(200, "POST", at+"/inject", `{"event": {"b": [2, "<&>"] }}`)
	k.want(200, "POST", at+"/inject", ": three\n\n", "Content-Type", "text/plain")
	for _, want := range []string{"data: one\n\n", "data: {\"b\":[2,\"<&>\"]}\n\n", ": three\n\n"} {
		if got := c.frame(); got != want {
			t.Errorf("%q, wanted %q", got, want)
		}
	}
	if got := k.want(200, "POST", at+"/hold", "").at("held"); got != 2.0 {
		t.Errorf("held again before %v", got)
	}
	k.want(200, "POST", at+"/next", `{"events": 2}`)
	c.frame()
	c.frame()
	if got := k.want(200, "POST", at+"/release", "").at("held"); got != nil {
		t.Errorf("held %v", got)
	}
	if text, err := c.rest(); err != nil || text == "" {
		t.Errorf("%q: %v", text, err)
	}
	k.want(200, "POST", "/v1/wait", `{"filter": {"ended": "whole"}}`)
	if got := k.do("POST", at+"/next", ""); got.status != 404 && got.status != 409 {
		t.Error(got.text)
	}
}

// TestEnd ends streams in each way, at once or at an event.
func TestEnd(t *testing.T) {
	k := rigged(t, seeded(7))
	for i, c := range []struct {
		body, rest string
		err        error
	}{
		{`{"how": "clean"}`, "", nil},
		{`{"how": "abort"}`, "", io.ErrUnexpectedEOF},
		{`{"how": "torn"}`, "data: ", io.ErrUnexpectedEOF},
		{`{"how": "reset"}`, "", syscall.ECONNRESET},
		{`{"how": "abort", "event": 1}`, "", io.ErrUnexpectedEOF},
	} {
		t.Run(c.body, func(t *testing.T) {
			test := fmt.Sprint("end-", i) // the stream of the previous case may still be open
			reader := k.ask(hello, "X-Test-Id", test, "X-Mock-Hold", "1")
			reader.frame()
			id := k.want(200, "GET", "/v1/streams?test="+test, "").at("streams.0.id")
			if got := k.do("POST", fmt.Sprintf("/v1/streams/%s/end", id), c.body); got.status != 204 && got.status != 202 {
				t.Fatal(got.text)
			}
			if text, err := reader.rest(); text != c.rest || !errors.Is(err, c.err) {
				t.Errorf("%q, %v; wanted %q, %v", text, err, c.rest, c.err)
			}
		})
	}
}

// TestSettings checks that settings apply to one test only.
func TestSettings(t *testing.T) {
	k := rigged(t, seeded(7))
	put := k.want(200, "PUT", "/v1/settings?test=s", `{"seed": 3, "hold": 1, "vary": null, "pace": {"first": "1ms", "rate": 0, "jitter": {"uniform": 0.5}}}`)
	if put.at("seed") != 3.0 || put.at("hold") != 1.0 || put.at("vary") != nil || put.at("pace.first") != "1ms" || put.at("pace.rate") != 0.0 || put.at("pace.jitter.uniform") != 0.5 {
		t.Error(put.text)
	}
	if got := k.want(200, "GET", "/v1/settings?test=other", "").text; got != "{}\n" {
		t.Error(got)
	}
	c := k.ask(hello, "X-Test-Id", "s")
	if c.res.Header.Get("X-Mock-Seed") != "3" {
		t.Error(c.res.Header)
	}
	if got := k.want(200, "PATCH", "/v1/settings?test=s", `{"hold": null, "vary": 5}`); got.at("hold") != nil || got.at("vary") != 5.0 || got.at("seed") != 3.0 {
		t.Error(got.text)
	}
	k.want(204, "DELETE", "/v1/settings?test=s", "")
	if got := k.want(200, "GET", "/v1/settings?test=s", "").text; got != "{}\n" {
		t.Error(got)
	}
	k.want(200, "PUT", "/v1/settings", `{"hold": 2}`)
	k.want(204, "POST", "/v1/reset", "")
	if got := k.want(200, "GET", "/v1/settings", "").at("hold"); got != nil {
		t.Error(got)
	}
	if got := k.want(200, "GET", "/v1/status", "").at("tests.0"); got != nil {
		t.Errorf("%v is known", got)
	}
}

// TestFeed checks the notes of the feed for one test.
func TestFeed(t *testing.T) {
	k := rigged(t, seeded(7))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, _ := http.NewRequestWithContext(ctx, "GET", k.control+"/v1/journal/feed?test=f", nil)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := &client{t: t, in: bufio.NewReader(res.Body)}
	in.frame()
	in.frame()
	_, _ = k.ask(hello, "X-Test-Id", "elsewhere").rest()
	_, _ = k.ask(hello, "X-Test-Id", "f").rest()
	schema := k.doc.Components.Schemas["Note"].Value
	var kinds []string
	for len(kinds) == 0 || kinds[len(kinds)-1] != "closed" {
		text := strings.TrimPrefix(strings.TrimSpace(in.frame()), "data: ")
		var note map[string]any
		if err := json.Unmarshal([]byte(text), &note); err != nil || note["test"] != "f" {
			t.Fatalf("%v: %s", err, text)
		}
		k.fits(schema, note, text)
		kinds = append(kinds, note["note"].(string))
	}
	if kinds[0] != "opened" || kinds[1] != "head" || kinds[2] != "sent" {
		t.Error(kinds)
	}
	k.want(204, "DELETE", "/v1/journal?test=elsewhere", "")
	k.want(204, "DELETE", "/v1/journal?test=", "") // the exchanges of no test
	k.want(204, "DELETE", "/v1/journal", "")
	text := strings.TrimPrefix(strings.TrimSpace(in.frame()), "data: ")
	var note map[string]any
	if err := json.Unmarshal([]byte(text), &note); err != nil || note["note"] != "reset" || note["all"] != true {
		t.Errorf("%v: %s; want the reset of all tests", err, text)
	}
	k.fits(schema, note, text)
}

// TestTooManyWait checks that a client that is refused because too many requests wait learns when
// to try again.
func TestTooManyWait(t *testing.T) {
	k := rigged(t, seeded(7))
	c := k.ask(hello, "X-Mock-Hold", "1")
	c.frame()
	s := &server{mock: k.mock} // admits no requests that wait
	stream := "/v1/streams/" + k.mock.Streams("")[0].ID
	for target, body := range map[string]string{stream + "/end": `{"how": "abort", "event": 2}`, "/v1/wait": "{}"} {
		w := httptest.NewRecorder()
		s.newMux().ServeHTTP(w, httptest.NewRequest("POST", target, strings.NewReader(body)))
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: %d, Retry-After %q", target, w.Code, w.Header().Get("Retry-After"))
		}
	}
}
