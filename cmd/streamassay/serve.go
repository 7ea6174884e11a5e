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
	"github.com/streamassay/streamassay/reference/front"
	"github.com/streamassay/streamassay/reference/meter"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A server is what serve was told.
type server struct {
	listener listener
	parts    parts
	door     door
	limits   limits
	kept     shelf
	log      notebook
	public   string
	base     string // comes before all paths
	poll     span
	browsers bool // EventSource is served
}

func serveCommand(sh shell) *cobra.Command {
	s := server{listener: listener{unless: "without --user or --jwks "}, parts: newParts(), limits: newLimits(), log: newNotebook(), poll: span(time.Second)}
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
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dialects, err := dialectsNamed("--dialect", names)
			if err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			return s.serve(cmd.Context(), sh, dialects, len(names) == 1)
		},
	}
	inGroups(cmd, []group{
		{"What is served", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names)
			s.parts.addFlags(f)
			f.Var(&s.poll, "poll", "how long a silent poll of a stream is")
		}},
		{"Where", func(f *pflag.FlagSet) {
			s.listener.addFlags(f)
			f.StringVar(&s.base, "base", "", "`PATH` that comes before those of the documents, as behind a gateway: /v1/bots/b1")
			f.StringVar(&s.public, "public-url", "", "`URL` by which clients reach the server, where it is behind another; links begin with it")
		}},
		{"Who may ask", func(f *pflag.FlagSet) {
			s.door.addFlags(f)
			f.BoolVar(&s.browsers, "eventsource", false, "serve the EventSource of browsers: the token of a stream may be the query parameter access_token, and what was heard whole is answered 204")
		}},
		{"Limits", func(f *pflag.FlagSet) { s.limits.addFlags(f); s.kept.addFlags(f) }},
		{"Log", s.log.addFlags},
	})
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument %q: %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// check says what is wrong with what it was told, before anything is opened.
func (s *server) check() error {
	for _, check := range []func() error{s.parts.check, s.door.check} {
		if err := check(); err != nil {
			return err
		}
	}
	if s.public != "" {
		u, err := url.Parse(s.public)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(s.public, "?#") {
			return usage("--public-url %s: it is an http or https URL without user and query, such as https://agents.example.com", bare(s.public))
		}
		s.public = strings.TrimRight(s.public, "/")
	}
	if u, err := url.Parse(s.base); s.base != "" && (err != nil || u.Path != s.base || !strings.HasPrefix(s.base, "/")) {
		return usage("--base %s: it is a path that begins with a slash, such as /v1/bots/b1", s.base)
	}
	s.base = strings.TrimRight(s.base, "/")
	if s.limits.log < s.limits.event {
		return usage("--max-log %s: it is less than --max-event, which is %s", &s.limits.log, &s.limits.event)
	}
	return s.listener.check(s.door.secured())
}

// grace is how long streams under way have to end in an orderly way; the contract
// gives five seconds in all.
const grace = 3 * time.Second

func (s *server) serve(ctx context.Context, sh shell, dialects []*dialect.Dialect, alone bool) error {
	keepRoom(sh.env)
	secure, err := s.listener.tls()
	if err != nil {
		return err
	}
	log, m := s.log.logger(sh.err), meter.New(version())
	behind, err := s.open(ctx, sh, log, m)
	if err != nil {
		return err
	}
	defer func() {
		if err := behind.end(); err != nil {
			log.Warn("at the end", "err", err)
		}
	}()
	ln, err := s.listener.open(s.door.secured())
	if err != nil {
		return err
	}
	defer ln.Close()
	house, prefix := build(dialects, alone, behind.agent, behind.cfg)
	for name := range prefix {
		prefix[name] = s.base + prefix[name]
	}
	srv := s.limits.server(front.New(http.StripPrefix(s.base, house), front.Config{
		Ready: behind.ready(ctx), Meter: m, Log: log, Origins: s.door.origins, Own: own(dialects, alone, s.base),
	}), log)
	srv.TLSConfig = secure
	base := bases(root(ln, scheme(srv)), prefix)
	failed := make(chan error, 1)
	go func() { failed <- listen(srv, ln) }()
	if err := s.listener.announce(ctx, base, ""); err != nil {
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
	end, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = house.Shutdown(end) // what did not end in time is cut off below
	if srv.Shutdown(end) != nil {
		_ = srv.Close()
	}
	return nil
}

// server is what answers connections. What a request's body may take its handler knows.
func (l *limits) server(h http.Handler, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, Protocols: &protocols, HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: l.idle.duration(), MaxHeaderBytes: int(l.header),
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

func scheme(srv *http.Server) string {
	if srv.TLSConfig != nil {
		return "https"
	}
	return "http"
}

func listen(srv *http.Server, ln net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(ln, "", "")
	}
	return srv.Serve(ln)
}

// own are the paths of a dialect that is served alone which look like those of the process.
func own(dialects []*dialect.Dialect, alone bool, base string) func(*http.Request) bool {
	if !alone {
		return nil
	}
	d := dialects[0]
	return func(r *http.Request) bool {
		target, below := strings.CutPrefix(r.URL.Path, base+d.Base)
		return below && d.Operation(spec.Request{Method: http.MethodGet, Target: target}) != nil
	}
}

// A house is a reference server of one dialect or of several.
type house interface {
	http.Handler
	Shutdown(context.Context) error
}

// build makes the server of the dialects, and says what comes before the paths of
// each: one alone stands where its document says, several below their names.
func build(dialects []*dialect.Dialect, alone bool, agent reference.Agent, cfg reference.Config) (h house, prefix map[string]string) {
	prefix = map[string]string{}
	for _, d := range dialects {
		if prefix[d.Name] = "/" + d.Name + d.Base; alone {
			prefix[d.Name] = d.Base
		}
	}
	if alone {
		return reference.New(dialects[0], agent, cfg), prefix
	}
	return reference.All(dialects, agent, cfg), prefix
}

// bases are the base URLs by dialect.
func bases(root string, prefix map[string]string) map[string]string {
	all := map[string]string{}
	for name, p := range prefix {
		all[name] = root + p
	}
	return all
}
