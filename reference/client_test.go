package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// mustDialect returns the dialect of the given name.
func mustDialect(t testing.TB, name string) *dialect.Dialect {
	t.Helper()
	d, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// each runs a subtest for every dialect.
func each(t *testing.T, f func(t *testing.T, d *dialect.Dialect)) {
	t.Helper()
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) { f(t, mustDialect(t, name)) })
	}
}

// A testClient is a server and a client of that server. They communicate without a network, so that
// the test can run in a bubble of [testing/synctest].
type testClient struct {
	*testing.T
	s      *Server
	d      *dialect.Dialect
	thread string
	user   string // whose token is sent
	ids    int
}

const firstThread = "550e8400-e29b-41d4-a716-446655440000"

func newTestClient(t *testing.T, d *dialect.Dialect, agent Agent, cfg Config) *testClient {
	return &testClient{T: t, s: New(d, agent, cfg), d: d, thread: firstThread, user: "ada"}
}

// A recordedResponse records the response of one request.
type recordedResponse struct {
	mu     sync.Mutex
	status int
	header http.Header
	body   bytes.Buffer
	done   chan struct{}
	leave  context.CancelFunc
	full   chan struct{} // if it is not nil, writes wait until it is closed
}

func (p *recordedResponse) Header() http.Header { return p.header }

func (p *recordedResponse) WriteHeader(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *recordedResponse) Write(data []byte) (int, error) {
	if p.full != nil {
		<-p.full
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.body.Write(data)
}

func (p *recordedResponse) Flush() {}

func (p *recordedResponse) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.body.Bytes())
}

// start sends a request and returns without waiting for the response. If full is not nil, the
// client accepts no part of the body before full is closed.
func (k *testClient) start(req spec.Request, full chan struct{}) *recordedResponse {
	ctx, leave := context.WithCancel(k.Context())
	r := httptest.NewRequestWithContext(ctx, req.Method, k.d.Base+req.Target, bytes.NewReader(req.Body))
	for _, f := range req.Header {
		r.Header.Add(f.Name, f.Value)
	}
	if k.user != "" {
		r.Header.Set("Authorization", "Bearer "+k.user)
	}
	p := &recordedResponse{header: http.Header{}, done: make(chan struct{}), leave: leave, full: full}
	go func() {
		defer close(p.done)
		defer leave()
		k.s.ServeHTTP(p, r)
	}()
	return p
}

// do sends a request and waits for the end of the response.
func (k *testClient) do(req spec.Request) *recordedResponse {
	p := k.start(req, nil)
	<-p.done
	return p
}

// messageRequest returns a request that sends a message in the client's thread.
func (k *testClient) messageRequest(phrase string, e spec.Event) spec.Request {
	k.Helper()
	if e.Thread == "" {
		e.Thread = k.thread
	}
	r, err := k.d.BuildRequest(phrase, e)
	if err != nil {
		k.Fatal(err)
	}
	return r
}

// sendPrompt sends a prompt in a new run. It returns the request whose response is the run's
// stream: one that listens to the run or, if the dialect streams runs in response to prompts, the
// prompt itself, which is then not sent yet.
func (k *testClient) sendPrompt(phrase string, e spec.Event) (listen spec.Request) {
	k.Helper()
	if e.Run == "" {
		k.ids++
		e.Run = fmt.Sprint("run-", k.ids)
	}
	req := k.messageRequest(phrase, e)
	if o, _ := k.d.TemplateOperation(phrase); o.IsStream {
		return req
	}
	if p := k.do(req); p.status/100 != 2 {
		k.Fatalf("%s was answered %d %s", phrase, p.status, p.bytes())
	}
	return k.messageRequest("listen", spec.Event{Run: e.Run, Thread: e.Thread})
}

// runEvents sends a prompt and returns all events of its run.
func (k *testClient) runEvents(phrase string, e spec.Event) []spec.Event {
	k.Helper()
	req := k.sendPrompt(phrase, e)
	return k.events(req, k.do(req))
}

// runText sends a prompt and returns the text of the assistant's messages.
func (k *testClient) runText(words string) string {
	return says(k.runEvents("prompt", spec.Event{Text: words}))
}

// events returns the decoded events of the part of a response that was received so far. The test
// fails if an event violates the dialect's document.
func (k *testClient) events(req spec.Request, p *recordedResponse) (events []spec.Event) {
	k.Helper()
	x := spec.Exchange{Request: req, Response: spec.Response{Status: p.status, Header: headerOf(p.header), Body: p.bytes()}}
	for e := range k.d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		if e.Kind == spec.HTTPRequest || e.Kind == spec.HTTPResponse || e.Kind == spec.BodyEnd {
			continue
		}
		if e.Err != nil || len(e.Violations) > 0 || len(e.Flaws) > 0 {
			k.Errorf("%s: %v %v %v", e.Raw, e.Err, e.Violations, e.Flaws)
		}
		events = append(events, e)
	}
	return events
}

func kinds(events []spec.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

// close shuts the server down. In a bubble, a goroutine that it leaves behind makes the
// test panic.
func (k *testClient) close() {
	k.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := k.s.Shutdown(ctx); err != nil {
		k.Error(err)
	}
}

// last returns the last event of kind k. If there is none, it returns an event whose field Err is
// set.
func last(events []spec.Event, k spec.Kind) spec.Event {
	for _, e := range slices.Backward(events) {
		if e.Kind == k {
			return e
		}
	}
	return spec.Event{Err: errors.New("there is none")}
}

// raw sends a request with arbitrary contents and waits for the response. It returns nil if the
// method or the target is invalid in HTTP.
func (k *testClient) raw(method, target, media, body string) *recordedResponse {
	u, err := url.ParseRequestURI(k.d.Base + target)
	if err != nil || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return nil
	}
	r := (&http.Request{Method: method, URL: u, Header: http.Header{"Content-Type": {media}, "Authorization": {"Bearer ada"}}, Body: io.NopCloser(strings.NewReader(body))}).WithContext(k.Context())
	p := &recordedResponse{header: http.Header{}}
	k.s.ServeHTTP(p, r)
	return p
}
