package journal

import (
	"bytes"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An ExchangeStart describes the beginning of an exchange. The journal keeps a reference to the
// body of the request, so the caller must not modify the body afterwards.
type ExchangeStart struct {
	Dialect string
	Op      string // kind of the operation, such as "run" or "listen"; "": no operation matches the request
	Test    string // id of the test, or ""
	Request spec.Request
	At      time.Time // time by the mock's clock; zero: now
	Seed    uint64    // base seed of the random choices
}

// An EndReason is the reason why an exchange ended.
type EndReason string

// The reasons why exchanges end. The reasons that faults cause have the values of fault.StreamEnd.
const (
	InProgress EndReason = ""         // the exchange has not ended
	Complete   EndReason = "whole"    // the complete response was sent
	Clean      EndReason = "clean"    // a fault ended the body early but terminated it correctly
	Abort      EndReason = "abort"    // the connection was closed before the body was complete
	Reset      EndReason = "reset"    // the connection was reset
	Torn       EndReason = "torn"     // the connection was closed in the middle of a line
	Stall      EndReason = "stall"    // the server stopped sending without closing the connection
	ClientLeft EndReason = "left"     // the client closed the connection
	Shutdown   EndReason = "shutdown" // the server was shut down
)

// EndReasons lists all reasons except InProgress, which means that the exchange has not ended.
var EndReasons = []EndReason{Complete, Clean, Abort, Reset, Torn, Stall, ClientLeft, Shutdown}

// A Miss is a rule of a script that did not match a request, together with the reason.
type Miss struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// An Entry records the progress of one exchange. Its methods have no effect after Close,
// or once the exchange was dropped from the journal. It is safe for concurrent use.
type Entry struct {
	journal *Journal
	buffer  *entryBuffer
	id      uint64
}

// ID returns the id of the exchange. Exchanges are numbered from 1.
func (e *Entry) ID() uint64 { return e.id }

// lock returns the buffer of the exchange with its lock held, or nil if the exchange has ended or
// was dropped from the journal. The caller must unlock the buffer.
func (e *Entry) lock() *entryBuffer {
	e.buffer.mu.Lock()
	if e.buffer.id != e.id || e.buffer.endReason != InProgress {
		e.buffer.mu.Unlock()
		return nil
	}
	return e.buffer
}

// SetTest sets the id of the test to which the exchange belongs, for exchanges whose test became
// known only after they were opened.
func (e *Entry) SetTest(test string) {
	if s := e.lock(); s != nil {
		s.test = test
		s.mu.Unlock()
	}
}

// Parsed records the decoded request. The parameter op is the name of the operation in the
// dialect's document. The violations in event become findings about the client.
func (e *Entry) Parsed(op string, event *spec.Event) {
	s := e.lock()
	if s == nil {
		return
	}
	s.setParsed(op, event)
	e.unlock(s)
	e.journal.waiters.wake()
}

// Matched records the name of the rule that matched the request, or "" if no rule did, and the
// reasons why the rules that were tried before did not match.
func (e *Entry) Matched(rule string, misses []Miss) {
	s := e.lock()
	if s == nil {
		return
	}
	s.setMatch(rule, misses)
	e.unlock(s)
	e.journal.waiters.wake()
}

// HeadSent records the status and the header of the response, and the current time as the time when
// they were sent. Later times of the exchange are recorded relative to it.
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

// BytesSent records that data, a part of the body, was sent in one write. The parameter at is the
// time since the head was sent. BytesSent copies data.
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

// FaultApplied records that the named fault changed the response, at the position after the bytes
// that were recorded so far.
func (e *Entry) FaultApplied(name string) {
	s := e.lock()
	if s == nil {
		return
	}
	if len(s.faults) < maxFaults {
		s.faults = append(s.faults, faultRecord{
			name: s.redact(name), piece: len(s.pieces) + s.droppedPieces,
			byte: s.sentSize, at: s.elapsed(e.journal.cfg.Now()),
		})
	}
	note := Note{Kind: NoteFault, ID: e.id, Test: s.test, Text: s.redact(name)}
	e.unlock(s)
	e.journal.publish(note)
}

// Close records that the exchange has ended, and the reason. The reason InProgress is recorded as
// Complete.
func (e *Entry) Close(reason EndReason) {
	now := e.journal.cfg.Now()
	s := e.lock()
	if s == nil {
		return
	}
	if reason == InProgress {
		reason = Complete
	}
	s.close(reason, now)
	note := Note{
		Kind: NoteClosed, ID: e.id, Test: s.test, Status: s.status,
		Text: string(reason), At: s.endedAfter, Bytes: int(s.sentSize),
	}
	e.unlock(s)
	e.journal.publish(note)
	e.journal.waiters.wake()
}

// unlock unlocks s, the buffer that lock returned. If the growth of s makes the journal exceed its
// memory limit, unlock drops the oldest exchanges. The caller must not hold the lock of the
// journal.
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
