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
	"github.com/streamassay/streamassay/reference/metrics"
	"github.com/streamassay/streamassay/reference/model"
	"github.com/streamassay/streamassay/reference/speech"
	"github.com/streamassay/streamassay/reference/state"
)

// A openedBackends is what was opened for a server, and has to be closed after it.
type openedBackends struct {
	agent   reference.Agent
	cfg     reference.Config
	closers []func() error
}

// openBackends opens everything that a server was told to use. Secrets come from the
// environment: what stands in the command line all users of the machine can read.
func (s *serveOptions) openBackends(ctx context.Context, sh stdio, log *slog.Logger, m *metrics.Counters) (b *openedBackends, err error) {
	b = &openedBackends{agent: reference.Scripted, cfg: reference.Config{
		Inline:    s.backends.agent.kind != "openai", // the scripted one says when it waits
		PublicURL: s.publicURL, EventSource: s.eventSource, PollInterval: s.poll.value(), Log: log, Metrics: m,
		Limits: reference.Limits{
			RequestBytes: int64(s.limits.body), EventBytes: int(s.limits.event), RunBytes: int(s.limits.log),
			RunDuration: s.limits.run.value(), FinishedRuns: int(s.retention.runs), StreamsPerUser: int(s.limits.streams),
		},
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.closeAll())
		}
	}()
	key := sh.env("OPENAI_API_KEY")
	if s.backends.agent.kind == "openai" {
		if b.agent, err = model.New(model.Config{BaseURL: s.backends.agent.location, APIKey: key, Model: s.backends.model, Tools: model.BuiltinTools()}); err != nil {
			return b, s.backends.agent.openError(err)
		}
	}
	if b.cfg.Transcriber, err = speech.Open(s.backends.speech.text, speech.Config{APIKey: key, Model: s.backends.speechModel}); err != nil {
		return b, s.backends.speech.openError(err)
	}
	if b.cfg.Authenticator, err = s.auth.openAuthenticator(ctx, log); err != nil {
		return b, err
	}
	return b, s.openStores(ctx, b)
}

// openStores opens where conversations and attachments are kept.
func (s *serveOptions) openStores(ctx context.Context, b *openedBackends) (err error) {
	if b.cfg.Store, err = s.openStateStore(ctx); err != nil {
		return s.backends.state.openError(err)
	}
	b.closers = append(b.closers, b.cfg.Store.Close)
	secret, err := b.cfg.Store.Secret(ctx) // so links live as long as what is kept
	if err != nil {
		return s.backends.state.openError(err)
	}
	if b.cfg.Files, err = files.Open(ctx, s.backends.files.text, files.Config{SigningKey: secret}); err != nil {
		return s.backends.files.openError(err)
	}
	b.closers = append(b.closers, b.cfg.Files.Close)
	return nil
}

// openStateStore opens where conversations are kept.
func (s *serveOptions) openStateStore(ctx context.Context) (state.Store, error) {
	cfg := state.Config{MaxRuns: int(s.retention.runs), MaxBytes: int64(s.retention.bytes)}
	switch p := s.backends.state; p.kind {
	case "memory":
		return state.NewMemory(cfg), nil
	case "sqlite":
		return state.OpenSQLite(p.location, cfg)
	default:
		return state.OpenRedis(ctx, p.location, cfg)
	}
}

// openError says that a part cannot be used.
func (p *backendFlag) openError(err error) error {
	return usageError("--%s %s: %v", p.flag, withoutSecrets(p.text), err)
}

// closeAll closes what was opened, the last first. What does not close in time is left to
// the end of the process, which must not wait for a medium that is gone.
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
		return errors.New("what was opened does not close")
	}
}

// readyCheck says why requests cannot be served now: something is written to each store. What
// exactly is wrong is written down, and not told to everybody.
func (b *openedBackends) readyCheck(ending context.Context) func(context.Context) error {
	var look sharedCheck
	return func(ctx context.Context) error {
		if ending.Err() != nil {
			return errors.New("shutting down")
		}
		return look.run(ctx, b.pingStores)
	}
}

// pingStores tries whether each store keeps what it is given.
func (b *openedBackends) pingStores(ctx context.Context) error {
	for _, one := range []struct {
		of   string
		ping func(context.Context) error
	}{{"conversations", b.cfg.Store.Ping}, {"attachments", b.cfg.Files.Ping}} {
		if err := one.ping(ctx); err != nil {
			b.cfg.Log.Warn("not ready", "store", one.of, "err", err)
			return fmt.Errorf("the store of %s cannot be written to", one.of)
		}
	}
	return nil
}

// sharedCheck is done once for all who ask meanwhile, however many they are: it writes. One
// that hangs holds nobody up for longer than they wait.
type sharedCheck struct {
	mu      sync.Mutex
	current *checkRun
}

type checkRun struct {
	done chan struct{}
	err  error
}

// maxCheckTime is how long a look may take in all.
const maxCheckTime = 10 * time.Second

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
		return errors.New("the stores do not answer in time")
	}
}
