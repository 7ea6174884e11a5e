package journal

import (
	"bytes"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// ExchangeStart is how an exchange begins. Op is what the server does for it ("run",
// "listen"); without it, there was nothing at this address. The body of the request is
// kept as it is: nobody may change it.
type ExchangeStart struct {
	Dialect, Op, Test string
	Request           spec.Request
	At                time.Time // by the clock of the mock; zero: now
	Seed              uint64
}

// An EndReason is how an exchange ended.
type EndReason string

// The ends. Those of a fault have its words for them.
const (
	InProgress EndReason = ""         // it goes on
	Complete   EndReason = "whole"    // everything was sent
	Clean      EndReason = "clean"    // a fault ended it early, as a whole one ends
	Abort      EndReason = "abort"    // the connection was closed before the body was whole
	Reset      EndReason = "reset"    // the connection was reset
	Torn       EndReason = "torn"     // an abort in the middle of a line
	Stall      EndReason = "stall"    // nothing came any more
	ClientLeft EndReason = "left"     // the client went away
	Shutdown   EndReason = "shutdown" // the server was stopped
)

// EndReasons are all of them.
var EndReasons = []EndReason{Complete, Clean, Abort, Reset, Torn, Stall, ClientLeft, Shutdown}

// A Miss is why a rule was not taken.
type Miss struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// An Entry is one exchange as it goes on. Whatever is said after it was closed, or was
// forgotten, is not heard. It is safe for concurrent use.
type Entry struct {
	journal *Journal
	buffer  *entryBuffer
	id      uint64
}

// ID is the number of the exchange, from 1.
func (e *Entry) ID() uint64 { return e.id }

// lock locks the slot of an exchange that goes on; nil: there is none any more.
func (e *Entry) lock() *entryBuffer {
	e.buffer.mu.Lock()
	if e.buffer.id != e.id || e.buffer.endReason != InProgress {
		e.buffer.mu.Unlock()
		return nil
	}
	return e.buffer
}

// SetTest says whose exchange it is, where that is known late.
func (e *Entry) SetTest(test string) {
	if s := e.lock(); s != nil {
		s.test = test
		s.mu.Unlock()
	}
}

// Parsed says what the request means: op is the document's name for what is asked. What
// in ask is broken becomes findings about the client.
func (e *Entry) Parsed(op string, event *spec.Event) {
	s := e.lock()
	if s == nil {
		return
	}
	s.setParsed(op, event)
	e.unlock(s)
	e.journal.waiters.wake()
}

// Matched says which rule was taken, "" is none, and why those before it were not.
func (e *Entry) Matched(rule string, misses []Miss) {
	s := e.lock()
	if s == nil {
		return
	}
	s.setMatch(rule, misses)
	e.unlock(s)
	e.journal.waiters.wake()
}

// HeadSent says what the reply began with. The times of everything that is sent, and of the
// end, are told from here.
func (e *Entry) HeadSent(status int, header http.Header) {
	now := e.journal.cfg.Now()
	s := e.lock()
	if s == nil {
		return
	}
	s.setHead(&e.journal.secrets, status, header, now)
	note := Note{Kind: NoteHead, ID: e.id, Test: s.test, Status: status}
	e.unlock(s)
	e.journal.publish(note)
	e.journal.waiters.wake()
}

// BytesSent says what went out: a frame, several, or a piece of one; at is the time since the
// head was sent. The bytes are copied.
func (e *Entry) BytesSent(at time.Duration, data []byte) {
	s := e.lock()
	if s == nil {
		return
	}
	n := len(s.pieces) + s.droppedPieces
	s.addPiece(at, data, e.journal.cfg.Body)
	if e.journal.feed.subscriberCount.Load() == 0 {
		e.unlock(s)
		return
	}
	note := Note{Kind: NoteSent, ID: e.id, Test: s.test, N: n, At: at, Bytes: len(data)}
	note.Raw = bytes.Clone(data[:min(len(data), maxNoteBytes)])
	s.redactor.Mask(note.Raw)
	e.unlock(s)
	e.journal.publish(note)
}

// FaultApplied says that a fault struck, at this place of what was sent.
func (e *Entry) FaultApplied(name string) {
	s := e.lock()
	if s == nil {
		return
	}
	if len(s.faults) < maxFaults {
		s.faults = append(s.faults, faultRecord{s.redact(name), len(s.pieces) + s.droppedPieces, s.sentSize, s.elapsed(e.journal.cfg.Now())})
	}
	note := Note{Kind: NoteFault, ID: e.id, Test: s.test, Text: s.redact(name)}
	e.unlock(s)
	e.journal.publish(note)
}

// Close says that the exchange is over, and how it ended.
func (e *Entry) Close(how EndReason) {
	now := e.journal.cfg.Now()
	s := e.lock()
	if s == nil {
		return
	}
	if how == InProgress {
		how = Complete
	}
	s.close(how, now)
	note := Note{Kind: NoteClosed, ID: e.id, Test: s.test, Status: s.status, Text: string(how), At: s.endedAfter, Bytes: int(s.sentSize)}
	e.unlock(s)
	e.journal.publish(note)
	e.journal.waiters.wake()
}

// unlock unlocks a slot that may have grown.
func (e *Entry) unlock(s *entryBuffer) {
	grown := s.memorySize() - s.countedBytes
	s.countedBytes += grown
	s.mu.Unlock()
	if grown == 0 || e.journal.heldBytes.Add(grown) <= e.journal.cfg.Bytes {
		return
	}
	e.journal.mu.Lock()
	e.journal.enforceLimits()
	e.journal.mu.Unlock()
}
