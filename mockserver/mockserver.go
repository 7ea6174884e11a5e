// Package mockserver is a server that behaves, or misbehaves, exactly as it is told. It
// is the reference with a hand on it: every endpoint, every check of requests and all
// that is remembered is the reference's; what is said, when, and how it goes wrong on
// its way comes from scripts. It knows no protocol and no dialect by name, and it does
// not judge: what was asked and what was delivered stands in its journal.
package mockserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/journal"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/mockserver/script"
	"github.com/streamassay/streamassay/mockserver/vary"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/middleware"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config is what a mock is told. Everything but Dialects may be left out.
type Config struct {
	Dialects []*dialect.Dialect // one stands where its document says; several below /NAME@VERSION
	Seed     *uint64            // all chance comes from it, and the clock stands still; nil: a new one
	Clock    *Clock             // what time it is said to be; nil: the time, or with a seed [Epoch]
	Defaults Defaults           // how everything is played where no script says otherwise
	Scripts  *script.RuleSet    // nil: every request is answered by the scripted agent of the reference
	Replay   *replay.Library    // recorded answers, which come first
	Journal  *journal.Journal   // nil: a new one, with its defaults
	Server   reference.Config   // limits, users, log and so on; State, IDs, Now, Inline and Direct are the mock's
}

// Defaults are how everything is played where nothing else is said.
type Defaults struct {
	Pace      pace.Pace
	Faults    []fault.Spec
	Vary      *uint64 // every stream in another legal spelling, by this seed; nil: as the reference spells
	Strict    bool    // a run that no rule matches is refused, not answered by the default agent
	FlushEach bool    // every event is flushed by itself; else what is due at once goes out at once
}

// A Server is a mock of one dialect, or of several. It is an http.Handler.
type Server struct {
	cfg        Config
	journal    *journal.Journal
	clock      *Clock
	seed       uint64
	scopes     scopes
	plans      faultPlans
	streams    streams
	variations variations
	store      state.Resetter
	backend    dialectServer
	handler    http.Handler
	basePaths  map[string]string

	ctx          context.Context
	stop         context.CancelFunc
	requestCount atomic.Uint64
}

// A dialectServer is a reference server of one dialect or of several.
type dialectServer interface {
	http.Handler
	Shutdown(context.Context) error
}

// New makes a mock. It is closed by Shutdown.
func New(cfg Config) (*Server, error) {
	if len(cfg.Dialects) == 0 {
		return nil, fmt.Errorf("a mock needs a dialect: %v", dialect.Names())
	}
	s := &Server{cfg: cfg, journal: cfg.Journal, clock: cfg.Clock, basePaths: map[string]string{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.seed = rand.Uint64() >> 11 // JSON numbers keep 53 bits
	if cfg.Seed != nil {
		s.seed = *cfg.Seed
	}
	if s.clock == nil {
		s.clock = &Clock{}
		if cfg.Seed != nil {
			s.clock.FreezeAt(Epoch)
		}
	}
	if s.journal == nil {
		s.journal = journal.New(journal.Config{Cursor: vary.DecodeCursor})
	}
	s.scopes.shared, s.scopes.all = newScope("", nil), map[string]*scope{}
	s.SetSettings("", s.initialSettings())
	r := cfg.Server
	r.Now, r.NewID, r.Intercept, r.Inline = s.clock.Now, newID, s.intercept, true
	r.Log = cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	s.store = state.NewMemory(state.Config{Now: s.clock.Now, MaxRuns: r.Limits.FinishedRuns, ThreadTag: s.threadTag})
	r.Store = s.store
	if len(cfg.Dialects) == 1 {
		d := cfg.Dialects[0]
		s.basePaths[d.Name] = d.Base
		s.backend = reference.New(d, reference.Scripted, r)
	} else {
		s.backend = reference.NewMux(cfg.Dialects, reference.Scripted, r)
		for _, d := range cfg.Dialects {
			s.basePaths[d.Name] = "/" + d.Name + d.Base
		}
	}
	s.handler = middleware.New(http.HandlerFunc(s.serve), middleware.Config{Log: r.Log, Metrics: r.Metrics, AllowedOrigins: []string{"*"}, ExposedHeaders: []string{seedHeader}, NewID: s.requestID})
	return s, nil
}

// BasePath is the path of a dialect's base URL, "" if it is not served.
func (s *Server) BasePath(name string) string { return s.basePaths[name] }

// Journal is what was asked, and what was delivered.
func (s *Server) Journal() *journal.Journal { return s.journal }

// Clock is what time the mock says it is.
func (s *Server) Clock() *Clock { return s.clock }

// Seed is where all chance comes from.
func (s *Server) Seed() uint64 { return s.seed }

// Dialects are those that are served.
func (s *Server) Dialects() []*dialect.Dialect { return s.cfg.Dialects }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Shutdown ends every stream in an orderly way, as the reference does; those that are
// held are let go.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	for _, t := range s.streams.all() {
		t.Release()
	}
	err := s.backend.Shutdown(ctx)
	return err
}

// Epoch is the time of a mock that was given a seed: the same bytes need the same time.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A Clock is what time it is said to be. The zero value tells the time.
type Clock struct {
	fixed atomic.Pointer[time.Time]
}

// Now is the time.
func (c *Clock) Now() time.Time {
	if at := c.fixed.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// FreezeAt makes the clock stand still at a time.
func (c *Clock) FreezeAt(at time.Time) { c.fixed.Store(&at) }

// Resume makes the clock tell the time again.
func (c *Clock) Resume() { c.fixed.Store(nil) }
