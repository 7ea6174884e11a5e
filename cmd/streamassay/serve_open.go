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
	"github.com/streamassay/streamassay/reference/meter"
	"github.com/streamassay/streamassay/reference/model"
	"github.com/streamassay/streamassay/reference/speech"
	"github.com/streamassay/streamassay/reference/state"
)

// A backstage is what was opened for a server, and has to be closed after it.
type backstage struct {
	agent reference.Agent
	cfg   reference.Config
	close []func() error
}

// open opens everything that a server was told to use. Secrets come from the
// environment: what stands in the command line all users of the machine can read.
func (s *server) open(ctx context.Context, sh shell, log *slog.Logger, m *meter.Meter) (b *backstage, err error) {
	b = &backstage{agent: reference.Scripted, cfg: reference.Config{
		Inline: s.parts.agent.kind != "openai", // the scripted one says when it waits
		Public: s.public, EventSource: s.browsers, Poll: s.poll.duration(), Log: log, Meter: m,
		Limits: reference.Limits{
			Body: int64(s.limits.body), Event: int(s.limits.event), Log: int(s.limits.log),
			Run: s.limits.run.duration(), Runs: int(s.kept.runs), Streams: int(s.limits.streams),
		},
	}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.end())
		}
	}()
	key := sh.env("OPENAI_API_KEY")
	if s.parts.agent.kind == "openai" {
		if b.agent, err = model.New(model.Config{Base: s.parts.agent.rest, Key: key, Model: s.parts.model, Tools: model.Tools()}); err != nil {
			return b, s.parts.agent.failed(err)
		}
	}
	if b.cfg.Speech, err = speech.Open(s.parts.speech.text, speech.Config{Key: key, Model: s.parts.speechModel}); err != nil {
		return b, s.parts.speech.failed(err)
	}
	if b.cfg.Users, err = s.door.open(ctx, log); err != nil {
		return b, err
	}
	return b, s.stores(ctx, b)
}

// stores opens where conversations and attachments are kept.
func (s *server) stores(ctx context.Context, b *backstage) (err error) {
	if b.cfg.State, err = s.store(ctx); err != nil {
		return s.parts.state.failed(err)
	}
	b.close = append(b.close, b.cfg.State.Close)
	secret, err := b.cfg.State.Secret(ctx) // so links live as long as what is kept
	if err != nil {
		return s.parts.state.failed(err)
	}
	if b.cfg.Files, err = files.Open(ctx, s.parts.files.text, files.Config{Key: secret}); err != nil {
		return s.parts.files.failed(err)
	}
	b.close = append(b.close, b.cfg.Files.Close)
	return nil
}

// store opens where conversations are kept.
func (s *server) store(ctx context.Context) (state.Store, error) {
	cfg := state.Config{Runs: int(s.kept.runs), Bytes: int64(s.kept.bytes)}
	switch p := s.parts.state; p.kind {
	case "memory":
		return state.Memory(cfg), nil
	case "sqlite":
		return state.SQLite(p.rest, cfg)
	default:
		return state.Redis(ctx, p.rest, cfg)
	}
}

// failed says that a part cannot be used.
func (p *part) failed(err error) error { return usage("--%s %s: %v", p.flag, bare(p.text), err) }

// end closes what was opened, the last first. What does not close in time is left to
// the end of the process, which must not wait for a medium that is gone.
func (b *backstage) end() error {
	closed := make(chan error, 1)
	go func() {
		var err error
		for i := len(b.close) - 1; i >= 0; i-- {
			err = errors.Join(err, b.close[i]())
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

// ready says why requests cannot be served now: something is written to each store. What
// exactly is wrong is written down, and not told to everybody.
func (b *backstage) ready(ending context.Context) func(context.Context) error {
	var look looking
	return func(ctx context.Context) error {
		if ending.Err() != nil {
			return errors.New("shutting down")
		}
		return look.share(ctx, b.stored)
	}
}

// stored tries whether each store keeps what it is given.
func (b *backstage) stored(ctx context.Context) error {
	for _, one := range []struct {
		of   string
		ping func(context.Context) error
	}{{"conversations", b.cfg.State.Ping}, {"attachments", b.cfg.Files.Ping}} {
		if err := one.ping(ctx); err != nil {
			b.cfg.Log.Warn("not ready", "store", one.of, "err", err)
			return fmt.Errorf("the store of %s cannot be written to", one.of)
		}
	}
	return nil
}

// looking is done once for all who ask meanwhile, however many they are: it writes. One
// that hangs holds nobody up for longer than they wait.
type looking struct {
	mu  sync.Mutex
	now *look
}

type look struct {
	done chan struct{}
	err  error
}

// lookWait is how long a look may take in all.
const lookWait = 10 * time.Second

func (l *looking) share(ctx context.Context, do func(context.Context) error) error {
	l.mu.Lock()
	now := l.now
	if now == nil {
		now = &look{done: make(chan struct{})}
		l.now = now
		go func() {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWait)
			defer cancel()
			now.err = do(within)
			l.mu.Lock()
			l.now = nil
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
