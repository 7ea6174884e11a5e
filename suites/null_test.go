package suites_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

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
// such as one that gives the same response to every request or no response at all. Each such server
// is judged in some of the families (see inSomeFamilies).
func TestNullTargets(t *testing.T) {
	t.Parallel()
	var pairs []nullPair
	servers := 0
	add := func(name, base string) {
		pairs = append(pairs, inSomeFamilies(t, name, base, servers)...)
		servers++
	}
	for _, name := range slices.Sorted(maps.Keys(nulls)) {
		srv := httptest.NewServer(nulls[name])
		t.Cleanup(srv.CloseClientConnections)
		add(name, srv.URL)
	}
	add("silence", raw(t, func(conn net.Conn) { io.Copy(io.Discard, conn) }))
	add("not HTTP", raw(t, func(conn net.Conn) { io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n"); io.Copy(io.Discard, conn) }))
	add("hangs up", raw(t, func(conn net.Conn) {}))
	add("a line without end", raw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
		for line := strings.Repeat("x", 1<<16); ; {
			if _, err := io.WriteString(conn, line); err != nil {
				return
			}
		}
	}))
	add("a head without end", raw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(conn, "X-More: "+strings.Repeat("x", 1<<10)+"\r\n"); err != nil {
				return
			}
		}
	}))
	add("100 Continue for ever", raw(t, func(conn net.Conn) {
		for {
			if _, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return
			}
		}
	}))
	add("one byte at a time", raw(t, func(conn net.Conn) {
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
	add("TLS on a plain port", strings.Replace(secure.URL, "https:", "http:", 1))
	plain := httptest.NewServer(nulls["echo"])
	t.Cleanup(plain.Close)
	add("no TLS where it is asked for", strings.Replace(plain.URL, "http:", "https:", 1))
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	closed.Close()
	add("closed port", "http://"+closed.Addr().String())
	playPairs(t, pairs)
}

// TestOtherProtocols checks that no check passes for a server of another family.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	var pairs []nullPair
	for i, versions := range families(t) {
		for j, o := range versions {
			srv := httptest.NewServer(reference.New(o, reference.Scripted, reference.Config{}))
			t.Cleanup(srv.Close)
			for _, p := range inSomeFamilies(t, o.Name, srv.URL, i+j) {
				other := p.dialect.Family
				if strings.HasPrefix(other, o.Family) || strings.HasPrefix(o.Family, other) {
					continue // versions and twins do share a good part
				}
				pairs = append(pairs, p)
			}
		}
	}
	playPairs(t, pairs)
}

// A nullPair is a server and a dialect that the server does not implement.
type nullPair struct {
	name    string
	dialect *dialect.Dialect
	base    string // the server's URL, without the dialect's base path
}

// inSomeFamilies returns the pairs of the server with the given base URL and one dialect of one
// family, or of every family if the environment variable ALL_VERSIONS is set. The family and the
// version depend on turn, a number that counts the servers, so that each is paired with as many
// servers as the others.
func inSomeFamilies(t *testing.T, name, base string, turn int) (pairs []nullPair) {
	all := families(t)
	n := 1
	if os.Getenv("ALL_VERSIONS") != "" {
		n = len(all)
	}
	for i := range n {
		versions := all[(turn+i*2)%len(all)]
		d := versions[turn/len(all)%len(versions)]
		pairs = append(pairs, nullPair{name + " as " + d.Name, d, base})
	}
	return pairs
}

// families returns the embedded dialects, grouped by family.
func families(t *testing.T) (groups [][]*dialect.Dialect) {
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if last := len(groups) - 1; last >= 0 && groups[last][0].Family == d.Family {
			groups[last] = append(groups[last], d)
		} else {
			groups = append(groups, []*dialect.Dialect{d})
		}
	}
	return groups
}

// playPairs runs the suite on all pairs, several at a time, since most of them make it wait. For
// each pair, a subtest checks the results.
func playPairs(t *testing.T, pairs []nullPair) {
	parts, took := make([][]suites.ScenarioResult, len(pairs)), make([]time.Duration, len(pairs))
	var group errgroup.Group
	group.SetLimit(8)
	for i, p := range pairs {
		group.Go(func() (err error) {
			began := time.Now()
			parts[i], err = p.run(t.Context())
			took[i] = time.Since(began)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			checkNothingPasses(t, parts[i])
			if took[i] > 2*time.Minute { // 8 pairs and other tests share the machine
				t.Errorf("it took %v", took[i])
			}
		})
	}
}

// run runs the suite on the server in the dialect of the pair.
func (p nullPair) run(ctx context.Context) ([]suites.ScenarioResult, error) {
	u, err := url.Parse(p.base + p.dialect.Base)
	if err != nil {
		return nil, err
	}
	return suites.Run(ctx, suites.Target{
		Dialect: p.dialect, Base: u, ClaimedCapabilities: []string{"all"}, Timeout: 200 * time.Millisecond, MaxEventBytes: 1 << 20, Seed: 1,
		Header: bearer("ann"), OtherHeader: bearer("bob"), StreamLimit: 3,
	}, nil)
}

// checkNothingPasses reports an error if a check passes, or if there are judgements but no violation
// of a MUST.
func checkNothingPasses(t *testing.T, parts []suites.ScenarioResult) {
	judged, violated := 0, 0
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			judged += r.Judged
			if r.Verdict == spec.Failed || r.Verdict == spec.Error {
				violated++
			}
			if r.Verdict == spec.Passed {
				t.Errorf("%s passes in %s, by %d judgements", r.PlannedCheck.Check.ID, p.Scenario.Name, r.Judged)
			}
			for _, requirement := range r.PlannedCheck.Requirements {
				if r.VerdictOn(requirement) == spec.Passed {
					t.Errorf("%s holds by %s in %s", requirement.ID, r.PlannedCheck.Check.ID, p.Scenario.Name)
				}
			}
		}
	}
	if judged > 0 && violated == 0 { // nothing measured is exit 3, a broken MUST is 1
		t.Errorf("%d judgements, and no MUST is violated: this ends with exit 0", judged)
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
