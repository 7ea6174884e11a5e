package mockserver_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A testClient is a client of a mock of one dialect.
type testClient struct {
	t      testing.TB
	d      *dialect.Dialect
	client *wire.Client
	thread string
}

// newTestClient returns a client of m with an idle timeout that is long enough for a busy
// machine.
func newTestClient(t testing.TB, m *mockserver.Server) *testClient {
	t.Helper()
	return newTestClientWithTimeout(t, m, 30*time.Second)
}

// newTestClientWithTimeout returns a client of m with the given idle timeout.
func newTestClientWithTimeout(t testing.TB, m *mockserver.Server, idle time.Duration) *testClient {
	t.Helper()
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	d := m.Dialects()[0]
	base, err := url.Parse(srv.URL + m.BasePath(d.Name))
	if err != nil {
		t.Fatal(err)
	}
	client, err := wire.NewClient(wire.Config{Base: base, Header: bearer("token-of-ann"), IdleTimeout: idle})
	if err != nil {
		t.Fatal(err)
	}
	return &testClient{t: t, d: d, client: client, thread: "c0ffee00-0000-4000-8000-000000000001"}
}

// send sends a request with additional header lines of the form "Name: value" and returns the
// response.
func (k *testClient) send(r spec.Request, header ...string) spec.Response {
	k.t.Helper()
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header = r.Header.With(name, value)
	}
	x, err := k.client.Do(context.Background(), r, wire.StopWhen{})
	if err != nil {
		k.t.Fatal(err)
	}
	return x.Response
}

func (k *testClient) request(template string, e spec.Event) spec.Request {
	k.t.Helper()
	e.Thread = k.thread
	r, err := k.d.BuildRequest(template, e)
	if err != nil {
		k.t.Fatal(err)
	}
	return r
}

// ask starts a run with the given prompt and returns the response that streams the run. This is the
// response to the request itself or, in some dialects, to a second request that listens to the run.
func (k *testClient) ask(run, text string, header ...string) spec.Response {
	k.t.Helper()
	answer := k.send(k.request("prompt", spec.Event{Run: run, Text: text}), header...)
	if _, listens := k.d.TemplateOperation("listen"); listens && answer.Status/100 == 2 {
		return k.send(k.request("listen", spec.Event{Run: run}))
	}
	return answer
}

// both names a dialect that streams a run in the response, and one that has a separate
// request for the stream.
var both = []string{"agkit@0.0.10", "runs@2026-04"}
