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

// named opens a dialect.
func named(t *testing.T, name string) *dialect.Dialect {
	t.Helper()
	d, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// each runs a test for every dialect.
func each(t *testing.T, f func(t *testing.T, d *dialect.Dialect)) {
	t.Helper()
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) { f(t, named(t, name)) })
	}
}

// A desk is a server and a client of it that share no network: what happens between
// them happens in a bubble of [testing/synctest] as well.
type desk struct {
	*testing.T
	s      *Server
	d      *dialect.Dialect
	thread string
	user   string // whose token is sent
	ids    int
}

const firstThread = "550e8400-e29b-41d4-a716-446655440000"

func newDesk(t *testing.T, d *dialect.Dialect, agent Agent, cfg Config) *desk {
	return &desk{T: t, s: New(d, agent, cfg), d: d, thread: firstThread, user: "ada"}
}

// A tape is what one request was answered.
type tape struct {
	mu     sync.Mutex
	status int
	header http.Header
	body   bytes.Buffer
	done   chan struct{}
	leave  context.CancelFunc
	full   chan struct{} // if it is not nil, writes wait until it is closed
}

func (p *tape) Header() http.Header { return p.header }

func (p *tape) WriteHeader(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *tape) Write(data []byte) (int, error) {
	if p.full != nil {
		<-p.full
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.body.Write(data)
}

func (p *tape) Flush() {}

func (p *tape) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.body.Bytes())
}

// start asks, and does not wait for the end of the answer.
func (k *desk) start(req spec.Request, full chan struct{}) *tape {
	ctx, leave := context.WithCancel(k.Context())
	r := httptest.NewRequestWithContext(ctx, req.Method, k.d.Base+req.Target, bytes.NewReader(req.Body))
	for _, f := range req.Header {
		r.Header.Add(f.Name, f.Value)
	}
	if k.user != "" {
		r.Header.Set("Authorization", "Bearer "+k.user)
	}
	p := &tape{header: http.Header{}, done: make(chan struct{}), leave: leave, full: full}
	go func() {
		defer close(p.done)
		defer leave()
		k.s.ServeHTTP(p, r)
	}()
	return p
}

// ask asks, and waits for the end of the answer.
func (k *desk) ask(req spec.Request) *tape {
	p := k.start(req, nil)
	<-p.done
	return p
}

// say makes the request that says something in the desk's thread.
func (k *desk) say(phrase string, e spec.Event) spec.Request {
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

// prompt asks for an answer, under a name of its own, and returns where that is
// told: the answer itself, or the request that listens to it.
func (k *desk) prompt(phrase string, e spec.Event) (listen spec.Request) {
	k.Helper()
	if e.Run == "" {
		k.ids++
		e.Run = fmt.Sprint("run-", k.ids)
	}
	req := k.say(phrase, e)
	if o, _ := k.d.TemplateOperation(phrase); o.IsStream {
		return req
	}
	if p := k.ask(req); p.status/100 != 2 {
		k.Fatalf("%s was answered %d %s", phrase, p.status, p.bytes())
	}
	return k.say("listen", spec.Event{Run: e.Run, Thread: e.Thread})
}

// hear is the answer to a prompt in the words of the conversation, all of it.
func (k *desk) hear(phrase string, e spec.Event) []spec.Event {
	k.Helper()
	req := k.prompt(phrase, e)
	return k.events(req, k.ask(req))
}

// text hears an answer's text.
func (k *desk) text(words string) string { return says(k.hear("prompt", spec.Event{Text: words})) }

// events are what a tape tells so far; it is an error if any of it breaks the
// document.
func (k *desk) events(req spec.Request, p *tape) (events []spec.Event) {
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

// close shuts the server down: nothing of it is left. In a bubble that is proved: one
// whose goroutines cannot go on panics.
func (k *desk) close() {
	k.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := k.s.Shutdown(ctx); err != nil {
		k.Error(err)
	}
}

// last is the last of some events of a kind.
func last(events []spec.Event, k spec.Kind) spec.Event {
	for _, e := range slices.Backward(events) {
		if e.Kind == k {
			return e
		}
	}
	return spec.Event{Err: errors.New("there is none")}
}

// raw asks for what may be no request at all; nil is that HTTP would not let it
// through.
func (k *desk) raw(method, target, media, body string) *tape {
	u, err := url.ParseRequestURI(k.d.Base + target)
	if err != nil || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
		return nil
	}
	r := (&http.Request{Method: method, URL: u, Header: http.Header{"Content-Type": {media}, "Authorization": {"Bearer ada"}}, Body: io.NopCloser(strings.NewReader(body))}).WithContext(k.Context())
	p := &tape{header: http.Header{}}
	k.s.ServeHTTP(p, r)
	return p
}
