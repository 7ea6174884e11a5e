package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/internal/middleware"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A serveOptions holds the flags of the serve command.
type serveOptions struct {
	endpoint    listenFlags
	backends    backendFlags
	auth        serverAuthFlags
	limits      limitFlags
	retention   state.Config // limits on the ended runs that the store keeps
	log         logFlags
	publicURL   string        // base URL in links; "" means the one to which the request was sent
	basePath    string        // prefix of all paths, without a slash at the end; may be ""
	poll        time.Duration // maximum time that a request waits for new events
	eventSource bool          // support EventSource, see [reference.Config]
}

// serveCommand returns the serve command, which runs the reference server.
func serveCommand(sh stdio) *cobra.Command {
	s := serveOptions{
		endpoint: listenFlags{authHint: "without --user or --jwks "}, poll: reference.DefaultPollInterval,
	}
	var names []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start the reference server: every operation of one dialect or of all",
		Long: `Start the reference server: a correct one, with stores, users and, optionally, a real model.
To choose the replies or to inject faults, use streamassay mock. With one --dialect it serves
the paths of the dialect's OpenAPI document; with several, or none, it serves each dialect
below /NAME@VERSION/. It also serves /healthz, /readyz and /metrics, without a token.

If neither --user nor --jwks is given, every bearer token is accepted, and the token is the
user's name; --addr must then be a loopback address. A request without a token is then
refused only if the dialect's document requires one (as in runs). With --user or --jwks,
every operation but health and version requires a valid token.

Exit codes: 0 ended by SIGINT or SIGTERM, 2 usage or configuration error (e.g. the port is in
use), 5 internal error.`,
		Example: `  streamassay serve --dialect runs --addr 127.0.0.1:4010
  streamassay serve --addr :443 --user @users.txt --tls-cert cert.pem --tls-key key.pem --state sqlite:runs.db`,
		Args: rejectArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.check(); err != nil {
				return err
			}
			dialects, err := dialectsNamed("--dialect", names)
			if err != nil {
				return err
			}
			return s.listenAndServe(cmd.Context(), sh, dialects, len(dialects) == 1)
		},
	}
	addFlagGroups(cmd, []flagGroup{
		{"Server", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names, "dialect to serve")
			s.backends.addFlags(f)
			f.Var(durationValue(&s.poll, 0), "poll",
				"time after which a request that waits for new events (a long poll) returns without any")
		}},
		{"Address", func(f *pflag.FlagSet) {
			s.endpoint.addFlags(f)
			f.StringVar(&s.basePath, "base", "", "`PATH` path below which the dialects are served (e.g. /v1/bots/b1); /healthz, /readyz and /metrics stay at the root")
			f.StringVar(&s.publicURL, "public-url", "",
				"`URL` at which clients reach the server through a proxy: scheme, host and, if the proxy removes one, "+
					"path prefix; used in links")
		}},
		{"Authentication", func(f *pflag.FlagSet) {
			s.auth.addFlags(f)
			f.BoolVar(&s.eventSource, "eventsource", false, eventSourceUsage)
		}},
		{"Limits", func(f *pflag.FlagSet) {
			s.limits.addFlags(f)
			addRetentionFlags(f, &s.retention, s.backends.state.keeps())
		}},
		{"Log", s.log.addFlags},
	})
	return cmd
}

// eventSourceUsage is the help text of --eventsource.
const eventSourceUsage = "support browsers' EventSource: accept the token in the query parameter access_token; reply 204 to a " +
	"reconnect after the end of the stream"

// rejectArguments returns a usage error if args is not empty. It is the Args function of commands
// that take only flags.
func rejectArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := cmp.Or(dialectHint(args[0]), fmt.Sprintf(" (see %s --help)", cmd.CommandPath()))
		return usageError("%s takes no arguments, got %q%s", cmd.Name(), args[0], hint)
	}
	return nil
}

// check returns a usage error if a flag is invalid. It also prepares s for listenAndServe: it sets
// the users, the TLS configuration and the destination of the ready file, and removes slashes at
// the end of s.basePath and s.publicURL.
func (s *serveOptions) check() error {
	for _, check := range []func() error{s.backends.check, s.auth.check} {
		if err := check(); err != nil {
			return err
		}
	}
	if s.publicURL != "" {
		u, err := url.Parse(s.publicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			u.User != nil || strings.ContainsAny(s.publicURL, "?#") {
			return usageError("--public-url %s: must be an http or https URL without user and query (e.g. %s)",
				withoutSecrets(s.publicURL), "https://agents.example.com")
		}
		s.publicURL = strings.TrimRight(s.publicURL, "/")
	}
	if strings.ContainsAny(s.basePath, "?#") {
		return usageError("--base %s: must be a path without query and fragment (e.g. /v1/bots/b1)", s.basePath)
	}
	u, err := url.Parse(s.basePath)
	if s.basePath != "" && (err != nil || u.Path != s.basePath || !strings.HasPrefix(s.basePath, "/")) {
		return usageError("--base %s: must be a path that begins with a slash (e.g. /v1/bots/b1)", s.basePath)
	}
	for segment := range strings.SplitSeq(s.basePath, "/") {
		if segment == "." || segment == ".." { // clients remove such segments
			return usageError("--base %s: must not contain . or .. segments", s.basePath)
		}
	}
	s.basePath = strings.TrimRight(s.basePath, "/")
	if l := s.limits; l.RunBytes < l.EventBytes {
		return usageError("--max-log %s: must be at least --max-event, which is %s",
			formatSize(int64(l.RunBytes)), formatSize(int64(l.EventBytes)))
	}
	return s.endpoint.check(s.auth.hasUsers())
}

// listenAndServe serves the dialects until ctx is done or the listener fails. The paths of each
// dialect begin with its name, unless alone is true. If alone is true, dialects must have exactly
// one element. listenAndServe returns nil if the exit code of the program is 0, and an error
// otherwise.
func (s *serveOptions) listenAndServe(ctx context.Context, sh stdio, dialects []*dialect.Dialect, alone bool) error {
	startGCTuning(sh.env)
	log, m := s.log.logger(sh.err), metrics.New(buildVersion())
	backends, err := s.openBackends(ctx, sh, log, m)
	if _, interrupted := interruptedBy(ctx); err != nil && interrupted {
		return nil // a signal ended the program before it served
	}
	if err != nil {
		return err
	}
	defer func() {
		if err := backends.closeStore(); err != nil {
			log.Warn("closing the store failed", "err", err)
		}
	}()
	server, prefix := newReferenceServer(dialects, alone, backends.agent, backends.cfg)
	for name := range prefix {
		prefix[name] = s.basePath + prefix[name]
	}
	handler := middleware.New(http.StripPrefix(s.basePath, server), middleware.Config{
		Ready: backends.readyCheck(ctx), Metrics: m, Log: log, AllowedOrigins: s.auth.origins,
		PassThrough: ownPaths(dialects, alone, s.basePath),
	})
	return service{
		endpoint: &s.endpoint, limits: &s.limits, log: log, secured: s.auth.hasUsers(),
		handler: handler, basePaths: prefix, shutdown: server.Shutdown,
	}.run(ctx, sh)
}

// ownPaths returns a value for [middleware.Config.PassThrough]: a function that reports whether the
// path of a request, such as /healthz, is that of a GET operation of the served dialect. The
// argument base is the prefix of all paths.
//
// If alone is true, dialects must have exactly one element. If alone is false, ownPaths returns
// nil: the paths of a dialect then begin with its name, and cannot equal a path of the middleware.
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

// A referenceServer is a reference server for one or several dialects. Shutdown ends its open
// streams.
type referenceServer interface {
	http.Handler
	Shutdown(context.Context) error
}

// newReferenceServer returns a reference server for dialects. The map prefix holds the path of the
// base URL of each dialect, by the name of the dialect: "/" and the name, followed by the base path
// in the document of the dialect. If alone is true, dialects must have exactly one element, and the
// path is only the base path.
func newReferenceServer(
	dialects []*dialect.Dialect, alone bool, agent reference.Agent, cfg reference.Config,
) (h referenceServer, prefix map[string]string) {
	prefix = map[string]string{}
	for _, d := range dialects {
		if prefix[d.Name] = "/" + d.Name + d.Base; alone {
			prefix[d.Name] = d.Base
		}
	}
	if alone {
		return reference.New(dialects[0], agent, cfg), prefix
	}
	return reference.NewDialectMux(dialects, agent, cfg), prefix
}
