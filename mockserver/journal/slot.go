package journal

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
)

// Bounds of one exchange, besides those of its bodies.
const (
	mostPieces = 4096 // what is sent in more is counted, not kept
	mostMisses = 64
	mostFaults = 64
	mostBroken = spec.MaxFindings
	mostCalls  = 64
	mostText   = 1024 // of one message
)

// A slot is what is kept of one exchange. Its memory is used again for another when it
// is forgotten; n tells which exchange it is.
type slot struct {
	mu   sync.Mutex
	n    uint64 // 0: nobody's
	size int64  // what it was last said to weigh

	dialect, does, test string
	seed                uint64
	method, target      string
	asked               spec.Header
	body                []byte
	bodySize            int
	at                  time.Time // by the clock of the mock
	began               time.Time // by ours
	secrets             []string  // what may not be read, as long as more may come
	redactor            *redact.Redactor

	heard       bool
	op          string
	thread, run string
	cursor      string
	broken      []spec.Violation
	calls       []string // calls of tools that it has results of, and no history that they are from
	resumes     []string // interrupts that it answers

	matched bool
	rule    string
	misses  []Miss
	missed  int // how many there were

	status    int
	head      spec.Header
	headed    time.Time
	pieces    []piece
	uncounted int    // pieces that were not kept
	buf       []byte // what was sent, from the beginning
	sent      int64
	faults    []struck

	how   End
	ended time.Duration

	about []Finding // what was found by comparing with others
	found bool      // that was done
	extra int64     // what the rest weighs, besides buf and pieces
}

// A piece is one write. Its bytes follow those of the piece before.
type piece struct {
	at   time.Duration
	size int
}

// A struck is a fault that did its harm.
type struck struct {
	name  string
	piece int
	byte  int64
	at    time.Duration
}

// Open begins an exchange.
func (j *Journal) Open(o Opened) *Entry {
	now := j.cfg.Now()
	if o.At.IsZero() {
		o.At = now
	}
	j.mu.Lock()
	j.next++
	e := &Entry{j: j, n: j.next}
	if last := len(j.free) - 1; last >= 0 {
		e.s, j.free = j.free[last], j.free[:last]
	} else {
		e.s = &slot{}
	}
	s := e.s
	s.mu.Lock()
	s.n = e.n
	s.began = now
	s.open(&j.names, o, j.cfg.Body)
	s.size = s.weigh()
	note := Note{Kind: NoteOpened, ID: e.n, Test: s.test}
	if j.feed.heard.Load() > 0 {
		note.Dialect, note.Op, note.Text = s.dialect, s.does, s.method+" "+s.target
	}
	s.mu.Unlock()
	j.ring = append(j.ring, s)
	j.held.Add(s.size)
	j.bound()
	j.mu.Unlock()
	j.tell(note)
	j.waiters.wake()
	return e
}

func (s *slot) open(names *names, o Opened, most int) {
	s.dialect, s.does, s.test, s.seed, s.at = o.Dialect, o.Op, o.Test, o.Seed, o.At
	s.secrets = names.secrets(s.secrets[:0], o.Request)
	s.redactor = names.redactor(s.secrets)
	s.method, s.target = o.Request.Method, redact.RedactTarget(o.Request.Target, names.has)
	s.asked = names.header(o.Request.Header)
	s.body, s.bodySize = o.Request.Body, len(o.Request.Body)
	if s.redactor != nil {
		s.body = s.redactor.Bytes(s.body)
		s.target = s.hide(s.target)
		for i, f := range s.asked {
			s.asked[i].Value = s.hide(f.Value)
		}
	}
	if len(s.body) > most {
		s.body = bytes.Clone(s.body[:most])
	}
	s.extra = int64(cap(s.body)+len(s.target)) + weighed(s.asked)
}

// clear forgets everything but the memory.
func (s *slot) clear() {
	buf, pieces, head, secrets := s.buf[:0], s.pieces[:0], s.head[:0], s.secrets[:0]
	clear(head[:cap(head)])
	clear(secrets[:cap(secrets)])
	if cap(buf) > mostIdle {
		buf = nil
	}
	if cap(pieces) > mostIdle/16 {
		pieces = nil
	}
	if cap(head) > mostIdle/32 {
		head = nil
	}
	s.n, s.size, s.seed, s.bodySize, s.missed, s.status, s.uncounted, s.sent, s.ended, s.extra = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	s.dialect, s.does, s.test, s.method, s.target, s.op, s.thread, s.run, s.cursor, s.rule = "", "", "", "", "", "", "", "", "", ""
	s.at, s.began, s.headed, s.how = time.Time{}, time.Time{}, time.Time{}, Open
	s.asked, s.body, s.broken, s.calls, s.resumes, s.misses, s.faults, s.about = nil, nil, nil, nil, nil, nil, nil, nil
	s.heard, s.matched, s.found, s.redactor = false, false, false, nil
	s.buf, s.pieces, s.head, s.secrets = buf, pieces, head, secrets
}

// overhead is about what a slot itself takes, with its handle.
const overhead = 768

// weigh is how much memory the slot takes, about.
func (s *slot) weigh() int64 {
	return overhead + int64(cap(s.buf)+cap(s.pieces)*16+cap(s.head)*32) + s.extra
}

func weighed(h spec.Header) (n int64) {
	for _, f := range h {
		n += int64(32 + len(f.Name) + len(f.Value))
	}
	return n
}

// hear takes what matters out of a request. The request itself is not kept: it may hang
// on more.
func (s *slot) hear(op string, ask *spec.Event) {
	s.heard, s.op = true, op
	if ask == nil {
		return
	}
	s.thread, s.run, s.cursor = s.hide(ask.Thread), s.hide(ask.Run), s.hide(ask.Cursor)
	for _, b := range ask.Violations[:min(len(ask.Violations), mostBroken)] {
		b.Location, b.Message = s.hide(cut(b.Location)), s.hide(cut(b.Message))
		s.broken = append(s.broken, b)
		s.extra += int64(256 + len(b.Location) + len(b.Message))
	}
	for i := range ask.Parts {
		p := &ask.Parts[i]
		switch {
		case len(s.calls)+len(s.resumes) >= mostCalls:
		case p.Kind == spec.InputToolResult && p.Call != "" && bytes.Count(ask.Raw, quoted(p.Call)) < 2:
			s.calls = append(s.calls, s.hide(p.Call)) // else it is in the history that the client brings
			s.extra += int64(16 + len(p.Call))
		case p.Kind == spec.InputResume && p.ID != "":
			s.resumes = append(s.resumes, s.hide(p.ID))
			s.extra += int64(16 + len(p.ID))
		}
	}
}

func (s *slot) match(rule string, misses []Miss) {
	s.matched, s.rule, s.missed = true, rule, len(misses)
	s.misses = slices.Clone(misses[:min(len(misses), mostMisses)])
	for i, m := range s.misses {
		s.misses[i].Why = s.hide(cut(m.Why))
		s.extra += int64(32 + len(m.Rule) + len(s.misses[i].Why))
	}
}

func (s *slot) answer(names *names, status int, header http.Header, now time.Time) {
	s.status, s.headed = status, now
	s.head = s.head[:0]
	for name, values := range header {
		for _, value := range values {
			if names.has(name) {
				s.secrets = appendFound(s.secrets, redact.SecretValues(name, value))
				value = redact.Placeholder
			}
			s.head = append(s.head, spec.Field{Name: name, Value: value})
			s.extra += int64(len(value))
		}
	}
	if s.redactor = names.redactor(s.secrets); s.redactor == nil {
		return
	}
	for i, f := range s.head {
		s.head[i].Value = s.hide(f.Value)
	}
}

func (s *slot) send(at time.Duration, data []byte, most int) {
	s.sent += int64(len(data))
	if len(s.pieces) >= mostPieces {
		s.uncounted++
		return
	}
	s.pieces = append(s.pieces, piece{at, len(data)})
	if room := most - len(s.buf); room > 0 {
		s.buf = append(s.buf, data[:min(len(data), room)]...)
	}
}

func (s *slot) end(how End, now time.Time) {
	s.how, s.ended = how, s.since(now)
	s.redactor.Mask(s.buf) // nothing comes any more that could complete a secret
	clear(s.secrets)
	s.secrets, s.redactor = s.secrets[:0], nil
}

// since is the time since the head was sent, or else since the request came.
func (s *slot) since(now time.Time) time.Duration {
	if !s.headed.IsZero() {
		return now.Sub(s.headed)
	}
	return now.Sub(s.began)
}

// hide is a text without secrets.
func (s *slot) hide(text string) string { return s.redactor.Shortened(text) }

func cut(text string) string {
	if len(text) > mostText {
		return text[:mostText] + "…"
	}
	return text
}
