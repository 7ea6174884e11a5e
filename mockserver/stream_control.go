package mockserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// A Stream is one that is being sent. It can be held, stepped, added to and ended.
type Stream struct {
	ID   string
	Test string

	exchange *exchange
}

// A StreamStatus is what a stream looks like at the moment.
type StreamStatus struct {
	ID      string `json:"id"`
	Entry   uint64 `json:"entry"` // of the journal
	Dialect string `json:"dialect"`
	Test    string `json:"test,omitempty"`
	Thread  string `json:"thread"`
	Run     string `json:"run"`
	Rule    string `json:"rule,omitempty"`
	Events  int    `json:"events"`         // that came as far as the gate
	Held    *int   `json:"held,omitempty"` // the first event that waits, or will; absent: none
}

// streams are those that are open.
type streams struct {
	mu   sync.Mutex
	last uint64
	live map[string]*Stream
}

func (s *streams) open(x *exchange) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = map[string]*Stream{}
	}
	s.last++
	one := &Stream{ID: strconv.FormatUint(s.last, 10), Test: x.scope.id, exchange: x}
	s.live[one.ID] = one
	return one
}

func (s *streams) close(one *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, one.ID)
}

func (s *streams) all() (all []*Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.live {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *Stream) int { return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Streams are those that are open, the oldest first; test "" is those of all tests.
func (s *Server) Streams(test string) (all []*Stream) {
	for _, one := range s.streams.all() {
		if test == "" || one.Test == test {
			all = append(all, one)
		}
	}
	return all
}

// Stream is the one of an id, or nil.
func (s *Server) Stream(id string) *Stream {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return s.streams.live[id]
}

// Status says how the stream stands.
func (s *Stream) Status() StreamStatus {
	x := s.exchange
	v := StreamStatus{ID: s.ID, Dialect: x.run.dialect, Test: s.Test, Thread: x.run.thread, Run: x.run.run}
	if x.entry != nil {
		v.Entry = x.entry.ID()
	}
	if p, _ := x.currentPlan(); p != nil {
		v.Rule = p.rule
	}
	v.Events = int(x.frameCount.Load())
	if from := x.gate.next(); from != noFrame {
		v.Held = &from
	}
	return v
}

// Hold makes the stream wait before the event of this number, from 0.
func (s *Stream) Hold(event int) { s.exchange.gate.holdFrom(max(0, event)) }

// Next lets so many more events go, of a stream that is held.
func (s *Stream) Next(n int) error {
	if n < 1 {
		return fmt.Errorf("%d is no number of events, from 1", n)
	}
	return s.exchange.gate.allow(n)
}

// Release lets everything go.
func (s *Stream) Release() { s.exchange.gate.holdFrom(noFrame) }

// Inject sends a frame in between, as it is.
func (s *Stream) Inject(frame []byte) error {
	if err := s.exchange.send(frame); err != nil {
		return err
	}
	return s.exchange.FlushError()
}

// End ends the stream now.
func (s *Stream) End(how fault.StreamEnd) { s.exchange.finish(how) }
