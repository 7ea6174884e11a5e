package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/metrics"
	"github.com/streamassay/streamassay/reference/middleware"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A serveOptions is what serve was told.
type serveOptions struct {
	endpoint    listenFlags
	backends    backendFlags
	auth        authFlags
	limits      limitFlags
	retention   retentionFlags
	log         logFlags
	publicURL   string
	basePath    string // comes before all paths
	poll        positiveDuration
	eventSource bool // EventSource is served
}

func serveCommand(sh stdio) *cobra.Command {
	s := serveOptions{endpoint: listenFlags{authHint: "without --user or --jwks "}, backends: newBackendFlags(), limits: newLimitFlags(), log: newLogFlags(), poll: positiveDuration(time.Second)}
	var names []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the reference: every endpoint, in one dialect or in all",
		Long: `Serve the reference server. With one --dialect its paths stand where the document has
them; with several, or none, each dialect is served below /NAME@VERSION/. Beside them
/healthz, /readyz and /metrics are served.

Without --user or --jwks anybody is who they say: any bearer token is a user of that
name, and only loopback addresses are served.`,
		Example: `  streamassay serve --dialect runs --addr 127.0.0.1:4010
  streamassay serve --addr :443 --user @users.txt --tls-cert cert.pem --tls-key key.pem --state sqlite:runs.db`,
		Args: rejectArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dialects, err := dialectsNamed("--dialect", names)
			if err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			return s.listenAndServe(cmd.Context(), sh, dialects, len(names) == 1)
		},
	}
	addFlagGroups(cmd, []flagGroup{
		{"What is served", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names)
			s.backends.addFlags(f)
			f.Var(&s.poll, "poll", "how long a silent poll of a stream is")
		}},
		{"Where", func(f *pflag.FlagSet) {
			s.endpoint.addFlags(f)
			f.StringVar(&s.basePath, "base", "", "`PATH` that comes before those of the documents, as behind a gateway: /v1/bots/b1")
			f.StringVar(&s.publicURL, "public-url", "", "`URL` by which clients reach the server, where it is behind another; links begin with it")
		}},
		{"Who may ask", func(f *pflag.FlagSet) {
			s.auth.addFlags(f)
			f.BoolVar(&s.eventSource, "eventsource", false, "serve the EventSource of browsers: the token of a stream may be the query parameter access_token, and what was heard whole is answered 204")
		}},
		{"Limits", func(f *pflag.FlagSet) { s.limits.addFlags(f); s.retention.addFlags(f) }},
		{"Log", s.log.addFlags},
	})
	return cmd
}

func rejectArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%s takes no argument %q: %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// check says what is wrong with what it was told, before anything is opened.
func (s *serveOptions) check() error {
	for _, check := range []func() error{s.backends.check, s.auth.check} {
		if err := check(); err != nil {
			return err
		}
	}
	if s.publicURL != "" {
		u, err := url.Parse(s.publicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(s.publicURL, "?#") {
			return usageError("--public-url %s: it is an http or https URL without user and query, such as https://agents.example.com", withoutSecrets(s.publicURL))
		}
		s.publicURL = strings.TrimRight(s.publicURL, "/")
	}
	if u, err := url.Parse(s.basePath); s.basePath != "" && (err != nil || u.Path != s.basePath || !strings.HasPrefix(s.basePath, "/")) {
		return usageError("--base %s: it is a path that begins with a slash, such as /v1/bots/b1", s.basePath)
	}
	s.basePath = strings.TrimRight(s.basePath, "/")
	if s.limits.log < s.limits.event {
		return usageError("--max-log %s: it is less than --max-event, which is %s", &s.limits.log, &s.limits.event)
	}
	return s.endpoint.check(s.auth.hasUsers())
}

// shutdownGrace is how long streams under way have to end in an orderly way; the contract
// gives five seconds in all.
const shutdownGrace = 3 * time.Second

func (s *serveOptions) listenAndServe(ctx context.Context, sh stdio, dialects []*dialect.Dialect, alone bool) error {
	startGCTuning(sh.env)
	secure, err := s.endpoint.tlsConfig()
	if err != nil {
		return err
	}
	log, m := s.log.logger(sh.err), metrics.New(buildVersion())
	behind, err := s.openBackends(ctx, sh, log, m)
	if err != nil {
		return err
	}
	defer func() {
		if err := behind.closeAll(); err != nil {
			log.Warn("at the end", "err", err)
		}
	}()
	ln, err := s.endpoint.listen(s.auth.hasUsers())
	if err != nil {
		return err
	}
	defer ln.Close()
	house, prefix := newReferenceServer(dialects, alone, behind.agent, behind.cfg)
	for name := range prefix {
		prefix[name] = s.basePath + prefix[name]
	}
	srv := s.limits.newHTTPServer(middleware.New(http.StripPrefix(s.basePath, house), middleware.Config{
		Ready: behind.readyCheck(ctx), Metrics: m, Log: log, AllowedOrigins: s.auth.origins, PassThrough: ownPaths(dialects, alone, s.basePath),
	}), log)
	srv.TLSConfig = secure
	base := joinBaseURLs(serverURL(ln, urlScheme(srv)), prefix)
	failed := make(chan error, 1)
	go func() { failed <- serveOn(srv, ln) }()
	if err := s.endpoint.writeReadyFile(ctx, base, ""); err != nil {
		return err
	}
	for _, d := range dialects {
		fmt.Fprintf(sh.out, "%s  %s\n", d.Name, base[d.Name])
	}
	select {
	case err := <-failed:
		return exitError{exitInternal, err.Error()}
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	_ = house.Shutdown(end) // what did not end in time is cut off below
	if srv.Shutdown(end) != nil {
		_ = srv.Close()
	}
	return nil
}

// newHTTPServer is what answers connections. What a request's body may take its handler knows.
func (l *limitFlags) newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, Protocols: &protocols, HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: l.idle.value(), MaxHeaderBytes: int(l.header),
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

func urlScheme(srv *http.Server) string {
	if srv.TLSConfig != nil {
		return "https"
	}
	return "http"
}

func serveOn(srv *http.Server, ln net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(ln, "", "")
	}
	return srv.Serve(ln)
}

// ownPaths are the paths of a dialect that is served alone which look like those of the process.
func ownPaths(dialects []*dialect.Dialect, alone bool, base string) func(*http.Request) bool {
	if !alone {
		return nil
	}
	d := dialects[0]
	return func(r *http.Request) bool {
		target, below := strings.CutPrefix(r.URL.Path, base+d.Base)
		return below && d.Operation(spec.Request{Method: http.MethodGet, Target: target}) != nil
	}
}

// A referenceServer is a reference server of one dialect or of several.
type referenceServer interface {
	http.Handler
	Shutdown(context.Context) error
}

// newReferenceServer makes the server of the dialects, and says what comes before the paths of
// each: one alone stands where its document says, several below their names.
func newReferenceServer(dialects []*dialect.Dialect, alone bool, agent reference.Agent, cfg reference.Config) (h referenceServer, prefix map[string]string) {
	prefix = map[string]string{}
	for _, d := range dialects {
		if prefix[d.Name] = "/" + d.Name + d.Base; alone {
			prefix[d.Name] = d.Base
		}
	}
	if alone {
		return reference.New(dialects[0], agent, cfg), prefix
	}
	return reference.NewMux(dialects, agent, cfg), prefix
}

// joinBaseURLs are the base URLs by dialect.
func joinBaseURLs(root string, prefix map[string]string) map[string]string {
	all := map[string]string{}
	for name, p := range prefix {
		all[name] = root + p
	}
	return all
}
