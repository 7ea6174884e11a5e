// Package reference is a server that gets it right. It thinks in [spec.Event] and
// lets a dialect's document do the spelling: it knows no protocol, no JSON key and
// no name of a dialect. What differs between dialects it asks of the document. What
// it has to remember it keeps in a [state.Store]; who its users are, what files are
// and how speech is understood is other packages' business.
package reference

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/reference/files"
	"github.com/streamassay/streamassay/reference/identity"
	"github.com/streamassay/streamassay/reference/metrics"
	"github.com/streamassay/streamassay/reference/speech"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config is what can be set. The zero value of each field is a sensible default.
type Config struct {
	Store         state.Store            // nil is in memory
	Files         *files.Store           // nil is in memory
	Transcriber   speech.Transcriber     // nil is the scripted one
	Authenticator identity.Authenticator // nil is that any token is a user of that name, and only asked for where the document says so
	PublicURL     string                 // "https://agents.example.com": how clients reach the server; "" is as they say themselves
	// EventSource serves the EventSource of browsers, which sends no header and comes
	// back after every end: the token of a stream may be the query parameter
	// access_token (RFC 6750 section 2.3), and a stream that is asked for from its last
	// event on is answered 204, which ends it.
	EventSource  bool
	PollInterval time.Duration // how often a stream that is listened to looks for events; 0 is a second
	Limits       Limits
	Metrics      *metrics.Counters // nil counts nothing
	Log          *slog.Logger      // nil is nowhere
	// IDs makes an id for the request of this context; nil is random UUIDs.
	NewID func(context.Context) string
	Now   func() time.Time

	// Inline says that the agent tells before it waits (see [Agent]): runs that nobody
	// can listen to later are then played by who serves the request, which saves a hand-over.
	Inline bool
	// Direct, if set, is told each request that was understood, and says how to serve it.
	Intercept func(http.ResponseWriter, *http.Request, *ParsedRequest) Override
}

// Limits are how much one request or user can make the server hold. Zero is the
// default.
type Limits struct {
	RequestBytes   int64         // bytes of a request's body that carries no file; 1 MiB
	EventBytes     int           // bytes of one event, as it is sent; 24 MiB
	RunBytes       int           // bytes of all events of a run; 64 MiB
	RunDuration    time.Duration // how long a run may take; ten minutes
	FinishedRuns   int           // finished runs that are kept in memory, if State is nil; 1000
	StreamsPerUser int           // streams of one user that are open; 4096
}

func (l Limits) withDefaults() Limits {
	l.RequestBytes = cmp.Or(l.RequestBytes, 1<<20)
	l.EventBytes = cmp.Or(l.EventBytes, 24<<20)
	l.RunBytes = cmp.Or(l.RunBytes, 64<<20)
	l.RunDuration = cmp.Or(l.RunDuration, 10*time.Minute)
	l.FinishedRuns = cmp.Or(l.FinishedRuns, 1000)
	l.StreamsPerUser = cmp.Or(l.StreamsPerUser, 4096)
	return l
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	c.PollInterval = cmp.Or(c.PollInterval, time.Second)
	if c.Transcriber == nil {
		c.Transcriber = speech.Scripted
	}
	if c.NewID == nil {
		c.NewID = newUUID
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// newUUID is a random UUID.
func newUUID(context.Context) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return UUIDv4(b)
}

// UUIDv4 is the version 4 UUIDv4 of random bytes (RFC 9562 section 5.4).
func UUIDv4(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var text [36]byte
	at := 0
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text[at] = '-'
			at++
		}
		hex.Encode(text[at:], []byte{c})
		at += 2
	}
	return string(text[:])
}

// A Server serves an agent in the words of one dialect.
type Server struct {
	dialect          *dialect.Dialect
	agent            Agent
	cfg              Config
	capabilities     *capabilities
	registry         *runRegistry
	metrics          *metrics.DialectCounters
	ownsRegistry     bool // the hub is for this server only
	kinds            map[*dialect.Operation]operationKind
	defaultOperation *dialect.Operation // whose problems are spelled where there is no operation
	resumable        bool               // streams can be taken up again, so runs outlive their listeners
	hasClientTools   bool               // clients can answer calls of their own tools
	acceptsUploads   bool               // images are uploaded before they are sent

	ctx    context.Context
	stop   context.CancelCauseFunc
	mu     sync.Mutex // of shut and work.Add
	closed bool
	active sync.WaitGroup
}

// A operationKind is what a server does for an operation.
type operationKind int

const (
	opInfo       operationKind = iota // a plain reply: health, and what the service is
	opRun                             // opens a run
	opListen                          // tells of a run
	opCancel                          // ends one
	opHistory                         // tells what was said
	opAttach                          // stores a file
	opSign                            // gives a new link to it
	opTranscribe                      // turns speech into text
)

var kindsByTemplate = map[string]operationKind{
	"listen": opListen, "cancel": opCancel, "history": opHistory, "attach": opAttach, "sign": opSign, "transcribe": opTranscribe,
}

// New makes a server of an agent. It serves the paths of d's document, below d.Base.
func New(d *dialect.Dialect, agent Agent, cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := newServer(d, agent, cfg, newRunRegistry(cfg))
	s.ownsRegistry = true
	return s
}

func newServer(d *dialect.Dialect, agent Agent, cfg Config, registry *runRegistry) *Server {
	s := &Server{dialect: d, agent: agent, cfg: cfg, registry: registry, kinds: map[*dialect.Operation]operationKind{}}
	for template, kind := range kindsByTemplate {
		if o, ok := d.TemplateOperation(template); ok {
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
		if o.StartsRun {
			s.kinds[o] = opRun
			s.defaultOperation = cmp.Or(s.defaultOperation, o)
		}
		if o.IsStream && (s.capabilities == nil || s.kinds[o] == opListen) {
			s.capabilities = newCapabilities(o)
		}
	}
	s.metrics = cfg.Metrics.ForDialect(d.Name, names)
	s.resumable = slices.Contains(d.Kinds(), spec.SlotCursor)
	_, s.hasClientTools = d.TemplateOperation("tool-result")
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	registry.addServer(s)
	return s
}

// beginWork counts a piece of work, unless the server is shut; s.work.Done ends it.
func (s *Server) beginWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.active.Add(1)
	}
	return !s.closed
}

// Shutdown ends every run and stream in an orderly way: those who listen are told
// that the run was canceled. It waits until they have been, or ctx is done. New
// requests are refused with 503.
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

// A Mux serves several dialects, each below /NAME@VERSION.
type Mux struct {
	registry *runRegistry
	servers  []*Server
	mux      http.ServeMux
}

// NewMux serves an agent in every one of the dialects: the paths of a dialect's
// document stand below "/", its name, and its Base.
func NewMux(dialects []*dialect.Dialect, agent Agent, cfg Config) *Mux {
	cfg = cfg.withDefaults()
	if cfg.Files == nil {
		cfg.Files = files.NewMemory(files.Config{Now: cfg.Now})
	}
	m := &Mux{registry: newRunRegistry(cfg)}
	for _, d := range dialects {
		s := newServer(d, agent, cfg, m.registry)
		m.servers = append(m.servers, s)
		m.mux.Handle("/"+d.Name+"/", http.StripPrefix("/"+d.Name, s))
	}
	return m
}

// ServeHTTP serves the dialect that the path names.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Shutdown is that of all servers, at the same time.
func (m *Mux) Shutdown(ctx context.Context) error {
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

// target is path and query as the document spells them; ok is false for what does
// not stand below the base.
func (s *Server) target(r *http.Request) (target string, ok bool) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), s.dialect.Base)
	if !ok || !strings.HasPrefix(path, "/") {
		return "", false
	}
	if r.URL.RawQuery != "" {
		path += "?" + r.URL.RawQuery
	}
	return path, true
}
