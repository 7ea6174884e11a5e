package reference

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamassay/streamassay/internal/metrics"
)

// A pipeListener is a listener that accepts the connections in a channel.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error   { close(l); return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

// TestIncompleteBody checks that a request whose body cannot be read is refused and counted, and
// that the connection is closed.
func TestIncompleteBody(t *testing.T) {
	for _, c := range []struct {
		rest   string // of the request
		status int
		text   string
	}{
		{"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "the body is incomplete"},
		{"Content-Length: 99\r\n\r\n{", 408, "the body did not arrive within 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := metrics.New("")
			k := newTestClient(t, mustDialect(t, "agentscope@1.1"), Scripted, Config{Metrics: m})
			l := make(pipeListener, 1)
			srv := &http.Server{Handler: k.s}
			go func() { _ = srv.Serve(l) }()
			conn, remote := net.Pipe()
			l <- remote
			go func() {
				fmt.Fprint(conn, "POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+c.rest)
			}()
			in := bufio.NewReader(conn)
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			var body strings.Builder
			if _, err := bufio.NewReader(res.Body).WriteTo(&body); err != nil || res.StatusCode != c.status || !strings.Contains(body.String(), c.text) {
				t.Errorf("%q: %d %s, %v; want %d", c.rest, res.StatusCode, body.String(), err, c.status)
			}
			if _, err := in.ReadByte(); err == nil {
				t.Errorf("%q: there is more than the response", c.rest)
			}
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
			if want := fmt.Sprintf(`refusals_total{dialect="agentscope@1.1",status="%d"} 1`, c.status); !strings.Contains(w.Body.String(), want) {
				t.Errorf("%q: the metrics lack %s", c.rest, want)
			}
			_ = srv.Close()
			k.close()
		})
	}
}
