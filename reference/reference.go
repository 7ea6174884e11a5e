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
	"github.com/streamassay/streamassay/reference/meter"
	"github.com/streamassay/streamassay/reference/speech"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config is what can be set. The zero value of each field is a sensible default.
type Config struct {
	State  state.Store   // nil is in memory
	Files  *files.Shelf  // nil is in memory
	Speech speech.Ear    // nil is the scripted one
	Users  identity.Book // nil is that any token is a user of that name, and only asked for where the document says so
	Public string        // "https://agents.example.com": how clients reach the server; "" is as they say themselves
	// EventSource serves the EventSource of browsers, which sends no header and comes
	// back after every end: the token of a stream may be the query parameter
	// access_token (RFC 6750 section 2.3), and a stream that is asked for from its last
	// event on is answered 204, which ends it.
	EventSource bool
	Poll        time.Duration // how often a stream that is listened to looks for events; 0 is a second
	Limits      Limits
	Meter       *meter.Meter // nil counts nothing
	Log         *slog.Logger // nil is nowhere
	// IDs makes an id for the request of this context; nil is random UUIDs.
	IDs func(context.Context) string
	Now func() time.Time

	// Inline says that the agent tells before it waits (see [Agent]): runs that nobody
	// can listen to later are then played by who serves the request, which saves a hand-over.
	Inline bool
	// Direct, if set, is told each request that was understood, and says how to serve it.
	Direct func(http.ResponseWriter, *http.Request, *Heard) Direction
}

// Limits are how much one request or user can make the server hold. Zero is the
// default.
type Limits struct {
	Body    int64         // bytes of a request's body that carries no file; 1 MiB
	Event   int           // bytes of one event, as it is sent; 24 MiB
	Log     int           // bytes of all events of a run; 64 MiB
	Run     time.Duration // how long a run may take; ten minutes
	Runs    int           // finished runs that are kept in memory, if State is nil; 1000
	Streams int           // streams of one user that are open; 4096
}

func (l Limits) filled() Limits {
	l.Body = cmp.Or(l.Body, 1<<20)
	l.Event = cmp.Or(l.Event, 24<<20)
	l.Log = cmp.Or(l.Log, 64<<20)
	l.Run = cmp.Or(l.Run, 10*time.Minute)
	l.Runs = cmp.Or(l.Runs, 1000)
	l.Streams = cmp.Or(l.Streams, 4096)
	return l
}

func (c Config) filled() Config {
	c.Limits = c.Limits.filled()
	c.Poll = cmp.Or(c.Poll, time.Second)
	if c.Speech == nil {
		c.Speech = speech.Scripted
	}
	if c.IDs == nil {
		c.IDs = newUUID
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
	return UUID(b)
}

// UUID is the version 4 UUID of random bytes (RFC 9562 section 5.4).
func UUID(b [16]byte) string {
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
	dialect *dialect.Dialect
	agent   Agent
	cfg     Config
	voice   *voice
	hub     *hub
	count   *meter.Dialect
	alone   bool // the hub is for this server only
	roles   map[*dialect.Operation]role
	asks    *dialect.Operation // whose problems are spelled where there is no operation
	resumes bool               // streams can be taken up again, so runs outlive their listeners
	offers  bool               // clients can answer calls of their own tools
	uploads bool               // images are uploaded before they are sent

	ctx  context.Context
	stop context.CancelCauseFunc
	mu   sync.Mutex // of shut and work.Add
	shut bool
	work sync.WaitGroup
}

// A role is what a server does for an operation.
type role int

const (
	tells      role = iota // a plain reply: health, and what the service is
	runs                   // opens a run
	listen                 // tells of a run
	cancel                 // ends one
	history                // tells what was said
	attach                 // stores a file
	sign                   // gives a new link to it
	transcribe             // turns speech into text
)

var phrases = map[string]role{
	"listen": listen, "cancel": cancel, "history": history, "attach": attach, "sign": sign, "transcribe": transcribe,
}

// New makes a server of an agent. It serves the paths of d's document, below d.Base.
func New(d *dialect.Dialect, agent Agent, cfg Config) *Server {
	cfg = cfg.filled()
	s := newServer(d, agent, cfg, newHub(cfg))
	s.alone = true
	return s
}

func newServer(d *dialect.Dialect, agent Agent, cfg Config, h *hub) *Server {
	s := &Server{dialect: d, agent: agent, cfg: cfg, hub: h, roles: map[*dialect.Operation]role{}}
	for phrase, role := range phrases {
		if o, ok := d.TemplateOperation(phrase); ok {
			s.roles[o] = role
			s.uploads = s.uploads || role == attach
		}
	}
	if s.uploads && s.cfg.Files == nil {
		s.cfg.Files = files.Memory(files.Config{Now: cfg.Now})
	}
	var names []string
	for _, o := range d.Operations() {
		names = append(names, o.Name)
		if o.StartsRun {
			s.roles[o] = runs
			s.asks = cmp.Or(s.asks, o)
		}
		if o.IsStream && (s.voice == nil || s.roles[o] == listen) {
			s.voice = newVoice(o)
		}
	}
	s.count = cfg.Meter.Dialect(d.Name, names)
	s.resumes = slices.Contains(d.Kinds(), spec.SlotCursor)
	_, s.offers = d.TemplateOperation("tool-result")
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	h.add(s)
	return s
}

// enter counts a piece of work, unless the server is shut; s.work.Done ends it.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shut {
		s.work.Add(1)
	}
	return !s.shut
}

// Shutdown ends every run and stream in an orderly way: those who listen are told
// that the run was canceled. It waits until they have been, or ctx is done. New
// requests are refused with 503.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.shut = true
	s.mu.Unlock()
	s.stop(errShutdown)
	s.hub.cancel(s.dialect.Name)
	over := make(chan struct{})
	go func() {
		s.work.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
		return fmt.Errorf("streams of %s are still open: %w", s.dialect.Name, ctx.Err())
	}
	if s.alone {
		s.hub.close()
	}
	return nil
}

// A Mux serves several dialects, each below /NAME@VERSION.
type Mux struct {
	hub     *hub
	servers []*Server
	mux     http.ServeMux
}

// All serves an agent in every one of the dialects: the paths of a dialect's
// document stand below "/", its name, and its Base.
func All(dialects []*dialect.Dialect, agent Agent, cfg Config) *Mux {
	cfg = cfg.filled()
	if cfg.Files == nil {
		cfg.Files = files.Memory(files.Config{Now: cfg.Now})
	}
	m := &Mux{hub: newHub(cfg)}
	for _, d := range dialects {
		s := newServer(d, agent, cfg, m.hub)
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
	m.hub.close()
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
