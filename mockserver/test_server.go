package mockserver

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"time"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TB has the methods of [testing.TB] that [NewTest] calls.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// A TestServer is a mock server that listens on a loopback address until its test ends; see
// [NewTest].
type TestServer struct {
	*Server
	URL string // base URL of the dialect, without a slash at the end
}

// shutdownTimeout is the maximum time for which a [TestServer] waits for requests in progress when
// its test ends. It then closes their connections.
const shutdownTimeout = 5 * time.Second

// NewTest starts a mock server for the test t and closes it when t ends. The server serves the
// dialect dialectName, such as "runs@2026-04", or "runs" for the default version. If dialectName or
// an option is invalid, NewTest calls t.Fatal.
func NewTest(t TB, dialectName string, options ...Option) *TestServer {
	t.Helper()
	d, err := dialect.Open(dialectName)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Dialects: []*dialect.Dialect{d}}, options...)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // faults that abort a response are not errors
	srv.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			srv.CloseClientConnections()
		}
		srv.Close()
	})
	return &TestServer{s, srv.URL + s.BasePath(d.Name)}
}
