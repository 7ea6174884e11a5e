package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
)

// A service is a handler that a command serves, with what is needed to serve it and to shut it down.
type service struct {
	endpoint  *listenFlags
	limits    *limitFlags
	log       *slog.Logger
	secured   bool // requests must be authenticated
	handler   http.Handler
	basePaths map[string]string // path of the base URL, by dialect
	shutdown  func(context.Context) error

	// The rest is only for mock.

	control        string                                  // address of the control port
	controlHandler func(done <-chan struct{}) http.Handler // for the control port; nil means none
	seed           *uint64
	watch          func() (stop func()) // called once requests are served; nil means nothing
	command        []string             // the client command; empty means none
}

// A servedPort is a listener with the HTTP server that serves on it.
type servedPort struct {
	ln  net.Listener
	srv *http.Server
}

// shutdownGrace is the time that open streams get to end in an orderly way. It is less than the
// five seconds in which a server must exit after a signal.
const shutdownGrace = 3 * time.Second

// run serves the handlers and runs the client command if there is one. Once the command has ended, a
// listener has failed or ctx is done, it shuts the servers down. It returns nil if the program is to
// end with exit code 0, and an error otherwise.
func (s service) run(ctx context.Context, sh stdio) error {
	ln, err := s.endpoint.listen(s.secured)
	if err != nil {
		return err
	}
	defer ln.Close()
	main := servedPort{ln, s.limits.newHTTPServer(s.handler, s.log)}
	main.srv.TLSConfig = s.endpoint.tls
	// urlScheme must be called before serve, which sets TLSConfig even without TLS.
	where := serviceURLs{baseURLs: joinBaseURLs(serverURL(ln, urlScheme(main.srv)), s.basePaths), seed: s.seed}
	ports := []servedPort{main}
	done := make(chan struct{})
	if s.controlHandler != nil {
		at, err := net.Listen("tcp", s.control)
		if err != nil {
			return usageError("--control %s: %v", s.control, errors.Unwrap(err))
		}
		defer at.Close()
		ports = append(ports, servedPort{at, s.limits.newHTTPServer(s.controlHandler(done), s.log)})
		where.controlURL = serverURL(at, "http")
	}
	failed := make(chan error, len(ports))
	for _, p := range ports {
		go func() { failed <- p.serve() }()
	}
	if s.watch != nil {
		defer s.watch()()
	}
	if err := s.endpoint.writeReadyFile(ctx, where.baseURLs, where.controlURL); err != nil {
		return err
	}
	where.print(sh.out)
	err = waitForEnd(ctx, sh, where, failed, s.command)
	end, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	close(done)
	_ = s.shutdown(end) // streams that are still open are cut off below
	for _, p := range ports {
		if p.srv.Shutdown(end) != nil {
			_ = p.srv.Close()
		}
	}
	return err
}

// serve serves connections until the server is shut down or fails, over TLS if the server has a TLS
// configuration. The returned error is never nil.
func (p servedPort) serve() error {
	if p.srv.TLSConfig != nil {
		return p.srv.ServeTLS(p.ln, "", "")
	}
	return p.srv.Serve(p.ln)
}

// newHTTPServer returns an HTTP server, for HTTP/1 and HTTP/2, that serves h with the limits of the
// flags. The handler h itself must limit the size of request bodies.
func (l *limitFlags) newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, Protocols: &protocols, HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: l.idle, MaxHeaderBytes: l.header,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// urlScheme returns the scheme of the URLs of srv: "https" if srv has a TLS configuration,
// otherwise "http".
func urlScheme(srv *http.Server) string {
	if srv.TLSConfig != nil {
		return "https"
	}
	return "http"
}

// joinBaseURLs returns the base URL of each dialect: root followed by the dialect's path in prefix.
func joinBaseURLs(root string, prefix map[string]string) map[string]string {
	all := map[string]string{}
	for name, p := range prefix {
		all[name] = root + p
	}
	return all
}

// A serviceURLs holds the URLs under which a service can be reached, and the seed of a mock.
type serviceURLs struct {
	baseURLs   map[string]string
	controlURL string
	seed       *uint64 // nil means none
}

// clientEnv returns the environment variables that tell the client command the URLs of the mock:
// MOCK_URLS, a JSON object of base URLs by dialect; MOCK_CONTROL, the URL of the control API, which
// may be empty; and MOCK_URL if there is only one dialect.
func (p serviceURLs) clientEnv() []string {
	all, _ := json.Marshal(p.baseURLs) // cannot fail for a map of strings
	env := []string{"MOCK_URLS=" + string(all), "MOCK_CONTROL=" + p.controlURL}
	if len(p.baseURLs) == 1 {
		for _, at := range p.baseURLs {
			env = append(env, "MOCK_URL="+at)
		}
	}
	return env
}

// print prints the URLs and the seed to out, one per line. A control URL or seed that does not
// exist is left out.
func (p serviceURLs) print(out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(p.baseURLs)) {
		fmt.Fprintf(out, "%s  %s\n", name, p.baseURLs[name])
	}
	if p.controlURL != "" {
		fmt.Fprintf(out, "control  %s\n", p.controlURL)
	}
	if p.seed != nil {
		fmt.Fprintf(out, "seed  %d\n", *p.seed)
	}
}
