package mockserver

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/internal/fault"
)

// A Stream is an event stream that the server is sending. Its methods hold back events, release
// them one by one, inject frames and end the stream. They may be called concurrently.
type Stream struct {
	ID string // unique among the streams of the server

	response *responseWriter
}

// A StreamStatus describes the state of a stream at one moment.
type StreamStatus struct {
	ID      string `json:"id"`             // the ID of the Stream
	Entry   uint64 `json:"entry"`          // id of the journal entry
	Dialect string `json:"dialect"`        // full name, such as "runs@2026-04"
	Test    string `json:"test,omitempty"` // result of [Stream.Test]; absent if it is ""
	Thread  string `json:"thread"`         // id of the thread
	Run     string `json:"run"`            // id of the run
	Rule    string `json:"rule,omitempty"` // name of the script rule that matched the run; "" if none did
	Events  int    `json:"events"`         // number of events that were sent or are being held
	Held    *int   `json:"held,omitempty"` // index of the first event to hold, counted from 0; nil: none is held
}

// liveStreams holds the open streams, which are those that the server is sending. It is safe for
// concurrent use.
type liveStreams struct {
	mu   sync.Mutex
	last uint64    // id of the stream that was opened last
	live []*Stream // the oldest first
}

// open creates a Stream with a new id for the response w and adds it to the open streams.
func (s *liveStreams) open(w *responseWriter) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	one := &Stream{ID: strconv.FormatUint(s.last, 10), response: w}
	s.live = append(s.live, one)
	return one
}

// close removes stream from the open streams. It does nothing if stream is not open.
func (s *liveStreams) close(stream *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = slices.DeleteFunc(s.live, func(other *Stream) bool { return other == stream })
}

// all returns the open streams, the oldest first.
func (s *liveStreams) all() []*Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.live)
}

// Streams returns the open streams, oldest first. If test is not "", it returns only the streams of
// the test with that id.
func (s *Server) Streams(test string) (all []*Stream) {
	for _, one := range s.streams.all() {
		if test == "" || one.Test() == test {
			all = append(all, one)
		}
	}
	return all
}

// Stream returns the open stream with the given id, or nil if there is no such stream.
func (s *Server) Stream(id string) *Stream {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	for _, one := range s.streams.live {
		if one.ID == id {
			return one
		}
	}
	return nil
}

// Test returns the id of the test to which the stream belongs, or "" if it belongs to none. It is
// the test of the request that started the run. If the server does not know that request, or if the
// request names no test, it is the test of the request for the stream.
func (s *Stream) Test() string {
	if p := s.response.plan.Load(); p != nil && p.test != "" {
		return p.test
	}
	return s.response.exchange.scope.id
}

// Status returns the current state of the stream.
func (s *Stream) Status() StreamStatus {
	x := s.response.exchange
	v := StreamStatus{ID: s.ID, Dialect: x.run.dialect, Test: s.Test(), Thread: x.run.thread, Run: x.run.run}
	if x.entry != nil {
		v.Entry = x.entry.ID()
	}
	if p, _ := x.currentPlan(); p != nil {
		v.Rule = p.rule
	}
	v.Events = int(s.response.frameCount.Load())
	if from := s.response.gate.held(); from != noFrame {
		v.Held = &from
	}
	return v
}

// Hold holds back the event with the given index, counted from 0, and all later events. If earlier
// events are held, they are sent. A negative index means 0.
func (s *Stream) Hold(event int) { s.response.gate.holdFrom(max(0, event)) }

// Next lets n more events of a held stream pass, and holds the events after them. It returns an
// error if n is less than 1 or the stream is not held.
func (s *Stream) Next(n int) error {
	if n < 1 {
		return fmt.Errorf("invalid number of events %d (want 1 or more)", n)
	}
	return s.response.gate.allow(n)
}

// Release sends the events that are held, and lets all later events pass.
func (s *Stream) Release() { s.response.gate.holdFrom(noFrame) }

// Inject sends frame to the client unchanged and immediately, even if events of the stream are
// held. The frame should be the complete text of an event or a comment, including the blank line at
// its end; Inject does not check it. It returns an error if the stream has ended or the client
// left.
func (s *Stream) Inject(frame []byte) error {
	if _, err := s.response.client.Write(frame); err != nil {
		return err
	}
	return s.response.client.Flush()
}

// End ends the stream in the way given by how. It does nothing if the stream has already ended.
func (s *Stream) End(how fault.StreamEnd) { _ = s.response.client.Finish(how) }
