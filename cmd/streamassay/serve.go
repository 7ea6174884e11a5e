package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A listener is where a server of ours serves, and what it says of that.
type listener struct {
	addr, ready string
}

func (l *listener) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.addr, "addr", "127.0.0.1:0", "`HOST:PORT` to serve on; port 0 picks a free one")
	cmd.Flags().StringVar(&l.ready, "ready-file", "", "`PATH` to write process id and base URLs to once requests are served")
}

// open begins to listen. Only loopback addresses are served: there are no users
// to tell apart yet, so nobody else is let in.
func (l *listener) open() (net.Listener, error) {
	host, _, err := net.SplitHostPort(l.addr)
	if err != nil {
		return nil, usage("--addr %q: it is HOST:PORT, such as 127.0.0.1:4010", l.addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usage("--addr %s: only loopback addresses (127.0.0.1, ::1, localhost) are served: there is no authentication", l.addr)
	}
	ln, err := net.Listen("tcp", l.addr)
	if err != nil {
		return nil, usage("--addr %s: %v", l.addr, errors.Unwrap(err))
	}
	return ln, nil
}

// announce writes the ready file, in one step.
func (l *listener) announce(base map[string]string) error {
	if l.ready == "" {
		return nil
	}
	text, err := json.Marshal(map[string]any{"pid": os.Getpid(), "base": base})
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(l.ready), ".ready-*")
	if err != nil {
		return usage("--ready-file %s: %v", l.ready, plainError(err))
	}
	_, err = tmp.Write(append(text, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), l.ready)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return usage("--ready-file %s: %v", l.ready, err)
	}
	return nil
}

func serveCommand(sh shell) *cobra.Command {
	var l listener
	var names []string
	cfg := reference.Config{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the reference, with the scripted agent of docs/prompts.md behind it",
		Long: `Serve the reference server. With one --dialect its paths stand where the document has
them; with several, or none, each dialect is served below /NAME@VERSION/.`,
		Example: "  streamassay serve --dialect runs --addr 127.0.0.1:4010",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dialects, err := dialectsNamed(names)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), sh, l, dialects, len(names) == 1, cfg)
		},
	}
	l.addFlags(cmd)
	addDialectFlag(cmd, &names)
	cmd.Flags().DurationVar(&cfg.Poll, "poll", time.Second, "how long a silent poll of a stream is")
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument %q: %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// grace is how long streams under way have to end in an orderly way; the contract
// gives five seconds in all.
const grace = 3 * time.Second

func serve(ctx context.Context, sh shell, l listener, dialects []*dialect.Dialect, alone bool, cfg reference.Config) error {
	ln, err := l.open()
	if err != nil {
		return err
	}
	defer ln.Close()
	cfg.Log = slog.New(slog.NewTextHandler(sh.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	house, prefix := build(dialects, alone, cfg)
	srv := &http.Server{
		Handler: house, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(sh.err, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	base := bases("http://"+ln.Addr().String(), prefix)
	if err := l.announce(base); err != nil {
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

// A house is a reference server of one dialect or of several.
type house interface {
	http.Handler
	Shutdown(context.Context) error
}

// build makes the server of the dialects, and says what comes before the paths of
// each: one alone stands where its document says, several below their names.
func build(dialects []*dialect.Dialect, alone bool, cfg reference.Config) (h house, prefix map[string]string) {
	prefix = map[string]string{}
	for _, d := range dialects {
		if prefix[d.Name] = "/" + d.Name + d.Base; alone {
			prefix[d.Name] = d.Base
		}
	}
	if alone {
		return reference.New(dialects[0], reference.Scripted, cfg), prefix
	}
	return reference.All(dialects, reference.Scripted, cfg), prefix
}

// bases are the base URLs by dialect.
func bases(root string, prefix map[string]string) map[string]string {
	all := map[string]string{}
	for name, p := range prefix {
		all[name] = root + p
	}
	return all
}
