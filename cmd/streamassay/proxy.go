package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/reports"
)

// A proxyOptions holds the flags of the proxy command.
type proxyOptions struct {
	lintOptions // how the exchanges are judged and reported

	endpoint    listenFlags
	log         logFlags
	upstream    string   // URL of the server, from --upstream
	headers     []string // values of --header, each 'Name: value'
	ca          string   // path of a PEM file with trusted certificates; "" means none
	transcripts string   // directory for transcripts; "" means none
}

// proxyCommand returns the proxy command, which forwards requests to a server and judges the
// exchanges.
func proxyCommand(sh stdio) *cobra.Command {
	p := proxyOptions{}
	cmd := &cobra.Command{
		Use:   "proxy --upstream URL [flags] [-- COMMAND [ARG...]]",
		Short: "Forward requests to a server, and judge the exchanges",
		Long: `Forward each request to the server at --upstream, stream its response back unchanged, and
judge the server with the checks of streamassay run when SIGINT or SIGTERM ends the proxy.
The client is not judged; streamassay mock --expect-report does that.
With a COMMAND, such as the tests of a client, the proxy runs it and judges the server when it
has ended, even if COMMAND fails or a signal ends the proxy. COMMAND gets the base URL of the
proxy, with the base path of the dialect (such as /api/v1/agent of runs), in the environment variable
PROXY_URL.

The exchanges of one thread form one conversation, in the order of their requests; all exchanges
without a thread form another. As in streamassay lint, a requirement is reported as fulfilled
only if one of the responses streams a whole run. Requests for anything but an operation of the
dialect are forwarded and not judged; only /healthz, /readyz and /metrics, if they are not paths
of the dialect, are answered by the proxy itself. If the server cannot be reached, the client gets
status 502, and the request is not judged. If a request is refused and its credentials differ from
those of the first successful request of its thread, it is judged as the request of another
user. At most 10000 conversations, with at most 256MiB of bodies in total, are judged. Later
conversations are forwarded and not judged, one in which that total is exceeded is not judged
at all, and in both cases the report is marked incomplete.

If the client or a signal ends a response, what arrived before is judged, but not the missing end.
` + wrapHelp("In reports and transcripts, "+redactedCredentials+" It replaces the values of --header, too.") + `

Exit codes: 0 no MUST requirement is violated and 3 does not apply, 1 a MUST requirement is violated
(with --strict: a MUST or SHOULD requirement) or COMMAND failed, 2 usage or configuration error
(e.g. the port is in use), 3 COMMAND did not fail, and there was neither a whole run nor a
violation, or the code would be 0 but the report is incomplete, 5 internal error and, with
COMMAND, 130 interrupted by SIGINT, 143 by SIGTERM, whatever the judgement.`,
		Example: `  streamassay proxy --dialect agkit --addr 127.0.0.1:4010 --upstream http://127.0.0.1:8080
  streamassay proxy --dialect runs --upstream http://127.0.0.1:8080 --report junit=r.xml -- npm test
  streamassay proxy --dialect agkit --upstream http://127.0.0.1:8080 -- sh -c 'curl -sN -H Content-Type:application/json -d @body.json $PROXY_URL/send-message'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, command, err := splitCommand(cmd, args)
			if err != nil {
				return err
			}
			if len(args) > 0 && strings.Contains(args[0], "://") {
				return usageError("proxy takes no arguments, got %q: write --upstream URL", withoutSecrets(args[0]))
			}
			if len(args) > 0 && command == nil && dialectHint(args[0]) == "" {
				return usageError("proxy takes no arguments, got %q: a COMMAND comes after --", args[0])
			}
			if err := rejectArguments(cmd, args); err != nil {
				return err
			}
			return p.run(cmd.Context(), sh, command)
		},
	}
	addFlagGroups(cmd, []flagGroup{
		{"Server", func(f *pflag.FlagSet) {
			f.Var((*nameList)(&p.dialects), "dialect", "`DIALECT` dialect of the server (required): "+dialectUsage)
			completeDialects(cmd)
			f.Var(&singleValue{value: &p.upstream}, "upstream", "`URL` URL of the server (required): a "+asTarget)
			f.StringArrayVar(&p.headers, "header", nil,
				"`'Name: value'` header to add to forwarded requests that lack it (repeatable)")
			f.StringVar(&p.ca, "ca", "", "`FILE` PEM file with the certificates to trust, instead of those of the system")
		}},
		{"Address", p.endpoint.addFlags},
		{"Judgement and reports", func(f *pflag.FlagSet) {
			p.addFlags(f)
			f.Var(&singleValue{value: &p.transcripts}, "transcripts",
				"`DIR` directory for the transcript of each conversation; existing files are kept: a new file whose name is taken "+
					"gets a number")
		}},
		{"Log", p.log.addFlags},
	})
	return cmd
}

// run forwards requests until the client command has ended or, if command is empty, until ctx is
// done. Then it judges the exchanges. It returns nil if the exit code is 0, and an error otherwise.
func (p *proxyOptions) run(ctx context.Context, sh stdio, command []string) error {
	cfg, err := p.recorderConfig()
	if err != nil {
		return err
	}
	report := &reports.Report{
		Tool: "streamassay", Version: buildVersion(), Started: time.Now().UTC(), Target: cfg.Upstream.String(),
	}
	outs, err := p.outputs()
	if err != nil {
		return err
	}
	inputs := append(documentPaths(p.dialects), p.ca)
	if err := p.endpoint.check(false, inputs...); err != nil {
		return err
	}
	if err := p.endpoint.checkUpstream("--upstream", cfg.Upstream); err != nil {
		return err
	}
	inputs = append(inputs, p.endpoint.cert, p.endpoint.key)
	if err := checkReports(outs, "--transcripts", p.transcripts, inputs...); err != nil {
		return err
	}
	ready := "--ready-file " + p.endpoint.readyFile
	for _, o := range outs {
		if err := o.destination.checkDistinct(o.flagText, p.endpoint.readyTo, ready); err != nil {
			return err
		}
	}
	seen := &proxiedConversations{dirPath: p.transcripts}
	cfg.Log = p.log.logger(sh.err)
	cfg.Save, cfg.OnExchange, cfg.OnUnreached = seen.save, seen.countForeign, seen.countUnreached
	if p.transcripts != "" {
		if seen.dir, err = replay.OpenRecordingDir(p.transcripts); err != nil {
			return usageError("--transcripts %s: %v", p.transcripts, withoutPath(err))
		}
		defer seen.dir.Close()
	}
	recorder, err := replay.NewRecorder(cfg)
	if err != nil {
		return usageError("--upstream %s: %v", withoutSecrets(p.upstream), err)
	}
	var open sync.WaitGroup // requests that are being served
	forward := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		recorder.ServeHTTP(w, r)
	})
	served := forwardingService(forward, cfg)
	served.endpoint, served.limits = &p.endpoint, &limitFlags{header: 64 << 10, idle: 2 * time.Minute}
	served.command, served.envPrefix = command, "PROXY"
	ended := served.run(ctx, sh)
	var exit exitError
	if ended != nil && (!errors.As(ended, &exit) || exit.code == exitUsage || exit.code == exitInternal) {
		return ended // nothing was served, or not any more
	}
	open.Wait()
	list, err := seen.transcripts()
	if err != nil {
		return exitError{exitInternal, err.Error()}
	}
	report.Incomplete = seen.incomplete
	if i, ok := interruptedBy(ctx); ok && len(command) > 0 { // without COMMAND, a signal is the usual end
		report.Incomplete, report.Exit = i.Error(), i.exitCode()
	}
	exitOnSecondSignal(ctx)
	if err := p.judge(context.WithoutCancel(ctx), sh, list, report, cfg.Upstream); err != nil {
		return err
	}
	if ended == nil {
		ended = exitWith(report.Exit)
	} else { // COMMAND failed, or a signal ended it
		report.Exit = exit.code
		report.Incomplete = cmp.Or(report.Incomplete, exit.message)
	}
	if len(list) == 0 && seen.incomplete == "" {
		why := seen.nothingReason(cfg.Dialect.Name, len(command) > 0)
		report.Incomplete = strings.TrimPrefix(report.Incomplete+"; "+why, "; ")
	}
	if err := writeReports(report, outs, sh, textStyle(sh, p.verbose)); err != nil {
		return withUnwritten(ended, []string{err.Error()})
	}
	return ended
}

// recorderConfig returns the configuration of the recorder that forwards the requests. The caller
// must set its fields Log and Save. recorderConfig returns a usage error if a flag is invalid.
func (p *proxyOptions) recorderConfig() (cfg replay.RecorderConfig, err error) {
	cfg.SaveDefective, cfg.TrustFlags = true, []string{"--ca"}
	if len(p.dialects) == 0 {
		return cfg, usageError("proxy needs --dialect, the dialect of the server (see streamassay list dialects), " +
			"and --upstream, its base URL")
	}
	if p.upstream == "" {
		return cfg, usageError("proxy needs --upstream: the base URL of the server, e.g. http://127.0.0.1:8080")
	}
	if cfg.Header, err = parseHeaders("--header", p.headers); err != nil {
		return cfg, err
	}
	if p.ca != "" {
		if cfg.CA, err = readCA(p.ca); err != nil {
			return cfg, usageError("--ca %s: %v", p.ca, err)
		}
	}
	if _, err := parseBase("--upstream", p.upstream); err != nil {
		return cfg, err
	}
	given, err := singleDialect(p.dialects)
	if err != nil {
		return cfg, err
	}
	cfg.Dialect = given[0]
	cfg.Upstream, err = baseURL("--upstream", p.upstream, cfg.Dialect)
	return cfg, err
}
