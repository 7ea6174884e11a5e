package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec/dialect"
)

// answering returns a handler that sends the same response to every request. header is a line
// "Name: value"; an empty header adds no header field.
func answering(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// chatty is a handler that replies with the same agkit stream to every request.
func chatty(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/send-message" {
		http.Error(w, `{"detail":"Not Found"}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "data: {\"type\":\"text\",\"content\":\"Hi there\"}\n\n")
}

// another returns a handler that answers every request with the stream of a run in the named
// dialect, as the reference sends it.
func another(t *testing.T, name string) http.HandlerFunc {
	d, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	h := reference.New(d, reference.Scripted, reference.Config{})
	return func(w http.ResponseWriter, _ *http.Request) {
		body := `{"input":[{"role":"user","type":"message","content":[{"type":"text","text":"hello"}]}]}`
		r := httptest.NewRequest(http.MethodPost, "/process", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, r)
	}
}

// TestRootCauseFirst checks that the cause that makes a target impossible to judge is in the first
// five lines of the text report, and is the only cause in the JSON report.
func TestRootCauseFirst(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	html := answering(200, "Content-Type: text/html", "<!doctype html><html><body>Hello</body></html>")
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc // nil: nobody listens
		kind    string
		says    []string // in the first five lines
		advice  string
	}{
		{"refused connection", nil, "unreachable", []string{"connection refused: is the server running?"}, "start the server first"},
		{"401", answering(401, "Content-Type: application/json", `{"detail":"Not authenticated"}`), "credentials", []string{"POST /send-message: 401 Unauthorized", "Not authenticated", "requires credentials and the run sent none"}, "add --header 'Authorization: Bearer TOKEN'"},
		{"404", answering(404, "Content-Type: application/json", `{"detail":"Not Found"}`), "path", []string{"/send-message: 404 Not Found", `body: '{"detail":"Not Found"}'`, "either the base URL or the dialect is wrong"}, "agentscope has POST /process"},
		{"405", answering(405, "Allow: GET", ""), "path", []string{"/send-message: 405 Method Not Allowed"}, "--dialect"},
		{"307", answering(307, "Location: http://127.0.0.1:9/v2/send-message", ""), "redirect", []string{"307 Temporary Redirect", "redirected to http://127.0.0.1:9/v2/send-message"}, "use http://127.0.0.1:9/v2 as the base URL"},
		{"422", answering(422, "Content-Type: application/json", `{"detail":"field required"}`), "refused", []string{"422 Unprocessable Entity", "field required"}, "the right dialect"},
		{"500", answering(500, "Content-Type: text/plain", "KeyError: 'x'"), "server-error", []string{`500 Internal Server Error, body: "KeyError: 'x'"`}, "look in the server's log"},
		{"HTML", html, "not-a-stream", []string{"200 OK", "text/html", "web page"}, "check the base URL"},
		{"JSON", answering(200, "Content-Type: application/json", `{"answer":"Hello"}`), "not-a-stream", []string{"one JSON document (application/json) instead of an event stream"}, "is streaming switched on"},
		{"JSON lines", answering(200, "Content-Type: text/event-stream", "{\"type\":\"text\"}\n{\"type\":\"done\"}\n"), "no-data", []string{"not SSE", `no line starts with "data:"`, `'{"type":"text"}\n{`}, `write each event as "data: JSON"`},
		{"no blank line", answering(200, "Content-Type: text/event-stream", "data: {\"type\":\"text\"}\n"), "no-blank-line", []string{"no empty line"}, "write an empty line"},
		{"empty", answering(200, "Content-Type: text/event-stream", ""), "empty-stream", []string{"is empty"}, ""},
		{"not JSON", answering(200, "Content-Type: text/event-stream", "data: Hel\n\ndata: lo\n\n"), "not-json", []string{"no event whose data is JSON", "data: Hel"}, "one JSON object"},
		{"another dialect", another(t, "agentscope@1.1"), "other-dialect", []string{"not those of agkit@0.0.10", "look like agentscope@1.1"}, "--dialect agentscope@1.1"},
		{"no text", answering(200, "Content-Type: text/event-stream", "data: {\"type\":\"note\",\"text\":\"Hello\"}\n\ndata: {\"type\":\"done\"}\n\n"), "no-text", []string{"none of the events", "is a text event of agkit@0.0.10", `"type":"note"`}, "streamassay spec agkit"},
		{"no dialect", answering(200, "Content-Type: text/event-stream", "data: {\"object\":\"chat.completion.chunk\"}\n\n"), "other-dialect", []string{"not those of agkit@0.0.10", "chat.completion.chunk"}, "no dialect that streamassay knows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := "http://" + closed.Addr().String()
			if c.handler != nil {
				srv := httptest.NewServer(c.handler)
				t.Cleanup(srv.Close)
				base = srv.URL
			}
			dir := t.TempDir()
			_, out, _ := streamassay(t, dir, "run", base, "--dialect", "agkit", "--only", "text", "--only", "recall", "--report", "json="+dir+"/r.json", "--report", "text")
			first := oneLine(strings.Join(strings.SplitN(out, "\n", 6)[:5], " "))
			first = strings.Join(strings.Fields(first), " ")
			for _, says := range c.says {
				if !strings.Contains(first, says) {
					t.Errorf("the first five lines do not say %s:\n%s", says, out)
				}
			}
			if joined := strings.Join(strings.Fields(out), " "); !strings.Contains(joined, c.advice) {
				t.Errorf("it does not advise %s:\n%s", c.advice, out)
			}
			if c.kind != "no-text" && strings.Contains(out, "FAILED  wire.") || strings.Contains(out, "is claimed, but") || strings.Contains(out, "NOT JUDGED  agkit") {
				t.Errorf("consequences are listed:\n%s", out)
			}
			r := readReport(t, dir+"/r.json")
			if len(r.Dialects[0].Causes) != 1 {
				t.Fatalf("causes %+v", r.Dialects[0].Causes)
			}
			if why := r.Dialects[0].Causes[0]; why.Kind != c.kind || why.Fatal == (c.kind == "no-text") || why.Consequences == 0 {
				t.Errorf("cause %+v, want %s", why, c.kind)
			}
		})
	}
}

// TestCauseOfDefaultCredential checks that the report does not claim that a run without --header
// sent no credentials if it sent the default ones, and that the command for the request has them.
func TestCauseOfDefaultCredential(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(answering(401, "Content-Type: application/json", `{"detail":"Not authenticated"}`))
	t.Cleanup(srv.Close)
	_, out, _ := streamassay(t, t.TempDir(), "run", srv.URL, "--dialect", "runs", "--only", "text")
	out = strings.Join(strings.Fields(out), " ")
	for _, says := range []string{
		"the server does not accept 'Authorization: Bearer streamassay', which is sent if no credentials are given",
		"-H 'Authorization: Bearer streamassay'", "add --header 'Authorization: Bearer TOKEN'",
	} {
		if !strings.Contains(out, says) {
			t.Errorf("it does not say %s:\n%s", says, out)
		}
	}
	_, out, _ = streamassay(t, t.TempDir(), "run", srv.URL, "--dialect", "runs", "--only", "text", "--header", "Authorization: Bearer canary")
	if says := `-H "Authorization: $AUTHORIZATION"`; !strings.Contains(strings.Join(strings.Fields(out), " "), says) || strings.Contains(out, "canary") {
		t.Errorf("it does not say %s:\n%s", says, out)
	}
}

// TestRejectedOtherUser checks that the report advises to check --other-header if the server
// rejects the credentials of the second user.
func TestRejectedOtherUser(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "serve", "--dialect", "runs", "--user", "ada:token-of-ada")
	_, out, _ := streamassay(t, t.TempDir(), "run", server.base(), "--dialect", "runs", "--only", "second-user",
		"--header", "Authorization: Bearer token-of-ada", "--other-header", "Authorization: Bearer nobody12")
	const says = "to do check the value of --other-header: the server replies to every request of that user with status 401"
	if !strings.Contains(strings.Join(strings.Fields(out), " "), says) {
		t.Errorf("it does not say %s:\n%s", says, out)
	}
}

// TestCauseOfUnreadable checks that the text report begins with the cause if a stream has a content
// coding that was not requested, or if a server that expects TLS closes the connection.
func TestCauseOfUnreadable(t *testing.T) {
	zipped := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, "data: {\"type\":\"text\",\"content\":\"Hi there\"}\n\n")
	}
	hangsUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		says    []string // in the first five lines
		later   string
	}{
		{"gzip", zipped, []string{"POST /send-message is gzip-compressed although the request said Accept-Encoding: identity"}, "FAILED  wire.opens-stream"},
		{"TLS port", hangsUp, []string{"closed the connection without a response", "try https://"}, "look for a crash in the server's log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(c.handler)
			defer srv.Close()
			_, out, _ := streamassay(t, t.TempDir(), "run", srv.URL, "--dialect", "agkit", "--only", "text")
			first := strings.Join(strings.Fields(strings.Join(strings.SplitN(out, "\n", 6)[:5], " ")), " ")
			for _, says := range c.says {
				if !strings.Contains(first, says) {
					t.Errorf("the first five lines do not say %s:\n%s", says, out)
				}
			}
			if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(c.later), " ")) {
				t.Errorf("%s is not in\n%s", c.later, out)
			}
		})
	}
}

// TestCauseOfLimit checks that a cause that a limit of the client explains names the limit and its
// flag.
func TestCauseOfLimit(t *testing.T) {
	t.Parallel()
	const event = "data: {\"type\":\"text\",\"content\":\"Hi there\"}\n\n"
	streaming := func(body string, d time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, body)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(d):
			}
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for _, c := range []struct {
		args    string
		handler http.HandlerFunc
		says    string
		advice  string
	}{
		{"--max-event 16", streaming(event, 0), "the first event of POST /send-message has more than 16 bytes, the limit of --max-event", "raise --max-event of"},
		{"--max-events 1", streaming(event+event, 0), "in scenario text sent more than 1 event, the limit of --max-events", "if runs need more than that, raise --max-events; if not, end the stream"},
		{"--max-bytes 1KiB", streaming(strings.Repeat(event, 100), 0), "sent more than 1 KiB, the limit of --max-bytes", "raise --max-bytes; if"},
		{"--idle-timeout 1s", streaming(event, 20*time.Second), "in scenario text sent nothing for 1s", "raise --idle-timeout; if"},
		{"--timeout 1s --idle-timeout 20s", streaming(event, 20*time.Second), "in scenario text had not ended after 1s", "raise --timeout; if"},
		{"--timeout 1s --idle-timeout 20s", silent, "POST /send-message: no response after 1s", "is the server busy or blocked?"},
		{"--idle-timeout 1s", silent, "POST /send-message: no response: the server sent nothing for 1s", "is the server busy or blocked?"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(c.handler)
			t.Cleanup(srv.Close)
			_, out, _ := streamassay(t, t.TempDir(), append([]string{"run", srv.URL, "--dialect", "agkit", "--only", "text"}, strings.Fields(c.args)...)...)
			first := strings.Join(strings.Fields(out), " ")
			if !strings.Contains(first, c.says+" to do ") || !strings.Contains(first, c.advice) {
				t.Errorf("it does not say %s, and advise %s:\n%s", c.says, c.advice, out)
			}
		})
	}
}

func readReport(t *testing.T, path string) (r reports.Report) {
	t.Helper()
	var plain struct {
		Dialects []struct {
			Causes []reports.Cause
			Checks []struct {
				ID, Scenario, Rerun, Curl, Advice, Note string
				Cause                                   *int
				Findings                                []reports.Finding
			}
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	for _, d := range plain.Dialects {
		all := reports.DialectResults{Causes: d.Causes}
		for _, c := range d.Checks {
			all.Checks = append(all.Checks, reports.Check{
				ID: c.ID, Scenario: c.Scenario, Rerun: c.Rerun, Curl: c.Curl, Advice: c.Advice, Note: c.Note, Cause: c.Cause, Findings: c.Findings,
			})
		}
		r.Dialects = append(r.Dialects, all)
	}
	return r
}

// TestNotScripted checks the report on a target that does not follow the test prompts: it names
// this cause, and lists violations with request, response and a command that runs the scenario
// again.
func TestNotScripted(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(chatty))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	_, out, _ := streamassay(t, dir, "run", srv.URL, "--dialect", "agkit", "--header", "X-Api-Key: s3cr3t-value", "--seed", "7", "--sequences", "0",
		"--report", "json="+dir+"/r.json", "--report", "text")
	joined := strings.Join(strings.Fields(out), " ")
	for _, says := range []string{
		"the agent does not do what the test prompts ask", `reply "Hi there"`, "docs/prompts.md", "--lacks scripted", "--claim scripted",
		"got status 404", "GET /healthz", "sent │ GET " + srv.URL + "/healthz", "received │ HTTP/1.1 404 Not Found", "--lacks health",
		"streamassay run " + srv.URL + ` --dialect agkit@0.0.10 --header "X-Api-Key: $X_API_KEY" --only corrected --seed 7`,
		"PASSED with warnings",
	} {
		if !strings.Contains(joined, says) {
			t.Errorf("it does not say %s:\n%s", says, out)
		}
	}
	r := readReport(t, dir+"/r.json")
	if c := r.Dialects[0].Causes; len(c) != 1 || c[0].Kind != "not-scripted" || c[0].Fatal || c[0].Consequences == 0 {
		t.Errorf("causes %+v", c)
	}
	if data, _ := os.ReadFile(dir + "/r.json"); strings.Contains(string(data), "s3cr3t") {
		t.Error("the secret stands in the report")
	}
	for _, c := range r.Dialects[0].Checks {
		for _, f := range c.Findings {
			if f.Operation == "" || f.Request == "" || f.Response == "" {
				t.Errorf("%s in %s: a finding without operation, request or answer: %+v", c.ID, c.Scenario, f)
			}
		}
	}
}

// TestPromiseSaysWhatWasAnswered checks that the finding for a claimed capability that the target
// lacks shows the prompt and the reply.
func TestPromiseSaysWhatWasAnswered(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(chatty))
	t.Cleanup(srv.Close)
	_, out, _ := streamassay(t, t.TempDir(), "run", srv.URL, "--dialect", "agkit", "--claim", "tool", "--lacks", "scripted", "--only", "tool")
	joined := strings.Join(strings.Fields(out), " ")
	for _, says := range []string{"tool is claimed, but", `prompt 'conformance:tool {`, `reply "Hi there"`} {
		if !strings.Contains(joined, says) {
			t.Errorf("it does not say %s:\n%s", says, out)
		}
	}
}

// TestTargetThatDies checks that a server that stops during a run is reported as one cause, and not
// once for each scenario after that.
func TestTargetThatDies(t *testing.T) {
	var ln net.Listener
	asked := make(chan struct{}, 1000)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked <- struct{}{}; len(asked) > 3 {
			ln.Close()
			panic(http.ErrAbortHandler)
		}
		chatty(w, r)
	}))
	ln = srv.Listener
	srv.Start()
	t.Cleanup(srv.Close)
	_, out, _ := streamassay(t, t.TempDir(), "run", srv.URL, "--dialect", "agkit", "--parallel", "1")
	joined := strings.Join(strings.Fields(out), " ")
	for _, says := range []string{"connection refused", "the server responded to other requests: did it crash", "closed the connection"} {
		if !strings.Contains(joined, says) {
			t.Errorf("it does not say %s:\n%s", says, out)
		}
	}
	if n := strings.Count(out, "connection refused"); n > 2 {
		t.Errorf("the cause is told %d times:\n%s", n, out)
	}
	if first := strings.Join(strings.SplitN(out, "\n", 6)[:5], "\n"); !strings.Contains(first, "connection refused") && !strings.Contains(first, "closed the connection") {
		t.Errorf("the first lines do not say what happened:\n%s", first)
	}
}
