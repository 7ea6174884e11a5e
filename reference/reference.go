// Package reference provides an HTTP server that serves an agent in a dialect, one version of a
// protocol.
//
// A [Server] works on [spec.Event] values, which are the same for all dialects: the
// [dialect.Dialect] decodes requests and encodes events, so that this package contains no protocol
// names, JSON keys or paths. An agent is a function; see [NewAgent].
package reference

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/streamassay/streamassay/internal/files"
	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/internal/speech"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config configures a [Server] or [DialectMux]. The zero value of each field is a usable
// default.
type Config struct {
	// Authenticator maps bearer tokens to users. If nil, every token is accepted as the name of its
	// user, and only operations for which the dialect's document requires credentials need a token.
	Authenticator Authenticator
	// Transcriber turns speech into text. If nil, the text is the comment in the WAV file (the
	// chunk ICMT) or, if there is none, a sentence with the duration of the recording.
	Transcriber Transcriber
	// PublicURL is the URL under which clients reach the server, such as
	// "https://agents.example.com". If empty, it is taken from each request.
	PublicURL string
	// EventSource makes the server support the EventSource API of browsers. This API cannot send an
	// Authorization header, so a request that streams an existing run may contain its token in the
	// query parameter access_token (RFC 6750, section 2.3). The API reconnects after every end of a
	// stream; to stop it, the server responds with status 204 if the run has ended and the client
	// has received all its events.
	EventSource bool
	// PollInterval is the time for which a resumable stream may be idle before the server sends
	// a keep-alive comment. 0 means DefaultPollInterval.
	PollInterval time.Duration
	Limits       Limits
	Log          *slog.Logger // nil discards log records
	// NewID returns a new id for a run, a thread or a task (the id in the confirmation that a
	// run was accepted). Its argument is the context of the request. If nil, ids are random
	// UUIDs.
	NewID func(context.Context) string
	Now   func() time.Time // the clock; nil means time.Now

	// Inline makes the server run the agent in the goroutine that serves the request, if
	// streams of the dialect cannot be resumed. The agent must announce its pauses (see [Agent]).
	Inline bool
	// Intercept, if set, is called with each decoded request and decides how to serve it.
	Intercept func(http.ResponseWriter, *http.Request, *ParsedRequest) Override

	// The program streamassay sets these fields; other modules cannot import their types.
	Store   state.Store       // nil means in memory
	Files   *files.Store      // nil means in memory
	Metrics *metrics.Counters // counts requests, runs and events; nil: they are not reported
}

// An Authenticator determines the user to whom a bearer token belongs. It has the method
//
//	Authenticate(ctx context.Context, token string) (user string, ok bool)
//
// which returns false for an invalid token. The method must be safe for concurrent use.
type Authenticator = identity.Authenticator

// A Transcriber is a function that returns the text of a speech recording:
//
//	func(ctx context.Context, wav []byte) (string, error)
//
// The server calls it only with valid WAV files, and may call it concurrently. If the Transcriber
// returns an error, the server responds with status 503.
type Transcriber = speech.Transcriber

// Limits are the limits on the resources that a request, a run or a user can consume. A zero field
// selects the default. The server refuses a request that exceeds RequestBytes with status 413, and
// one that exceeds StreamsPerUser with status 429. A run that exceeds EventBytes, RunBytes or
// RunDuration fails.
type Limits struct {
	RequestBytes   int64         // maximum size of a request body without a file, in bytes; default 1 MiB
	EventBytes     int           // maximum size of an encoded event, in bytes; default 24 MiB
	RunBytes       int           // maximum size of all encoded events of a run, in bytes; default 64 MiB
	RunDuration    time.Duration // maximum duration of a run; default 10 minutes
	FinishedRuns   int           // maximum number of finished runs kept in memory if Config.Store is nil; default 10,000
	StreamsPerUser int           // maximum number of open streams per user; default 4096
}

// DefaultPollInterval is the default of Config.PollInterval.
const DefaultPollInterval = time.Second

// DefaultLimits returns the default values of all limits.
func DefaultLimits() Limits {
	return Limits{
		RequestBytes: 1 << 20, EventBytes: 24 << 20, RunBytes: 64 << 20,
		RunDuration: 10 * time.Minute, FinishedRuns: state.MemoryMaxRuns, StreamsPerUser: 4096,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		RequestBytes: cmp.Or(l.RequestBytes, d.RequestBytes), EventBytes: cmp.Or(l.EventBytes, d.EventBytes),
		RunBytes: cmp.Or(l.RunBytes, d.RunBytes), RunDuration: cmp.Or(l.RunDuration, d.RunDuration),
		FinishedRuns: cmp.Or(l.FinishedRuns, d.FinishedRuns), StreamsPerUser: cmp.Or(l.StreamsPerUser, d.StreamsPerUser),
	}
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	c.PollInterval = cmp.Or(c.PollInterval, DefaultPollInterval)
	if c.Transcriber == nil {
		c.Transcriber = speech.Scripted
	}
	if c.NewID == nil {
		c.NewID = func(context.Context) string { return uuid.NewString() }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// A Server is an HTTP handler that serves an agent in one dialect.
type Server struct {
	dialect          *dialect.Dialect
	agent            Agent
	cfg              Config
	features         *eventFeatures
	registry         *runRegistry
	metrics          *metrics.DialectCounters
	ownsRegistry     bool                          // Shutdown closes the registry, because no other server uses it
	kinds            map[*dialect.Operation]string // the kind of each operation, one of OperationKinds
	defaultOperation *dialect.Operation            // encodes errors of requests that match no operation
	resumable        bool                          // streams can be resumed; runs continue when the client leaves
	hasClientTools   bool                          // clients can run tools and return the results
	acceptsUploads   bool                          // images are uploaded before they are used in messages

	ctx    context.Context // done when the server shuts down
	stop   context.CancelCauseFunc
	mu     sync.Mutex // guards closed, and calls of active.Add
	closed bool
	active sync.WaitGroup // requests and runs that have not ended; see beginWork
}

// The kinds of operations, by what a server does for them. All of them except opInfo and opRun are
// also names of templates. A template is a request that the dialect's document describes; the
// operation to which the request is sent has the kind with the same name.
const (
	opInfo       = "tell"       // replies with fixed information, such as health
	opRun        = "run"        // starts a run
	opListen     = "listen"     // streams an existing run
	opCancel     = "cancel"     // cancels a run
	opHistory    = "history"    // returns messages of a conversation
	opAttach     = "attach"     // stores a file
	opSign       = "sign"       // makes a new link to a file
	opTranscribe = "transcribe" // turns speech into text
)

// OperationKinds lists the possible values of [ParsedRequest].OperationKind.
var OperationKinds = []string{opInfo, opRun, opListen, opCancel, opHistory, opAttach, opSign, opTranscribe}

// New returns a server that serves agent in the dialect d. It serves the paths of d's OpenAPI
// document below d.Base. The caller must call Shutdown to release the server's resources.
func New(d *dialect.Dialect, agent Agent, cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := newServer(d, agent, cfg, newRunRegistry(cfg))
	s.ownsRegistry = true
	return s
}

// newServer returns a server that serves agent in the dialect d and keeps its runs in registry. cfg
// must be a result of Config.withDefaults.
func newServer(d *dialect.Dialect, agent Agent, cfg Config, registry *runRegistry) *Server {
	s := &Server{dialect: d, agent: agent, cfg: cfg, registry: registry, kinds: map[*dialect.Operation]string{}}
	for _, kind := range OperationKinds[2:] {
		if o, ok := d.TemplateOperation(kind); ok {
			s.kinds[o] = kind
			s.acceptsUploads = s.acceptsUploads || kind == opAttach
		}
	}
	if s.acceptsUploads && s.cfg.Files == nil {
		s.cfg.Files = files.NewMemory(files.Config{Now: cfg.Now})
	}
	var names []string
	for _, o := range d.Operations() {
		names = append(names, o.Name)
		s.kinds[o] = cmp.Or(s.kinds[o], opInfo)
		if o.StartsRun {
			s.kinds[o] = opRun
			s.defaultOperation = cmp.Or(s.defaultOperation, o)
		}
		if o.IsStream && (s.features == nil || s.kinds[o] == opListen) {
			s.features = newEventFeatures(o)
		}
	}
	s.metrics = cfg.Metrics.ForDialect(d.Name, names)
	s.resumable = slices.Contains(d.Kinds(), spec.SlotCursor)
	_, s.hasClientTools = d.TemplateOperation("tool-result")
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	registry.addServer(s)
	return s
}

// beginWork registers the start of a request or run, so that Shutdown waits for it. The caller must
// call s.active.Done when the request or run has ended. If Shutdown has already been called,
// beginWork registers nothing and returns false.
func (s *Server) beginWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.active.Add(1)
	}
	return !s.closed
}

// Shutdown stops the server. The server refuses new requests with status 503 and cancels every run,
// so that each open stream receives the terminal event of its run. Shutdown waits until all
// requests and runs have ended, and returns an error if ctx is done before that. It may be called
// again, for example with a longer deadline.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(errShutdown)
	s.registry.cancelAll(s.dialect.Name)
	done := make(chan struct{})
	go func() {
		s.active.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("streams of %s are still open: %w", s.dialect.Name, ctx.Err())
	}
	if s.ownsRegistry {
		s.registry.close()
	}
	return nil
}

// A DialectMux is an [http.Handler] that serves several dialects, each below /NAME@VERSION. It
// keeps the conversations of all dialects in one store.
type DialectMux struct {
	registry *runRegistry
	servers  []*Server
	mux      http.ServeMux
}

// NewDialectMux returns a handler that serves agent in each of the dialects. It serves the paths of
// a dialect d below "/" + d.Name + d.Base. The caller must call Shutdown to release the handler's
// resources.
func NewDialectMux(dialects []*dialect.Dialect, agent Agent, cfg Config) *DialectMux {
	cfg = cfg.withDefaults()
	if cfg.Files == nil {
		cfg.Files = files.NewMemory(files.Config{Now: cfg.Now})
	}
	m := &DialectMux{registry: newRunRegistry(cfg)}
	for _, d := range dialects {
		s := newServer(d, agent, cfg, m.registry)
		m.servers = append(m.servers, s)
		m.mux.Handle("/"+d.Name+"/", http.StripPrefix("/"+d.Name, s))
	}
	m.mux.HandleFunc("/", m.notFound)
	return m
}

// ServeHTTP passes the request to the server of the dialect that the path names. It responds with
// status 404 if the path names no dialect of the DialectMux.
func (m *DialectMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// notFound responds with status 404 and, as text, the paths below which the dialects are served.
func (m *DialectMux) notFound(w http.ResponseWriter, r *http.Request) {
	var paths []string
	for _, s := range m.servers {
		paths = append(paths, "/"+s.dialect.Name+"/")
	}
	text := fmt.Sprintf("no operation at %s: the dialects are served below %s", r.URL.Path, strings.Join(paths, ", "))
	http.Error(w, text, http.StatusNotFound)
}

// Shutdown calls [Server.Shutdown] concurrently for all dialects and waits until all calls have
// returned. It returns nil or the error for the first dialect, in the order of NewDialectMux, whose
// call failed.
func (m *DialectMux) Shutdown(ctx context.Context) error {
	errs := make([]error, len(m.servers))
	var wait sync.WaitGroup
	for i, s := range m.servers {
		wait.Go(func() { errs[i] = s.Shutdown(ctx) })
	}
	wait.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	m.registry.close()
	return nil
}

// target returns the escaped path of a request, relative to the base path of the dialect, and the
// query, if any, with the "?" before it. ok is false if the path is not below the base path.
func (s *Server) target(r *http.Request) (target string, ok bool) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), s.dialect.Base)
	if path = cmp.Or(path, "/"); !ok || path[0] != '/' {
		return "", false
	}
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	return path, true
}
