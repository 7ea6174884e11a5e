package journal

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An ExchangeStart describes an exchange that begins. The journal may keep a reference to
// Request.Body, so the caller must not modify it afterwards.
type ExchangeStart struct {
	Dialect string       // name, such as "runs@2026-04"; "": the request belongs to no dialect
	Op      string       // kind of the operation, such as "run" or "listen"; "": the request matches no operation
	Test    string       // id of the test; "": the request names no test
	Request spec.Request // its target is below the base path of the dialect
	Path    string       // complete path of the URL that the client requested
	At      time.Time    // time by the mock's clock; zero: now
	Seed    uint64       // seed from which the mock derives its random choices for the request
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

// A RuleMismatch states why a rule of a script did not match a request. Why describes the first
// condition of the rule that failed.
type RuleMismatch struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// An ExchangeRecorder records the progress of one exchange in a journal. It is returned by
// [Journal.Open]. Its methods have no effect after Close, or once the exchange has been dropped
// from the journal. They may be called concurrently.
type ExchangeRecorder struct {
	journal  *Journal
	exchange *recordedExchange
	id       uint64
}

// ID returns the id of the exchange. Exchanges are numbered from 1.
func (e *ExchangeRecorder) ID() uint64 { return e.id }

// lock returns the exchange with its lock held, or nil if the exchange has ended or was dropped
// from the journal. The caller must release the lock with unlock.
func (e *ExchangeRecorder) lock() *recordedExchange {
	e.exchange.mu.Lock()
	if e.exchange.id != e.id || e.exchange.endReason != InProgress {
		e.exchange.mu.Unlock()
		return nil
	}
	return e.exchange
}

// update calls change with the exchange, which is locked during the call. It then sends the event
// that change returned to the subscribers of the journal, after setting its ID and Test; an event
// without a Kind is not sent. It also wakes the goroutines that wait for changes. update does
// nothing if the exchange has ended or was dropped from the journal.
func (e *ExchangeRecorder) update(change func(s *recordedExchange) FeedEvent) {
	s := e.lock()
	if s == nil {
		return
	}
	event := change(s)
	event.ID, event.Test = e.id, s.test
	e.unlock(s)
	if event.Kind != "" {
		e.journal.publish(event)
	}
	e.journal.waiters.wake()
}

// SetTest sets the id of the test to which the exchange belongs. It is for exchanges whose test
// becomes known only after Open.
func (e *ExchangeRecorder) SetTest(test string) {
	e.update(func(s *recordedExchange) FeedEvent {
		s.test = test
		return FeedEvent{}
	})
}

// Parsed records event, the decoded request, and op, the name of its operation in the dialect's
// document, such as "POST /runs". The violations in event become findings about the client. If
// event is nil, only op is recorded.
func (e *ExchangeRecorder) Parsed(op string, event *spec.Event) {
	e.update(func(s *recordedExchange) FeedEvent {
		s.setParsed(op, event)
		return FeedEvent{}
	})
}

// Matched records that the request matched rule, the name of a rule or recording; "" means that it
// matched none. The mismatches state why other rules did not match; at most 64 of them are kept.
func (e *ExchangeRecorder) Matched(rule string, mismatches []RuleMismatch) {
	e.update(func(s *recordedExchange) FeedEvent {
		s.otherBytes -= missesSize(s.misses)
		s.matched, s.rule, s.missCount = true, rule, len(mismatches)
		s.misses = slices.Clone(mismatches[:min(len(mismatches), maxMisses)])
		for i, m := range s.misses {
			s.misses[i].Why = s.redact(truncate(m.Why))
		}
		s.otherBytes += missesSize(s.misses)
		return FeedEvent{}
	})
}

// HeadSent records that the head of the response is sent now, with the given status and header. The
// times of later events of the exchange are recorded relative to now.
func (e *ExchangeRecorder) HeadSent(status int, header http.Header) {
	now, names := e.journal.cfg.Now(), &e.journal.secrets
	e.update(func(s *recordedExchange) FeedEvent {
		s.status, s.headTime, s.header = status, now, s.header[:0]
		for name, values := range header {
			for _, value := range values {
				s.secrets = names.appendFieldSecrets(s.secrets, name, value)
				value = names.redactValue(name, value)
				s.header = append(s.header, spec.HeaderField{Name: name, Value: value})
				s.otherBytes += int64(len(value))
			}
		}
		s.redactor = names.redactorFor(s.secrets)
		for i, f := range s.header {
			s.header[i].Value = s.redact(f.Value)
		}
		return FeedEvent{Kind: EventHead, Status: status}
	})
}

// BytesSent records that data, a part of the response body, was sent in one write. The argument at
// is the time from the sending of the head to the write. BytesSent does not retain data.
func (e *ExchangeRecorder) BytesSent(at time.Duration, data []byte) {
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
	event := FeedEvent{Kind: EventSent, ID: e.id, Test: s.test, N: n, AtMS: milliseconds(at), Bytes: len(data)}
	event.Raw = bytes.Clone(data[:min(len(data), maxEventBytes)])
	s.redactor.Mask(event.Raw)
	e.unlock(s)
	e.journal.publish(event)
}

// FaultApplied records that a fault changed the response. The position of the change is after the
// bytes that BytesSent has recorded so far. The argument name describes the fault with its
// parameters, such as "abort; event=3". At most 64 faults of an exchange are kept.
func (e *ExchangeRecorder) FaultApplied(name string) {
	e.update(func(s *recordedExchange) FeedEvent {
		name = s.redact(name)
		if len(s.faults) < maxFaults {
			s.faults = append(s.faults, appliedFault{
				name: name, piece: len(s.pieces) + s.droppedPieces,
				byte: s.sentSize, at: s.elapsed(e.journal.cfg.Now()),
			})
		}
		return FeedEvent{Kind: EventFault, Text: name}
	})
}

// Close records that the exchange has ended for the given reason. InProgress, the zero value, is
// recorded as Complete.
func (e *ExchangeRecorder) Close(reason EndReason) {
	now := e.journal.cfg.Now()
	e.update(func(s *recordedExchange) FeedEvent {
		s.close(cmp.Or(reason, Complete), now)
		return FeedEvent{
			Kind: EventClosed, Status: s.status, Text: string(s.endReason),
			AtMS: milliseconds(s.endedAfter), Bytes: int(s.sentSize),
		}
	})
}

// unlock unlocks s, the exchange that lock returned. If the growth of s makes the journal exceed
// its memory limit, unlock drops the oldest exchanges. The caller must not hold the lock of the
// journal.
func (e *ExchangeRecorder) unlock(s *recordedExchange) {
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
