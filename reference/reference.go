// Package reference is a server that gets it right. It thinks in [spec.Event] and
// lets a dialect's document do the spelling: it knows no protocol, no JSON key and
// no name of a dialect. What differs between dialects it asks of the document. It
// keeps everything in memory, and what it keeps is bounded.
package reference

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config is what can be set. The zero value of each field is a sensible default.
type Config struct {
	Poll    time.Duration // how often a stream that is listened to looks for events; 0 is a second
	Retain  int           // how many finished runs are kept at most; 0 is 1000
	MaxBody int64         // bytes of a request's body; 0 is 1 MiB
	MaxRun  time.Duration // how long a run may take; 0 is ten minutes
	IDs     func() string // makes ids; nil is random UUIDs
	Now     func() time.Time
	Log     *slog.Logger // nil is nowhere
}

func (c Config) filled() Config {
	c.Poll = cmp.Or(c.Poll, time.Second)
	c.Retain = cmp.Or(c.Retain, 1000)
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxRun = cmp.Or(c.MaxRun, 10*time.Minute)
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

// newUUID is a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A Server serves an agent in the words of one dialect.
type Server struct {
	dialect *dialect.Dialect
	agent   Agent
	cfg     Config
	voice   *voice
	roles   map[*dialect.Operation]role
	asks    *dialect.Operation // whose problems are spelled where there is no operation
	resumes bool               // streams can be taken up again, so runs outlive their listeners
	offers  bool               // clients can answer calls of their own tools
	store   store

	ctx  context.Context
	stop context.CancelCauseFunc
	mu   sync.Mutex // of closed and work.Add
	shut bool
	work sync.WaitGroup
}

// A role is what a server does for an operation.
type role int

const (
	tells  role = iota // a plain reply: health, and what the service is
	runs               // opens a run
	listen             // tells of a run
	cancel             // ends one
	later              // is not served yet
)

// New makes a server of an agent. It serves the paths of d's document, below d.Base.
func New(d *dialect.Dialect, agent Agent, cfg Config) *Server {
	s := &Server{dialect: d, agent: agent, cfg: cfg.filled(), roles: map[*dialect.Operation]role{}}
	phrases := map[string]role{
		"listen": listen, "cancel": cancel,
		"history": later, "attach": later, "sign": later, "transcribe": later,
	}
	for phrase, role := range phrases {
		if o, ok := d.Phrase(phrase); ok {
			s.roles[o] = role
		}
	}
	for _, o := range d.Operations() {
		if o.Asks {
			s.roles[o] = runs
			s.asks = cmp.Or(s.asks, o)
		}
		if o.Streams && (s.voice == nil || s.roles[o] == listen) {
			s.voice = newVoice(o)
		}
	}
	s.resumes = slices.Contains(d.Kinds(), spec.SlotCursor)
	_, s.offers = d.Phrase("tool-result")
	s.store = store{threads: map[string]*thread{}, retain: s.cfg.Retain, replay: s.resumes}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
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
	over := make(chan struct{})
	go func() {
		s.work.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("streams of %s are still open: %w", s.dialect.Name, ctx.Err())
	}
}

// A Mux serves several dialects, each below /NAME@VERSION.
type Mux struct {
	servers []*Server
	mux     http.ServeMux
}

// All serves an agent in every one of the dialects: the paths of a dialect's
// document stand below "/", its name, and its Base.
func All(dialects []*dialect.Dialect, agent Agent, cfg Config) *Mux {
	m := &Mux{}
	for _, d := range dialects {
		s := New(d, agent, cfg)
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
	return cmp.Or(errs...)
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
