package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/control"
	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A mockOptions holds the flags and arguments of the mock command.
type mockOptions struct {
	endpoint     listenFlags
	control      string           // address of the control API, as HOST:PORT, or "off"
	defaults     mockDefaultFlags // settings that a script or a request can override
	journal      journal.Config   // limits on the size of the journal
	limits       limitFlags
	log          logFlags
	check        bool          // check the scripts and recordings, and serve nothing
	schema       bool          // print the JSON Schema of scripts, and serve nothing
	watch        bool          // reload scripts and recordings when they change
	expect       string        // path of the file that states what is expected of clients; "" means none
	expectReport string        // path of the report on the clients; "" means none
	poll         time.Duration // maximum time that a request waits for new events
	eventSource  bool          // support EventSource, see [reference.Config]
	upstream     string        // URL of --record; "" means not to record
	save         string        // directory for recordings
	headers      []string      // headers to add to forwarded requests, as 'Name: value'

	dialects []*dialect.Dialect // dialects to serve
	sources  mockSources        // scripts and recordings: the FILE arguments
	inputs   []string           // paths of sources and of the files that flags name; may contain ""
}

// mockCommand returns the mock command, which serves a mock of one or more dialects.
func mockCommand(sh stdio) *cobra.Command {
	m := mockOptions{poll: reference.DefaultPollInterval, journal: journal.DefaultConfig()}
	m.journal.Cursor = vary.DecodeCursor
	var names []string
	cmd := &cobra.Command{
		Use:   "mock [flags] [FILE...] [-- COMMAND [ARG...]]",
		Short: "Start a mock server with scripted replies and fault injection",
		Long: `Start a mock server that implements every operation of the selected dialects (default: all).
Several dialects are served below /NAME@VERSION/, a single one at the root. Without FILE it
replies as the reference server does (docs/prompts.md). A FILE is a script (.yaml), a recording
(.txtar, .http, .sse, .har), or a directory of those. Changed files are reloaded without
interrupting open streams; if one has an error, which is printed, those loaded before stay in use.
Any bearer token is accepted, and names the user. Requests without one are accepted, too,
except in a dialect that requires authentication, such as runs, where they get status 401.

The rules of all scripts are tried in the order of the FILEs (in a directory: of the names); the
first that matches a request replies:
  rules:
    - when: {text: {contains: weather}}
      reply: [{tool: {name: lookup, arguments: {city: Rome}, result: 21}}, {text: 21 degrees}]
    - reply: Ask me about the weather.
A request that no rule matches gets the recorded response to a request of the same operation
with the same new input (the last prompt, the tool results or answers to interrupts). If there
are several such responses, repeated requests, of all clients together, get them in turn, then
from the first again.
A recording without its request (.sse, or .http without NAME.request.json, see streamassay
lint --help) answers any request for a run's stream; one that does not name its dialect (.http,
.sse, .har, or a .txtar without "dialect:") needs exactly one --dialect. A request that nothing
matches gets the reply that it gets without FILE (see --strict).

The journal holds the latest exchanges (requests with their responses). The control address,
which is printed, shows it: a page for browsers and an API (docs/mock.md). With a COMMAND, the
mock runs it and exits when it ends. COMMAND gets these environment variables:
  MOCK_URLS      JSON object with the base URL of each dialect, NAME@VERSION
  MOCK_URL       the base URL, if exactly one dialect is served
  MOCK_CONTROL   the URL of the control address

The request headers X-Mock-Seed, X-Mock-Pace and X-Mock-Vary take precedence over --seed,
--pace and --vary. The pace of a rule takes precedence over --pace, and X-Mock-Pace over both.
The faults of the header X-Mock-Fault and of rules are added to those of --fault. The header
has the syntax of --fault; commas separate several faults: 'abort; event=3, drip'.

An expectation file (--expect) lists requests that clients must send:
  calls: [{op: run, contains: weather, exactly: 1}, {op: listen, at-least: 1}]
where op is what a request does: tell (read fixed information, such as health), run (start or
resume a run, also if the response is its stream), listen (read the stream of a run with a
separate request), cancel, history, attach (upload a file), sign (renew
the URL of a file) or transcribe; contains is a text in the body of the request. Other valid
requests are allowed, but with FILEs, one that starts a run must match a rule or a recording.
docs/mock.md describes all fields of scripts and expectation files.
With --expect or --expect-report, the requests of the clients are judged when COMMAND has
succeeded, or when a signal ends the mock. If COMMAND fails, nothing is judged or reported.
With COMMAND, a signal determines the exit code, whatever the judgement.

Exit codes: 0 success (without COMMAND: ended by SIGINT or SIGTERM), 1 COMMAND failed, a
client violated the protocol or the expectations, or --check found errors, 2 usage or
configuration error (e.g. the port is in use), 3 clients were to be judged but no request
arrived (even if a call was expected), 5 internal error and, with COMMAND, 130 interrupted by
SIGINT, 143 by SIGTERM.`,
		Example: `  streamassay mock --dialect runs --addr 127.0.0.1:4010
  streamassay mock script.yaml --dialect agkit --pace '{first: 300ms, rate: 40}'
  streamassay mock --check script.yaml
  streamassay mock --dialect agkit --record http://127.0.0.1:8080 --save recordings
  streamassay mock --dialect agkit recordings
  streamassay mock --dialect runs --expect calls.yaml -- npm test
  streamassay mock --dialect agkit --expect calls.yaml -- sh -c 'curl -sN -H Content-Type:application/json -d @body.json $MOCK_URL/send-message'`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			paths, command, err := splitCommand(cmd, args)
			if err != nil {
				return err
			}
			if err := m.checkFlags(cmd, paths, command); err != nil {
				return err
			}
			if err := checkPaths(paths); err != nil {
				return err
			}
			m.sources = paths
			if err := m.sources.validate(command); err != nil {
				return err
			}
			m.inputs = slices.Concat(paths, documentPaths(names), []string{m.expect})
			if err := m.endpoint.check(false, m.inputs...); err != nil {
				return err
			}
			if err := checkControl(m.control, m.endpoint.addr); err != nil {
				return err
			}
			if m.dialects, err = dialectsNamed("--dialect", names); err != nil {
				return err
			}
			return m.run(cmd.Context(), sh, command)
		},
	}
	addFlagGroups(cmd, []flagGroup{
		{"Server", func(f *pflag.FlagSet) {
			addDialectFlag(cmd, &names, "dialect to serve")
			f.BoolVar(&m.check, "check", false, "check the FILEs and exit without serving; exit code 1 if they have errors")
			f.BoolVar(&m.schema, "schema", false, "print the JSON Schema of scripts, for editors, and exit")
			f.BoolVar(&m.watch, "watch", true, "reload FILEs when they change; --watch=false: read them only at the start")
			f.Var(durationValue(&m.poll, 0), "poll",
				"time after which a request that waits for new events (a long poll) returns without any")
			f.BoolVar(&m.eventSource, "eventsource", false, eventSourceUsage)
		}},
		{"Defaults for all requests (for what headers and rules change, see above)", m.defaults.addFlags},
		{"Address", func(f *pflag.FlagSet) {
			m.endpoint.addFlags(f)
			f.StringVar(&m.control, "control", "127.0.0.1:0", "`HOST:PORT` loopback address of the control API and page, e.g. 127.0.0.1:4020, or off")
		}},
		{"Journal and expectations", func(f *pflag.FlagSet) {
			addJournalFlags(f, &m.journal)
			f.Var(&singleValue{value: &m.expect}, "expect",
				"`FILE` YAML file with requests that clients must send (see above); violations are printed when the "+
					"mock ends; exit code 1 if clients violate it or the protocol")
			f.Var(&singleValue{value: &m.expectReport}, "expect-report",
				"`PATH` write a JSON report on the clients' requests to PATH; exit code 1 if clients violate the protocol")
		}},
		{"Recording a real server, instead of mocking", func(f *pflag.FlagSet) {
			f.Var(&singleValue{value: &m.upstream}, "record",
				"`URL` forward requests to the server at URL (a "+asTarget+") and record each conversation (the exchanges of one "+
					"thread; exchanges without a thread form another); needs exactly one --dialect; cannot be combined with FILEs, "+
					"--watch, --check, --schema or --control, nor with flags that set defaults for all requests or concern the "+
					"journal and expectations; "+redactedCredentials)
			f.StringVar(&m.save, "save", "recordings",
				"`DIR` directory for the recordings; existing files are kept: a new file whose name is taken gets a number; "+
					"streamassay mock DIR replays the recordings")
			f.StringArrayVar(&m.headers, "header", nil,
				"`'Name: value'` header to add to forwarded requests that lack it (repeatable); never recorded")
		}},
		{"Limits", m.limits.addFlags},
		{"Log", m.log.addFlags},
	})
	return cmd
}

// run serves the mock until the client command has ended. If command is empty, it serves until ctx
// is done. Then it judges the requests of the clients, unless the command or the server has failed.
// It returns nil if the exit code is 0, and an error otherwise.
//
// With one of the following flags, run does something else instead: --schema prints the JSON Schema
// of scripts, --check prints the problems in the files, and --record forwards requests to a real
// server.
func (m *mockOptions) run(ctx context.Context, sh stdio, command []string) error {
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
	warnFaults(sh.err, cfg.Defaults.Faults, m.dialects)
	files, err := m.sources.load(sh.err, m.dialects)
	if err != nil {
		return err
	}
	cfg.Scripts, cfg.Replay = files.rules, files.library
	judge, err := m.clientJudge(sh, files, len(command) > 0)
	if err != nil {
		return err
	}
	startGCTuning(sh.env)
	log := m.log.logger(sh.err)
	m.journal.Dialects = m.dialects
	cfg.Journal = journal.New(m.journal)
	cfg.Server = reference.Config{
		PollInterval: m.poll, EventSource: m.eventSource, Log: log, Metrics: metrics.New(buildVersion()), Limits: m.limits.Limits,
	}
	server, err := mockserver.New(cfg)
	if err != nil {
		return err
	}
	seed := server.Seed()
	served := service{
		endpoint: &m.endpoint, limits: &m.limits, log: log, handler: server, shutdown: server.Shutdown,
		basePaths: map[string]string{}, control: m.control, seed: &seed, command: command,
	}
	if m.watch {
		served.watch = func() (stop func()) { return m.sources.watch(ctx, server, m.dialects, sh.err) }
	}
	if m.control != "off" {
		served.controlHandler = func(done <-chan struct{}) http.Handler {
			return control.New(server, control.Config{Done: done, Judge: judgeReply})
		}
	}
	for _, d := range m.dialects {
		served.basePaths[d.Name] = server.BasePath(d.Name)
	}
	err = served.run(ctx, sh)
	var exit exitError // whose code is exitOK unless a signal ended the command
	if err != nil && (!errors.As(err, &exit) || exit.code < exitcode.SignalBase) {
		return err
	}
	return judge(server.Journal(), exit.code)
}
