package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/files"
	"github.com/streamassay/streamassay/reference/files/blob"
	"github.com/streamassay/streamassay/reference/files/s3"
	"github.com/streamassay/streamassay/reference/metrics"
	"github.com/streamassay/streamassay/reference/model"
	"github.com/streamassay/streamassay/reference/speech"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/reference/state/durable"
)

// An openedBackends holds the agent and the stores of a server. The stores must be closed only
// after the server has been shut down.
type openedBackends struct {
	agent   reference.Agent
	cfg     reference.Config
	closers []func() error
}

// openBackends opens the backends that the flags select. If one cannot be opened, those opened
// before are closed again. API keys are read from the environment, because all users of the machine
// can read command lines.
func (s *serveOptions) openBackends(
	ctx context.Context, sh stdio, log *slog.Logger, m *metrics.Counters,
) (b *openedBackends, err error) {
	b = &openedBackends{agent: reference.Scripted, cfg: reference.Config{
		Inline:    s.backends.agent.kind != "openai", // the scripted agent announces when it waits
		PublicURL: s.publicURL, EventSource: s.eventSource, PollInterval: s.poll, Log: log, Metrics: m,
		Limits: s.limits.Limits,
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closeAll())
		}
	}()
	key := sh.env("OPENAI_API_KEY")
	if s.backends.agent.kind == "openai" {
		b.agent, err = model.New(model.Config{
			BaseURL: s.backends.agent.location, APIKey: key, Model: s.backends.model, Tools: model.BuiltinTools(),
		})
		if err != nil {
			return b, s.backends.agent.openError(err)
		}
	}
	b.cfg.Transcriber, err = speech.Open(s.backends.speech.text, speech.Config{APIKey: key, Model: s.backends.speechModel})
	if err != nil {
		return b, s.backends.speech.openError(err)
	}
	if b.cfg.Authenticator, err = s.auth.openAuthenticator(ctx, log); err != nil {
		return b, err
	}
	return b, s.openStores(ctx, b)
}

// openStores opens the stores of threads and of attachments, and adds them to the configuration and
// the closers of b.
func (s *serveOptions) openStores(ctx context.Context, b *openedBackends) (err error) {
	if b.cfg.Store, err = s.openStateStore(ctx); err != nil {
		return s.backends.state.openError(err)
	}
	b.closers = append(b.closers, b.cfg.Store.Close)
	secret, err := b.cfg.Store.Secret(ctx) // stored, so that links stay valid after a restart
	if err != nil {
		return s.backends.state.openError(err)
	}
	if b.cfg.Files, err = s.openFileStore(secret); err != nil {
		return s.backends.files.openError(err)
	}
	return nil
}

// openFileStore opens the store of attachments that the flags select, which signs its links with a
// secret.
func (s *serveOptions) openFileStore(secret []byte) (*files.Store, error) {
	cfg := files.Config{SigningKey: secret}
	var storage blob.Storage
	var err error
	switch p := s.backends.files; p.kind {
	case "memory":
		return files.NewMemory(cfg), nil
	case "dir":
		storage, err = blob.OpenDir(p.location)
	default:
		storage, err = s3.Open(p.location)
	}
	if err != nil {
		return nil, err
	}
	return files.New(storage, cfg)
}

// openStateStore opens the store of threads and runs that the flags select.
func (s *serveOptions) openStateStore(ctx context.Context) (state.Store, error) {
	return durable.Open(ctx, s.backends.state.text, s.retention)
}

// openError returns a usage error for err, the reason why the backend cannot be opened. The URL of
// the backend is shown without secrets.
func (p *backendFlag) openError(err error) error {
	return usageError("--%s %s: %v", p.flag, withoutSecrets(p.text), err)
}

// closeAll closes the stores in the reverse order of opening. If that takes more than one second,
// it stops waiting and returns an error, because the process must not hang on a store that has
// become unreachable.
func (b *openedBackends) closeAll() error {
	closed := make(chan error, 1)
	go func() {
		var err error
		for i := len(b.closers) - 1; i >= 0; i-- {
			err = errors.Join(err, b.closers[i]())
		}
		closed <- err
	}()
	select {
	case err := <-closed:
		return err
	case <-time.After(time.Second):
		return errors.New("stores did not close within 1s")
	}
}

// readyCheck returns a function that returns an error if requests cannot be served: because the
// context ending is done, which means that the server is shutting down, or because a test write to
// a store fails. The cause of a failed write is only logged, because it may name internal hosts.
func (b *openedBackends) readyCheck(ending context.Context) func(context.Context) error {
	var look sharedCheck
	return func(ctx context.Context) error {
		if ending.Err() != nil {
			return errors.New("shutting down")
		}
		return look.run(ctx, b.pingStores)
	}
}

// pingStores makes a test write to each store. It returns an error that names the first store that
// fails, and logs the cause.
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

// A sharedCheck runs a check once for all callers that wait at the same time, so that many requests
// for /readyz cause only one write to the stores. A check that hangs does not delay a caller beyond
// the caller's own context.
type sharedCheck struct {
	mu      sync.Mutex
	current *checkRun
}

// A checkRun is one check that is in progress or done. The field err may be read only after done is
// closed.
type checkRun struct {
	done chan struct{}
	err  error
}

// maxCheckTime is the maximum duration of one check, even if its callers would wait longer.
const maxCheckTime = 10 * time.Second

// run waits for the check in progress and returns its error. If no check is in progress, run first
// starts do as one. If ctx ends before the check, run returns an error at once.
func (l *sharedCheck) run(ctx context.Context, do func(context.Context) error) error {
	l.mu.Lock()
	now := l.current
	if now == nil {
		now = &checkRun{done: make(chan struct{})}
		l.current = now
		go func() {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxCheckTime)
			defer cancel()
			now.err = do(within)
			l.mu.Lock()
			l.current = nil
			l.mu.Unlock()
			close(now.done)
		}()
	}
	l.mu.Unlock()
	select {
	case <-now.done:
		return now.err
	case <-ctx.Done():
		return errors.New("the stores did not answer in time")
	}
}
