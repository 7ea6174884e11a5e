package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sync/singleflight"

	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/reference"
)

// An openedBackends holds the agent of a server and the configuration of the server, which includes
// the opened stores.
type openedBackends struct {
	agent reference.Agent
	cfg   reference.Config
}

// openBackends opens the backends that the flags select. It configures the server to write messages
// to log and to update the metrics m. If a backend cannot be opened, openBackends returns an error
// and leaves no store of runs open. Otherwise, the caller must call [openedBackends.closeStore].
//
// API keys come from the environment and not from flags, because all users of the machine can read
// command lines.
func (s *serveOptions) openBackends(
	ctx context.Context, sh stdio, log *slog.Logger, m *metrics.Counters,
) (b *openedBackends, err error) {
	key := sh.env("OPENAI_API_KEY")
	if strings.ContainsFunc(key, unicode.IsControl) {
		return nil, usageError("the environment variable OPENAI_API_KEY contains a control character, such as a newline")
	}
	settings := backendSettings{
		retention: s.retention, apiKey: key, model: s.backends.model, speechModel: s.backends.speechModel, log: log,
	}
	b = &openedBackends{cfg: reference.Config{
		Inline:    s.backends.agent.text == "scripted", // the scripted agent announces when it waits
		PublicURL: s.publicURL, EventSource: s.eventSource, PollInterval: s.poll, Log: log, Metrics: m,
		Limits: s.limits.Limits,
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closeStore())
		}
	}()
	if b.agent, err = s.backends.agent.open(ctx, settings); err != nil {
		return b, err
	}
	if b.cfg.Transcriber, err = s.backends.speech.open(ctx, settings); err != nil {
		return b, err
	}
	if b.cfg.Authenticator, err = s.auth.openAuthenticator(ctx, log); err != nil {
		return b, err
	}
	if b.cfg.Store, err = s.backends.state.open(ctx, settings); err != nil {
		return b, err
	}
	settings.signingKey, err = b.cfg.Store.Secret(ctx) // stored, so that links stay valid after a restart
	if err != nil {
		return b, s.backends.state.usageError(err)
	}
	if b.cfg.Files, err = s.backends.files.open(ctx, settings); err != nil {
		return b, err
	}
	within, cancel := context.WithTimeout(ctx, maxCheckTime)
	defer cancel()
	if err := b.cfg.Files.Ping(within); err != nil { // such as a missing bucket or a wrong key
		return b, s.backends.files.usageError(fmt.Errorf("a test file cannot be stored: %w", err))
	}
	return b, nil
}

// closeStore closes the store of runs if it is open, and returns the error from closing it. It must
// be called only after the server has been shut down. If closing takes longer than one second,
// closeStore returns an error instead of waiting, because the process must not hang on a store that
// has become unreachable.
func (b *openedBackends) closeStore() error {
	if b.cfg.Store == nil {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- b.cfg.Store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-time.After(time.Second):
		return errors.New("the store did not close within 1s")
	}
}

// maxCheckTime is the maximum duration of one test write to all stores together, whatever the
// time-outs of the requests that wait for it.
const maxCheckTime = 10 * time.Second

// readyCheck returns a function that checks whether the server can serve requests. The function
// returns an error if the context shutdown is done, which means that the server is shutting down,
// or if a test write to a store fails. It only logs why a write failed, because the reason may name
// internal hosts.
//
// Concurrent calls share one test write, so that many requests for /readyz do not load the stores.
// Each call returns at the latest when its context is done.
func (b *openedBackends) readyCheck(shutdown context.Context) func(context.Context) error {
	var checks singleflight.Group
	return func(ctx context.Context) error {
		if shutdown.Err() != nil {
			return errors.New("shutting down")
		}
		done := checks.DoChan("", func() (any, error) {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCheckTime)
			defer cancel()
			return nil, b.pingStores(within)
		})
		select {
		case result := <-done:
			return result.Err
		case <-ctx.Done():
			return errors.New("the stores did not answer in time")
		}
	}
}

// pingStores makes a test write to each store. It stops at the first store that fails, returns an
// error that names this store, and logs the reason.
func (b *openedBackends) pingStores(ctx context.Context) error {
	for _, store := range []struct {
		name string
		ping func(context.Context) error
	}{{"runs", b.cfg.Store.Ping}, {"attachments", b.cfg.Files.Ping}} {
		if err := store.ping(ctx); err != nil {
			b.cfg.Log.Warn("not ready", "store", store.name, "err", err)
			return fmt.Errorf("the store of %s cannot be written to", store.name)
		}
	}
	return nil
}
