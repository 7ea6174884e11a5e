package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/control"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/metrics"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A mockOptions is what the command was told.
type mockOptions struct {
	endpoint     listenFlags
	control      string // where; "off" is nowhere
	defaults     mockDefaultFlags
	journal      journalFlags
	limits       limitFlags
	log          logFlags
	check        bool
	schema       bool
	watch        bool
	expect       string
	expectReport string
	poll         positiveDuration
	eventSource  bool
	upstream     string // of --record
	save         string
	headers      []string

	dialects []*dialect.Dialect
	sources  mockSources
}

func mockCommand(sh stdio) *cobra.Command {
	m := mockOptions{limits: newLimitFlags(), log: newLogFlags(), defaults: newMockDefaultFlags(), journal: newJournalFlags(), poll: positiveDuration(time.Second)}
	var names []string
	cmd := &cobra.Command{
		Use:   "mock [FILE…] [-- COMMAND…]",
		Short: "Serve a mock: a server that behaves, or misbehaves, exactly as told",
		Long: `Serve a mock of every endpoint, in one dialect or in all. Without FILE it answers as the
reference does (docs/prompts.md). A FILE is a script (.yaml; docs/mock.md), a recording
(.txtar, .http, .sse, .har), or a directory of those. Scripts that change are loaded again
without dropping a stream.

What was asked and what was delivered can be seen at the control address that is printed,
and its API. With --expect, or a COMMAND that is run against the mock and ends it, the
exit codes are those of run: 1 is a client that broke the protocol or was not seen to do
what FILE expects.`,
		Example: `  streamassay mock --dialect runs --addr 127.0.0.1:4010
  streamassay mock script.yaml --dialect agkit --pace '{first: 300ms, rate: 40}'
  streamassay mock --check script.yaml
  streamassay mock --dialect agkit --record http://127.0.0.1:8080 --save recordings
  streamassay mock --dialect agkit recordings
  streamassay mock --dialect runs --expect calls.yaml -- npm test`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if m.dialects, err = dialectsNamed("--dialect", names); err != nil {
				return err
			}
			paths, command := args, []string(nil)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				if paths, command = args[:at], args[at:]; len(command) == 0 {
					return usageError("no COMMAND comes after the --")
				}
			}
			if err := m.checkFlags(cmd, paths, command); err != nil {
				return err
			}
			if err := checkPaths(paths); err != nil {
				return err
			}
			if m.sources, err = newMockSources(paths); err != nil {
				return err
			}
			return m.run(cmd.Context(), sh, command)
		},
	}
	addFlagGroups(cmd, []flagGroup{
		{"What is served", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names)
			f.BoolVar(&m.check, "check", false, "say what is wrong with the FILEs, and serve nothing")
			f.BoolVar(&m.schema, "schema", false, "print the JSON Schema of scripts, for editors, and serve nothing")
			f.BoolVar(&m.watch, "watch", true, "load scripts again when they change")
			f.Var(&m.poll, "poll", "how long a silent poll of a stream is")
			f.BoolVar(&m.eventSource, "eventsource", false, "serve the EventSource of browsers, as serve does")
		}},
		{"How", m.defaults.addFlags},
		{"Where", func(f *pflag.FlagSet) {
			m.endpoint.addFlags(f)
			f.StringVar(&m.control, "control", "127.0.0.1:0", "`HOST:PORT` of the control API and its page, or off")
		}},
		{"What is kept, and judged", func(f *pflag.FlagSet) {
			m.journal.addFlags(f)
			f.Var(&singleValue{value: &m.expect}, "expect", "`FILE` (YAML) that says what clients are expected to ask; the exit code says whether they did")
			f.Var(&singleValue{value: &m.expectReport}, "expect-report", "`PATH` of a JSON report on the clients; it makes the exit code speak of them as well")
		}},
		{"Recording, instead of all that", func(f *pflag.FlagSet) {
			f.Var(&singleValue{value: &m.upstream}, "record", "`URL` of a real server of the one dialect: requests are passed on to it, and each conversation is written down")
			f.StringVar(&m.save, "save", "recordings", "`DIR` for what is recorded; mock DIR plays it again")
			f.StringArrayVar(&m.headers, "header", nil, "`'Name: value'` sent to the real server where a request does not have it (repeatable); never written down")
		}},
		{"Limits", m.limits.addFlags},
		{"Log", m.log.addFlags},
	})
	return cmd
}

// run serves until the command ends, or the context does.
func (m *mockOptions) run(ctx context.Context, sh stdio, command []string) error {
	if err := m.endpoint.check(false); err != nil {
		return err
	}
	if err := checkControl(m.control); err != nil {
		return err
	}
	cfg, err := m.defaults.mockConfig(m.dialects)
	if err != nil {
		return err
	}
	if m.schema {
		_, err := sh.out.Write(script.Schema())
		return err
	}
	if m.check {
		return m.sources.check(sh, m.dialects)
	}
	if m.upstream != "" {
		return m.record(ctx, sh, command)
	}
	if cfg.Scripts, cfg.Replay, err = m.sources.load(sh.err, m.dialects); err != nil {
		return err
	}
	judge, err := m.clientJudge(sh)
	if err != nil {
		return err
	}
	startGCTuning(sh.env)
	log := m.log.logger(sh.err)
	cfg.Journal = m.journal.newJournal()
	cfg.Server = reference.Config{
		PollInterval: m.poll.value(), EventSource: m.eventSource, Log: log, Metrics: metrics.New(buildVersion()), Limits: reference.Limits{
			RequestBytes: int64(m.limits.body), EventBytes: int(m.limits.event), RunBytes: int(m.limits.log),
			RunDuration: m.limits.run.value(), StreamsPerUser: int(m.limits.streams),
		},
	}
	server, err := mockserver.New(cfg)
	if err != nil {
		return err
	}
	seed := server.Seed()
	scene := servedHandlers{
		handler: server, shutdown: server.Shutdown, seed: &seed, basePaths: map[string]string{},
		watch: func() (stop func()) { return m.sources.watch(ctx, server, m.dialects, sh.err) },
	}
	if m.control != "off" {
		scene.controlHandler = func(done <-chan struct{}) http.Handler {
			return control.New(server, control.Config{Done: done, Judge: judgeReply})
		}
	}
	for _, d := range m.dialects {
		scene.basePaths[d.Name] = server.BasePath(d.Name)
	}
	err = m.listenAndServe(ctx, sh, scene, log, command)
	var exit exitError
	if errors.As(err, &exit) && exit.code >= signalExitBase {
		return judge(server.Journal(), exit.code)
	}
	if err != nil {
		return err
	}
	return judge(server.Journal(), exitOK)
}

// A servedHandlers is what is served.
type servedHandlers struct {
	handler        http.Handler
	controlHandler func(done <-chan struct{}) http.Handler // of the control port; nil: there is none
	basePaths      map[string]string                       // the path of the base URL, by dialect
	seed           *uint64
	watch          func() (stop func())
	shutdown       func(context.Context) error
}

// A servedPort is an address that is served.
type servedPort struct {
	ln  net.Listener
	srv *http.Server
}

func (m *mockOptions) listenAndServe(ctx context.Context, sh stdio, scene servedHandlers, log *slog.Logger, command []string) error {
	secure, err := m.endpoint.tlsConfig()
	if err != nil {
		return err
	}
	ln, err := m.endpoint.listen(false)
	if err != nil {
		return err
	}
	defer ln.Close()
	main := servedPort{ln, m.limits.newHTTPServer(scene.handler, log)}
	main.srv.TLSConfig = secure
	ports := []servedPort{main}
	done := make(chan struct{})
	if scene.controlHandler != nil {
		at, err := net.Listen("tcp", m.control)
		if err != nil {
			return usageError("--control %s: %v", m.control, errors.Unwrap(err))
		}
		defer at.Close()
		ports = append(ports, servedPort{at, m.limits.newHTTPServer(scene.controlHandler(done), log)})
	}
	where := endpoints{baseURLs: joinBaseURLs(serverURL(ln, urlScheme(main.srv)), scene.basePaths), seed: scene.seed} // serving changes what srv knows of TLS
	if len(ports) > 1 {
		where.controlURL = serverURL(ports[1].ln, "http")
	}
	failed := make(chan error, len(ports))
	for _, p := range ports {
		go func() { failed <- serveOn(p.srv, p.ln) }()
	}
	if m.watch && scene.watch != nil {
		defer scene.watch()()
	}
	if err := m.endpoint.writeReadyFile(ctx, where.baseURLs, where.controlURL); err != nil {
		return err
	}
	where.print(sh.out)
	err = m.waitForEnd(ctx, sh, where, failed, command)
	end, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	close(done)
	_ = scene.shutdown(end) // what did not end in time is cut off below
	for _, p := range ports {
		if p.srv.Shutdown(end) != nil {
			_ = p.srv.Close()
		}
	}
	return err
}
