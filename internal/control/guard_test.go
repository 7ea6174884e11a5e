package control

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/mockserver"
)

// TestGuard checks that requests with a foreign Host header, and changes requested by pages
// of another origin, are refused.
func TestGuard(t *testing.T) {
	k := rigged(t, mockserver.Config{})
	own, err := url.Parse(k.control)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		method string
		header []string
		want   int
	}{
		{"rebinding", "GET", []string{"Host", "evil.example"}, 421},
		{"rebinding with our port", "GET", []string{"Host", "evil.example:" + own.Port()}, 421},
		{"an address of the network", "GET", []string{"Host", "192.0.2.1"}, 421},
		{"a name that begins as ours", "GET", []string{"Host", "localhost.evil.example"}, 421},
		{"localhost", "GET", []string{"Host", "LocalHost:1"}, 200},
		{"IPv6", "GET", []string{"Host", "[::1]:80"}, 200},
		{"a name that is allowed", "GET", []string{"Host", "mock.test:80"}, 200},
		{"no browser", "PUT", nil, 200},
		{"our page", "PUT", []string{"Origin", k.control, "Sec-Fetch-Site", "same-origin"}, 200},
		{"another page", "PUT", []string{"Origin", "https://evil.example"}, 403},
		{"another page, said to be ours", "PUT", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "same-origin"}, 403},
		{"another port of ours", "PUT", []string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, 403},
		{"another scheme", "PUT", []string{"Origin", "https://" + own.Host}, 403},
		{"a sandboxed page", "PUT", []string{"Origin", "null"}, 403},
		{"a page without Origin", "PUT", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := ""
			if c.method == "PUT" {
				body = `{"run": true}`
			}
			got := k.do(c.method, "/v1/clock", body, c.header...)
			if got.status != c.want {
				t.Errorf("got %d %s, want %d", got.status, got.text, c.want)
			}
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s is there", name)
				}
			}
			for name, value := range securityHeaders {
				if got.header.Get(name) != value {
					t.Errorf("%s is %q", name, got.header.Get(name))
				}
			}
		})
	}
	if got := k.do("OPTIONS", "/v1/clock", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"); got.status != 405 {
		t.Error(got.status)
	}
}

// TestRefused checks that errors say what is wrong and what would be right.
func TestRefused(t *testing.T) {
	k := rigged(t, mockserver.Config{})
	c := k.ask(hello, "X-Mock-Hold", "1")
	c.frame()
	at := fmt.Sprintf("/v1/streams/%s", k.want(200, "GET", "/v1/streams", "").at("streams.0.id"))
	for _, c := range []struct {
		method, target, body string
		status               int
		says                 string
	}{
		{"GET", "/v1/nothing", "", 404, "/openapi.yaml"},
		{"PATCH", "/v1/journal", "{}", 405, "DELETE, GET"},
		{"GET", "/v1/journal?tset=x", "", 400, "contains, since, after"},
		{"GET", "/v1/journal?test=x&test=y", "", 400, "occurs 2 times, want 1"},
		{"GET", "/v1/journal?limit=0", "", 400, "from 1 to 1000"},
		{"GET", "/v1/journal?limit=many", "", 400, "from 1 to 1000"},
		{"GET", "/v1/journal?status=abc", "", 400, "4XX"},
		{"GET", "/v1/journal?ended=well", "", 400, "whole"},
		{"GET", "/v1/journal?dialect=foo", "", 400, `invalid dialect \"foo\" (want agentscope@1.1)`},
		{"POST", "/v1/wait", `{"filter": {"dialect": "foo"}}`, 400, `invalid dialect \"foo\" (want agentscope@1.1)`},
		{"POST", "/v1/verify", `{"calls": [{"dialect": "foo"}]}`, 400, `invalid dialect \"foo\" (want agentscope@1.1)`},
		{"POST", "/v1/verify", `{"calls": [{"exactly": 1.9}]}`, 400, "call 1: exactly must be a whole number, got 1.9"},
		{"POST", "/v1/reset", `{"test": "a"}`, 400, "reset takes no body; to reset one test, use the query, e.g. ?test=a"},
		{"POST", at + "/release", `{"x": 1}`, 400, "release takes no body"},
		{"POST", "/v1/wait", `[]`, 400, "invalid body: unexpected JSON type array"},
		{"GET", "/v1/journal?since=now", "", 400, "2026-01-01T00:00:00Z"},
		{"GET", "/v1/status?x=1", "", 400, "no query"},
		{"POST", "/v1/wait", `{"filter": {"oop": "run"}}`, 400, `unknown field \"oop\"`},
		{"POST", "/v1/wait", `{"n": 0}`, 400, "from 1 to 1000"},
		{"POST", "/v1/wait", `{"timeout": "1h"}`, 400, "1m0s"},
		{"POST", "/v1/wait", `{} {}`, 400, "data after the JSON value"},
		{"POST", "/v1/wait", `{"n": "one"}`, 400, "n: unexpected JSON type string"},
		{"POST", "/v1/wait", ``, 400, "missing body"},
		{"POST", "/v1/verify", `{"calls": []}`, 400, "no calls"},
		{"POST", "/v1/verify", `{"calls": [{"operation": "run"}]}`, 400, "operation"},
		{"POST", "/v1/streams/99/next", "", 404, "see /v1/streams"},
		{"POST", at + "/next", `{"events": 0}`, 400, "from 1"},
		{"POST", at + "/hold", `{"event": -1}`, 400, "from 0"},
		{"POST", at + "/inject", `{}`, 400, "either frame or event"},
		{"POST", at + "/inject", `{"frame": "x", "event": 1}`, 400, "either frame or event"},
		{"POST", at + "/end", `{"how": "politely"}`, 400, "abort, reset, torn, stall, clean"},
		{"PUT", "/v1/clock", `{}`, 400, "advance"},
		{"PUT", "/v1/clock", `{"time": "noon"}`, 400, "2026-01-01T00:00:00Z"},
		{"PUT", "/v1/clock", `{"advance": "soon"}`, 400, "90s"},
		{"PUT", "/v1/settings", `{"sede": 7}`, 400, "seed, vary, pace, faults or hold"},
		{"PUT", "/v1/settings", `{"seed": -1}`, 400, "from 0 to 9007199254740991"},
		{"PUT", "/v1/settings", `{"vary": "on"}`, 400, `vary: invalid seed \"on\" (want an integer, not a string)`},
		{"PUT", "/v1/settings", `{"hold": 1.5}`, 400, "want an integer"},
		{"PUT", "/v1/settings", `{"pace": {"rate": "fast"}}`, 400, "want a number"},
		{"PUT", "/v1/settings", `{"faults": ["no-such-fault"]}`, 400, "unknown fault"},
		{"PUT", "/v1/settings", `{"faults": [{"a": {}, "b": {}}]}`, 400, "one fault and its parameters"},
		{"PUT", "/v1/settings", `{"faults": [null]}`, 400, "one fault and its parameters"},
		{"PUT", "/v1/settings", `[]`, 400, "not a JSON object"},
		{"PUT", "/v1/state", `{"state": {}}`, 400, "checkout"},
		{"PUT", "/v1/scripts", ``, 400, "DELETE"},
	} {
		t.Run(c.method+" "+c.target+" "+c.body, func(t *testing.T) {
			got := k.do(c.method, c.target, c.body)
			if got.status != c.status || got.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(got.text, c.says) {
				t.Errorf("%d %s", got.status, got.text)
			}
		})
	}
	if got := k.want(200, "GET", "/v1/settings", "").at("seed"); got != nil {
		t.Errorf("something was set: %v", got)
	}
	if got := k.do("POST", "/v1/wait", "{}", "Content-Type", "application/x-www-form-urlencoded"); got.status != 415 || !strings.Contains(got.text, "want application/json") {
		t.Error(got.text)
	}
	if got := k.do("POST", "/v1/wait", `{"filter": {"rule": "`+strings.Repeat("x", maxBody)+`"}}`); got.status != 413 {
		t.Error(got.status)
	}
}

// TestHead checks that HEAD is handled like GET.
func TestHead(t *testing.T) {
	k := rigged(t, mockserver.Config{})
	res, err := http.Head(k.control + "/v1/status")
	if err != nil || res.StatusCode != 200 {
		t.Errorf("%v %v", res, err)
	}
}
