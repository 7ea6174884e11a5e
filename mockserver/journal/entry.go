package journal

import (
	"bytes"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// Opened is how an exchange begins. Op is what the server does for it ("run",
// "listen"); without it, there was nothing at this address. The body of the request is
// kept as it is: nobody may change it.
type Opened struct {
	Dialect, Op, Test string
	Request           spec.Request
	At                time.Time // by the clock of the mock; zero: now
	Seed              uint64
}

// An End is how an exchange ended.
type End string

// The ends. Those of a fault have its words for them.
const (
	Open     End = ""         // it goes on
	Whole    End = "whole"    // everything was sent
	Clean    End = "clean"    // a fault ended it early, as a whole one ends
	Abort    End = "abort"    // the connection was closed before the body was whole
	Reset    End = "reset"    // the connection was reset
	Torn     End = "torn"     // an abort in the middle of a line
	Stall    End = "stall"    // nothing came any more
	Left     End = "left"     // the client went away
	Shutdown End = "shutdown" // the server was stopped
)

// Ends are all of them.
var Ends = []End{Whole, Clean, Abort, Reset, Torn, Stall, Left, Shutdown}

// A Miss is why a rule was not taken.
type Miss struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// An Entry is one exchange as it goes on. Whatever is said after it was closed, or was
// forgotten, is not heard. It is safe for concurrent use.
type Entry struct {
	j *Journal
	s *slot
	n uint64
}

// ID is the number of the exchange, from 1.
func (e *Entry) ID() uint64 { return e.n }

// open locks the slot of an exchange that goes on; nil: there is none any more.
func (e *Entry) open() *slot {
	e.s.mu.Lock()
	if e.s.n != e.n || e.s.how != Open {
		e.s.mu.Unlock()
		return nil
	}
	return e.s
}

// Test says whose exchange it is, where that is known late.
func (e *Entry) Test(test string) {
	if s := e.open(); s != nil {
		s.test = test
		s.mu.Unlock()
	}
}

// Heard says what the request means: op is the document's name for what is asked. What
// in ask is broken becomes findings about the client.
func (e *Entry) Heard(op string, ask *spec.Event) {
	s := e.open()
	if s == nil {
		return
	}
	s.hear(op, ask)
	e.done(s)
	e.j.waiters.wake()
}

// Matched says which rule was taken, "" is none, and why those before it were not.
func (e *Entry) Matched(rule string, misses []Miss) {
	s := e.open()
	if s == nil {
		return
	}
	s.match(rule, misses)
	e.done(s)
	e.j.waiters.wake()
}

// Head says what the reply began with. The times of everything that is sent, and of the
// end, are told from here.
func (e *Entry) Head(status int, header http.Header) {
	now := e.j.cfg.Now()
	s := e.open()
	if s == nil {
		return
	}
	s.answer(&e.j.names, status, header, now)
	note := Note{Kind: NoteHead, ID: e.n, Test: s.test, Status: status}
	e.done(s)
	e.j.tell(note)
	e.j.waiters.wake()
}

// Sent says what went out: a frame, several, or a piece of one; at is the time since the
// head was sent. The bytes are copied.
func (e *Entry) Sent(at time.Duration, data []byte) {
	s := e.open()
	if s == nil {
		return
	}
	n := len(s.pieces) + s.uncounted
	s.send(at, data, e.j.cfg.Body)
	if e.j.feed.heard.Load() == 0 {
		e.done(s)
		return
	}
	note := Note{Kind: NoteSent, ID: e.n, Test: s.test, N: n, At: at, Bytes: len(data)}
	note.Raw = bytes.Clone(data[:min(len(data), mostNote)])
	s.redactor.Mask(note.Raw)
	e.done(s)
	e.j.tell(note)
}

// Fault says that a fault struck, at this place of what was sent.
func (e *Entry) Fault(name string) {
	s := e.open()
	if s == nil {
		return
	}
	if len(s.faults) < mostFaults {
		s.faults = append(s.faults, struck{s.hide(name), len(s.pieces) + s.uncounted, s.sent, s.since(e.j.cfg.Now())})
	}
	note := Note{Kind: NoteFault, ID: e.n, Test: s.test, Text: s.hide(name)}
	e.done(s)
	e.j.tell(note)
}

// Close says that the exchange is over, and how it ended.
func (e *Entry) Close(how End) {
	now := e.j.cfg.Now()
	s := e.open()
	if s == nil {
		return
	}
	if how == Open {
		how = Whole
	}
	s.end(how, now)
	note := Note{Kind: NoteClosed, ID: e.n, Test: s.test, Status: s.status, Text: string(how), At: s.ended, Bytes: int(s.sent)}
	e.done(s)
	e.j.tell(note)
	e.j.waiters.wake()
}

// done unlocks a slot that may have grown.
func (e *Entry) done(s *slot) {
	grown := s.weigh() - s.size
	s.size += grown
	s.mu.Unlock()
	if grown == 0 || e.j.held.Add(grown) <= e.j.cfg.Bytes {
		return
	}
	e.j.mu.Lock()
	e.j.bound()
	e.j.mu.Unlock()
}
