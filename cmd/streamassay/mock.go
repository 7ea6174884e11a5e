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
	"github.com/streamassay/streamassay/reference/meter"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A mock is what the command was told.
type mock struct {
	listener listener
	control  string // where; "off" is nowhere
	manners  manners
	journal  notes
	limits   limits
	log      notebook
	check    bool
	schema   bool
	watch    bool
	expect   string
	report   string
	poll     span
	browsers bool
	upstream string // of --record
	save     string
	headers  []string

	dialects []*dialect.Dialect
	playbook playbook
}

func mockCommand(sh shell) *cobra.Command {
	m := mock{limits: newLimits(), log: newNotebook(), manners: newManners(), journal: newNotes(), poll: span(time.Second)}
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
					return usage("no COMMAND comes after the --")
				}
			}
			if err := m.checkFlags(cmd, paths, command); err != nil {
				return err
			}
			if err := checkPaths(paths); err != nil {
				return err
			}
			if m.playbook, err = playbookNamed(paths); err != nil {
				return err
			}
			return m.run(cmd.Context(), sh, command)
		},
	}
	inGroups(cmd, []group{
		{"What is served", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names)
			f.BoolVar(&m.check, "check", false, "say what is wrong with the FILEs, and serve nothing")
			f.BoolVar(&m.schema, "schema", false, "print the JSON Schema of scripts, for editors, and serve nothing")
			f.BoolVar(&m.watch, "watch", true, "load scripts again when they change")
			f.Var(&m.poll, "poll", "how long a silent poll of a stream is")
			f.BoolVar(&m.browsers, "eventsource", false, "serve the EventSource of browsers, as serve does")
		}},
		{"How", m.manners.addFlags},
		{"Where", func(f *pflag.FlagSet) {
			m.listener.addFlags(f)
			f.StringVar(&m.control, "control", "127.0.0.1:0", "`HOST:PORT` of the control API and its page, or off")
		}},
		{"What is kept, and judged", func(f *pflag.FlagSet) {
			m.journal.addFlags(f)
			f.Var(&once{text: &m.expect}, "expect", "`FILE` (YAML) that says what clients are expected to ask; the exit code says whether they did")
			f.Var(&once{text: &m.report}, "expect-report", "`PATH` of a JSON report on the clients; it makes the exit code speak of them as well")
		}},
		{"Recording, instead of all that", func(f *pflag.FlagSet) {
			f.Var(&once{text: &m.upstream}, "record", "`URL` of a real server of the one dialect: requests are passed on to it, and each conversation is written down")
			f.StringVar(&m.save, "save", "recordings", "`DIR` for what is recorded; mock DIR plays it again")
			f.StringArrayVar(&m.headers, "header", nil, "`'Name: value'` sent to the real server where a request does not have it (repeatable); never written down")
		}},
		{"Limits", m.limits.addFlags},
		{"Log", m.log.addFlags},
	})
	return cmd
}

// run serves until the command ends, or the context does.
func (m *mock) run(ctx context.Context, sh shell, command []string) error {
	if err := m.listener.check(false); err != nil {
		return err
	}
	if err := checkControl(m.control); err != nil {
		return err
	}
	cfg, err := m.manners.config(m.dialects)
	if err != nil {
		return err
	}
	if m.schema {
		_, err := sh.out.Write(script.Schema())
		return err
	}
	if m.check {
		return m.playbook.check(sh, m.dialects)
	}
	if m.upstream != "" {
		return m.record(ctx, sh, command)
	}
	if cfg.Scripts, cfg.Replay, err = m.playbook.load(sh.err, m.dialects); err != nil {
		return err
	}
	judge, err := m.judge(sh)
	if err != nil {
		return err
	}
	keepRoom(sh.env)
	log := m.log.logger(sh.err)
	cfg.Journal = m.journal.open()
	cfg.Server = reference.Config{
		Poll: m.poll.duration(), EventSource: m.browsers, Log: log, Meter: meter.New(version()), Limits: reference.Limits{
			Body: int64(m.limits.body), Event: int(m.limits.event), Log: int(m.limits.log),
			Run: m.limits.run.duration(), Streams: int(m.limits.streams),
		},
	}
	server, err := mockserver.New(cfg)
	if err != nil {
		return err
	}
	seed := server.Seed()
	scene := stage{
		front: server, shutdown: server.Shutdown, seed: &seed, prefix: map[string]string{},
		watch: func() (stop func()) { return m.playbook.watch(ctx, server, m.dialects, sh.err) },
	}
	if m.control != "off" {
		scene.back = func(done <-chan struct{}) http.Handler {
			return control.New(server, control.Config{Done: done, Judge: judgeReply})
		}
	}
	for _, d := range m.dialects {
		scene.prefix[d.Name] = server.Base(d.Name)
	}
	err = m.serve(ctx, sh, scene, log, command)
	var exit exitError
	if errors.As(err, &exit) && exit.code >= exitSignal {
		return judge(server.Journal(), exit.code)
	}
	if err != nil {
		return err
	}
	return judge(server.Journal(), exitOK)
}

// A stage is what is served.
type stage struct {
	front    http.Handler
	back     func(done <-chan struct{}) http.Handler // of the control port; nil: there is none
	prefix   map[string]string                       // the path of the base URL, by dialect
	seed     *uint64
	watch    func() (stop func())
	shutdown func(context.Context) error
}

// A port is an address that is served.
type port struct {
	ln  net.Listener
	srv *http.Server
}

func (m *mock) serve(ctx context.Context, sh shell, scene stage, log *slog.Logger, command []string) error {
	secure, err := m.listener.tls()
	if err != nil {
		return err
	}
	ln, err := m.listener.open(false)
	if err != nil {
		return err
	}
	defer ln.Close()
	main := port{ln, m.limits.server(scene.front, log)}
	main.srv.TLSConfig = secure
	ports := []port{main}
	done := make(chan struct{})
	if scene.back != nil {
		at, err := net.Listen("tcp", m.control)
		if err != nil {
			return usage("--control %s: %v", m.control, errors.Unwrap(err))
		}
		defer at.Close()
		ports = append(ports, port{at, m.limits.server(scene.back(done), log)})
	}
	where := places{base: bases(root(ln, scheme(main.srv)), scene.prefix), seed: scene.seed} // serving changes what srv knows of TLS
	if len(ports) > 1 {
		where.control = root(ports[1].ln, "http")
	}
	failed := make(chan error, len(ports))
	for _, p := range ports {
		go func() { failed <- listen(p.srv, p.ln) }()
	}
	if m.watch && scene.watch != nil {
		defer scene.watch()()
	}
	if err := m.listener.announce(ctx, where.base, where.control); err != nil {
		return err
	}
	where.tell(sh.out)
	err = m.wait(ctx, sh, where, failed, command)
	end, cancel := context.WithTimeout(context.Background(), grace)
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
