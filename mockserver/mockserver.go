// Package mockserver provides a mock server with scripted replies and fault injection. It wraps the
// reference server: endpoints, request validation and state are those of package reference, while
// scripts decide which events a run emits, at what pace, and which faults affect the response. The
// package contains nothing that is specific to a protocol or dialect. It does not judge clients; it
// records requests and responses in a journal.
package mockserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
	"github.com/streamassay/streamassay/internal/middleware"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config configures a [Server]. Only Dialects is required. The scripted agent of package
// reference answers each run that no script rule and no recording matches, unless Defaults.Strict
// is set. Some fields have types of internal packages; programs outside this module set those
// fields with an [Option].
type Config struct {
	Dialects []*dialect.Dialect // must not be empty; BasePath returns the path of each
	Seed     *uint64            // default seed of the random choices; nil: New chooses a random seed
	Clock    *Clock             // nil: a clock that is frozen at [Epoch] if Seed is set, and otherwise not frozen
	Defaults Defaults           // behavior where neither a script nor a request header specifies it
	Scripts  *script.RuleSet    // reply rules; nil: none
	Replay   *replay.Library    // recorded responses, for requests that no rule matches; nil: none
	Journal  *journal.Journal   // nil: a new journal with default limits
	Server   reference.Config   // reference server; New overwrites Store, NewID, Now, Inline and Intercept
}

// Defaults describes how the mock behaves where neither a script nor a request header specifies it.
type Defaults struct {
	Pace      pace.Pace    // timing of replies; the zero value adds no delays
	Faults    []fault.Spec // injected into the response to every request to which they apply
	Vary      *uint64      // seed of the variations of the encoding; nil: the encoding of the reference server
	Strict    bool         // refuse a run with status 501 if no rule or recording matches it
	FlushEach bool         // flush after every event; if false, events that are due at the same time share a flush
}

// A Server is a mock server for one or more dialects. It implements http.Handler, and its methods
// may be called concurrently.
type Server struct {
	cfg        Config
	journal    *journal.Journal
	clock      *Clock
	seed       uint64
	shared     *testScope                     // scope of requests that name no test; other scopes inherit its settings
	scopes     limitedMap[string, *testScope] // scopes of the tests, by the ids of the tests
	settingsMu sync.Mutex                     // serializes updates of settings
	requests   keyCounter                     // counts equal requests; see requestSeed
	plans      limitedMap[runKey, *faultPlan] // of runs that one request starts and others stream
	streams    liveStreams                    // the open streams
	variations limitedMap[variationKey, *vary.Variation]
	store      state.Resetter    // the store of backend
	backend    referenceHandler  // the reference server
	handler    http.Handler      // the method serve, wrapped in the handler of package middleware
	basePaths  map[string]string // results of BasePath, by the names of the dialects

	ctx          context.Context // canceled by Shutdown
	stop         context.CancelFunc
	requestCount atomic.Uint64 // requests so far; see requestID
}

// A referenceHandler is a *reference.Server or, for several dialects, a *reference.DialectMux.
type referenceHandler interface {
	http.Handler
	Shutdown(context.Context) error
}

// New returns a mock server with the configuration cfg, after applying the options to it. It
// returns an error if cfg contains no dialect, or if an option, a script or a recording is invalid.
// The caller must call Shutdown to stop the server.
func New(cfg Config, options ...Option) (*Server, error) {
	if len(cfg.Dialects) == 0 {
		return nil, fmt.Errorf("no dialect configured; known dialects are %v", dialect.Names())
	}
	if err := cfg.apply(options); err != nil {
		return nil, err
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
		s.journal = journal.New(journal.Config{Cursor: vary.DecodeCursor, Dialects: cfg.Dialects})
	}
	s.shared = newScope("", nil)
	s.scopes.limit, s.plans.limit, s.variations.limit = maxTests, maxPlans, maxVariations
	s.SetSettings("", s.initialSettings())
	r := cfg.Server
	r.Now, r.NewID, r.Intercept, r.Inline = s.clock.Now, newID, s.intercept, true
	r.Log = cmp.Or(r.Log, slog.New(slog.DiscardHandler))
	s.store = state.NewMemory(state.Config{MaxRuns: r.Limits.FinishedRuns, ThreadTag: s.threadTag})
	r.Store = s.store
	if len(cfg.Dialects) == 1 {
		d := cfg.Dialects[0]
		s.basePaths[d.Name] = d.Base
		s.backend = reference.New(d, reference.Scripted, r)
	} else {
		s.backend = reference.NewDialectMux(cfg.Dialects, reference.Scripted, r)
		for _, d := range cfg.Dialects {
			s.basePaths[d.Name] = "/" + d.Name + d.Base
		}
	}
	s.handler = middleware.New(http.HandlerFunc(s.serve), middleware.Config{
		Log: r.Log, Metrics: r.Metrics, NewID: s.requestID,
		AllowedOrigins: []string{"*"}, ExposedHeaders: []string{seedHeader},
	})
	return s, nil
}

// BasePath returns the path of the base URL of a dialect. The parameter name is the full name of
// the dialect, such as "runs@2026-04". The result is "" if the server does not serve that dialect.
func (s *Server) BasePath(name string) string { return s.basePaths[name] }

// Journal returns the record of the requests that the server received and the responses that it
// sent.
func (s *Server) Journal() *journal.Journal { return s.journal }

// Clock returns the clock of the server.
func (s *Server) Clock() *Clock { return s.clock }

// Seed returns the default seed of the random choices: [Config.Seed] or, if that is nil, a seed
// that New chose at random. A header of a request or the settings of a test can specify another
// seed.
func (s *Server) Seed() uint64 { return s.seed }

// Dialects returns the dialects that the server serves. The caller must not modify the slice.
func (s *Server) Dialects() []*dialect.Dialect { return s.cfg.Dialects }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Shutdown releases held streams, shuts down the reference server (see
// [reference.Server.Shutdown]), and waits until all requests have been served. It returns an error
// if ctx is done before that.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	for _, t := range s.streams.all() {
		t.Release()
	}
	return s.backend.Shutdown(ctx)
}

// Epoch is the time at which [New] freezes the clock if [Config.Seed] is set and [Config.Clock] is
// not. Responses contain timestamps, so a seed alone does not make them reproducible.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A Clock is a source of the current time that can be frozen. The zero value is a clock that is not
// frozen. The methods of a Clock may be called concurrently.
type Clock struct {
	fixed atomic.Pointer[time.Time]
}

// Now returns the system time, or the time at which the clock is frozen.
func (c *Clock) Now() time.Time {
	if at := c.fixed.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// FreezeAt freezes the clock: from then on, Now returns at, until Resume is called.
func (c *Clock) FreezeAt(at time.Time) { c.fixed.Store(&at) }

// Resume ends the effect of FreezeAt: from then on, Now returns the system time.
func (c *Clock) Resume() { c.fixed.Store(nil) }
