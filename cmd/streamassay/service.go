package main

import (
	"cmp"
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
	"strings"
	"time"
)

// A service is a handler that a command serves, with its addresses, limits and shutdown function.
type service struct {
	endpoint  *listenFlags
	limits    *limitFlags
	log       *slog.Logger
	secured   bool // requests must be authenticated
	handler   http.Handler
	basePaths map[string]string           // path of the base URL, by name of the dialect
	shutdown  func(context.Context) error // ends open streams; called before the listeners are closed

	// Only the mock command sets the fields below.

	control        string                                  // address of the control API, HOST:PORT
	controlHandler func(done <-chan struct{}) http.Handler // for the control API, or nil; done is closed at shutdown
	seed           *uint64                                 // printed at the start; nil means none
	watch          func() (stop func())                    // called when serving begins, stop at shutdown; nil means none

	// The mock and proxy commands set the fields below.

	command   []string // the client command; empty means none
	envPrefix string   // prefix of the command's environment variables: "" means MOCK
}

// A listeningServer is a listener with the HTTP server that serves on it.
type listeningServer struct {
	ln  net.Listener
	srv *http.Server
}

// shutdownGrace is the maximum time that open streams may take to end at shutdown. It is also the
// maximum time that the client command may take to end after SIGTERM. A shutdown can take both
// times, one after the other. Their sum must stay below five seconds, within which a server must
// exit after a signal.
const shutdownGrace = 2 * time.Second

// run serves the handlers, writes the ready file, prints the URLs and the seed to standard output,
// and runs the client command if there is one. It shuts the servers down once the command has
// ended, a listener has failed or ctx is done. It returns nil if the command succeeded, or if ctx
// is done and there is no command. Otherwise, it returns an error with the exit code of the
// program.
func (s service) run(ctx context.Context, sh stdio) error {
	ln, err := s.endpoint.listen(s.secured)
	if err != nil {
		return err
	}
	defer ln.Close()
	main := listeningServer{ln, s.limits.newHTTPServer(s.handler, s.log)}
	main.srv.TLSConfig = s.endpoint.tls
	scheme := "http"
	if s.endpoint.tls != nil {
		scheme = "https"
	}
	where := clientURLs{
		baseURLs: joinBaseURLs(serverURL(ln, scheme), s.basePaths), seed: s.seed, envPrefix: cmp.Or(s.envPrefix, "MOCK"),
	}
	ports := []listeningServer{main}
	done := make(chan struct{})
	if s.controlHandler != nil {
		at, err := net.Listen("tcp", s.control)
		if err != nil {
			return usageError("--control %s: %v%s", s.control, errors.Unwrap(err), listenAdvice(err))
		}
		defer at.Close()
		ports = append(ports, listeningServer{at, s.limits.newHTTPServer(s.controlHandler(done), s.log)})
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

// serve serves connections, over TLS if the server has a TLS configuration. It returns when the
// server is shut down or fails. The error is never nil; after a shutdown it is
// [http.ErrServerClosed].
func (p listeningServer) serve() error {
	if p.srv.TLSConfig != nil {
		return p.srv.ServeTLS(p.ln, "", "")
	}
	return p.srv.Serve(p.ln)
}

// newHTTPServer returns an HTTP server, for HTTP/1 and HTTP/2, that serves h with the limits in l
// and logs errors to log. It does not limit the size of request bodies; h must do so.
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

// joinBaseURLs returns the base URL of each dialect, by the name of the dialect: root, such as
// "http://127.0.0.1:4010", followed by the path of the dialect in prefix.
func joinBaseURLs(root string, prefix map[string]string) map[string]string {
	all := map[string]string{}
	for name, p := range prefix {
		all[name] = root + p
	}
	return all
}

// A clientURLs holds the URLs at which clients reach a service, and the seed of a mock.
type clientURLs struct {
	envPrefix  string            // prefix of the environment variables of the client command
	baseURLs   map[string]string // by name of the dialect
	controlURL string            // URL of the control API; "" means none
	seed       *uint64           // nil if the service is not a mock
}

// clientEnv returns environment variables for the client command, each in the form NAME=VALUE. If
// p.envPrefix is MOCK, they are:
//   - MOCK_URLS, a JSON object with the base URL of each dialect
//   - MOCK_URL, the base URL, only if there is exactly one dialect
//   - MOCK_CONTROL, the URL of the control API, which may be empty
func (p clientURLs) clientEnv() []string {
	all, _ := json.Marshal(p.baseURLs) // cannot fail for a map of strings
	env := []string{p.envPrefix + "_URLS=" + string(all), p.envPrefix + "_CONTROL=" + p.controlURL}
	if len(p.baseURLs) == 1 {
		for _, at := range p.baseURLs {
			env = append(env, p.envPrefix+"_URL="+at)
		}
	}
	return env
}

// print prints the URLs and the seed to out, one per line. It leaves out the control URL or the
// seed if there is none. All lines are written at once, because a reader may close the pipe after
// the first line that it needs, and writing to a closed pipe ends the program.
func (p clientURLs) print(out io.Writer) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.baseURLs)) {
		fmt.Fprintf(&text, "%s  %s\n", name, p.baseURLs[name])
	}
	if p.controlURL != "" {
		fmt.Fprintf(&text, "control  %s\n", p.controlURL)
	}
	if p.seed != nil {
		fmt.Fprintf(&text, "seed  %d\n", *p.seed)
	}
	_, _ = io.WriteString(out, text.String())
}
