package suites_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

const stream = "text/event-stream"

// nulls are servers that implement none of the protocols, by a description of what they do.
var nulls = map[string]http.HandlerFunc{
	"500 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	"404 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
	"401 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
	"422 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(422) },
	"429 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
	"403 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
	"202 to all":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) },
	"empty 200":    func(http.ResponseWriter, *http.Request) {},
	"empty stream": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", stream) },
	"echo": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		io.Copy(w, r.Body)
	},
	"framed echo": echoFrame,
	"HTML page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html><body>Hello, world.</body></html>")
	},
	"redirect loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
	"hang after headers": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", stream)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
	"keep-alives for ever": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", stream)
		for tick := time.NewTicker(20 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
			io.WriteString(w, ": keep-alive\n\n")
			http.NewResponseController(w).Flush()
		}
	},
	"garbage": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", stream)
		w.Write([]byte("\x00\xff\xfe\x1f\x8b data: \x80\r\r\n\n"))
	},
	"[DONE] only": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", stream)
		io.WriteString(w, "data: [DONE]\n\n")
	},
}

func echoFrame(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", stream)
	fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(string(body), "\n", ""))
}

// TestNullTargets checks that no check passes for a server that implements none of the protocols,
// such as one that gives the same response to every request or no response at all.
func TestNullTargets(t *testing.T) {
	for name, handler := range nulls {
		srv := httptest.NewServer(handler)
		t.Cleanup(srv.CloseClientConnections)
		gate(t, name, srv.URL)
	}
	gate(t, "silence", raw(t, func(conn net.Conn) { io.Copy(io.Discard, conn) }))
	gate(t, "not HTTP", raw(t, func(conn net.Conn) { io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n"); io.Copy(io.Discard, conn) }))
	gate(t, "hangs up", raw(t, func(conn net.Conn) {}))
	gate(t, "a line without end", raw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
		for line := strings.Repeat("x", 1<<16); ; {
			if _, err := io.WriteString(conn, line); err != nil {
				return
			}
		}
	}))
	gate(t, "a head without end", raw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(conn, "X-More: "+strings.Repeat("x", 1<<10)+"\r\n"); err != nil {
				return
			}
		}
	}))
	gate(t, "100 Continue for ever", raw(t, func(conn net.Conn) {
		for {
			if _, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
		}
	}))
	gate(t, "one byte at a time", raw(t, func(conn net.Conn) {
		for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
			if _, err := io.WriteString(conn, "H"); err != nil {
				return
			}
		}
	}))
	secure := httptest.NewUnstartedServer(nulls["echo"])
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	gate(t, "TLS on a plain port", strings.Replace(secure.URL, "https:", "http:", 1))
	plain := httptest.NewServer(nulls["echo"])
	t.Cleanup(plain.Close)
	gate(t, "no TLS where it is asked for", strings.Replace(plain.URL, "http:", "https:", 1))
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	closed.Close()
	gate(t, "closed port", "http://"+closed.Addr().String())
}

// TestOtherProtocols checks that no check passes for a server of another family.
func TestOtherProtocols(t *testing.T) {
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range dialect.Names() {
			o, err := dialect.Open(other)
			if err != nil {
				t.Fatal(err)
			}
			if o.Family == d.Family || strings.HasPrefix(o.Family, d.Family) || strings.HasPrefix(d.Family, o.Family) {
				continue // versions and twins do share a good part
			}
			srv := httptest.NewServer(reference.New(o, reference.Scripted, reference.Config{}))
			t.Cleanup(srv.Close)
			t.Run(other+" as "+name, func(t *testing.T) {
				t.Parallel()
				nothing(t, d, srv.URL)
			})
		}
	}
}

// gate tests the server with the given base URL in every dialect, as one subtest each.
func gate(t *testing.T, name, base string) {
	for _, dialectName := range dialect.Names() {
		t.Run(name+" as "+dialectName, func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Open(dialectName)
			if err != nil {
				t.Fatal(err)
			}
			nothing(t, d, base)
		})
	}
}

// nothing tests a server in dialect d. It reports an error if a check passes, if there are
// judgements but no violation of a MUST, or if the test takes more than 30 seconds.
func nothing(t *testing.T, d *dialect.Dialect, base string) {
	u, err := url.Parse(base + d.Base)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	target := suites.Target{
		Dialect: d, Base: u, ClaimedCapabilities: []string{"all"}, Timeout: 200 * time.Millisecond, MaxEventBytes: 1 << 20, Seed: 1,
		Header: bearer("ann"), OtherHeader: bearer("bob"), StreamLimit: 3,
	}
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	judged, wrong := 0, 0
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			judged += r.Judged
			if r.Verdict == spec.Failed || r.Verdict == spec.Error {
				wrong++
			}
			if r.Verdict == spec.Passed {
				t.Errorf("%s passes in %s, by %d judgements", r.Obligation.Check.ID, p.Scenario.Name, r.Judged)
			}
			for _, law := range r.Obligation.Requirements {
				if r.VerdictOn(law) == spec.Passed {
					t.Errorf("%s holds by %s in %s", law.ID, r.Obligation.Check.ID, p.Scenario.Name)
				}
			}
		}
	}
	if judged > 0 && wrong == 0 { // nothing measured is exit 3, a broken MUST is 1
		t.Errorf("%d judgements, and no MUST is broken: this ends with exit 0", judged)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// raw starts a TCP server that calls serve for each connection, and returns its base URL.
func raw(t *testing.T, serve func(net.Conn)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}
