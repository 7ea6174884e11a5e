package journal

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// A FeedEvent reports one change of the journal. Fields whose comment begins with the names of
// event kinds, such as "sent", are set only in events of these kinds.
type FeedEvent struct {
	Kind    FeedEventKind `json:"note"`
	ID      uint64        `json:"id,omitempty"`      // id of the exchange; 0: the event is about no single exchange
	Test    string        `json:"test"`              // id of the test; "": the request names no test
	All     bool          `json:"all,omitempty"`     // reset: exchanges of all tests were removed
	Dialect string        `json:"dialect,omitempty"` // opened: name of the dialect
	Op      string        `json:"op,omitempty"`      // opened: kind of the operation
	Text    string        `json:"text,omitempty"`    // opened: method, target; fault: FaultRecord.Name; closed: EndReason
	Status  int           `json:"status,omitempty"`  // head, closed: status code; 0: no head was sent
	N       int           `json:"n"`                 // sent: number of the write, from 0; dropped: number of lost events
	AtMS    float64       `json:"at_ms"`             // sent, closed: ms since the head or, if none was sent, the request
	Bytes   int           `json:"bytes"`             // sent: size of the write; closed: size of the body
	Raw     BodyBytes     `json:"raw,omitempty"`     // sent: the written bytes, at most maxEventBytes
}

// A FeedEventKind is the kind of change that an event reports.
type FeedEventKind string

// The kinds of events. The comments in FeedEvent state which fields the events of each kind have.
const (
	EventOpened  FeedEventKind = "opened"  // an exchange began
	EventHead    FeedEventKind = "head"    // the head of a response was sent
	EventSent    FeedEventKind = "sent"    // a part of a response body was sent in one write
	EventFault   FeedEventKind = "fault"   // a fault changed a response
	EventClosed  FeedEventKind = "closed"  // an exchange ended
	EventReset   FeedEventKind = "reset"   // exchanges were removed by Reset or Clear
	EventDropped FeedEventKind = "dropped" // N events were lost because the subscriber was too slow
)

// Limits of events.
const (
	maxEventBytes   = 4096 // bytes of a write that an event contains; the rest of the write is left out
	maxQueuedEvents = 256  // events that wait for a slow subscriber; further events are lost
)

// A feed delivers events to subscribers and never waits for a slow one.
type feed struct {
	subscriberCount atomic.Int32 // len(subscribers)
	mu              sync.Mutex
	subscribers     []*subscriber
}

// A subscriber is a receiver of events: the channel that Subscribe returned for it, and the number
// of events that did not fit into the channel and have not been reported as lost yet.
type subscriber struct {
	events     chan FeedEvent
	lostEvents int
}

// Subscribe returns a channel that receives an event for each change of the journal of which a
// FeedEventKind exists. The channel is closed when ctx is done. It holds up to 256 events; while it
// is full, further events are lost. When there is room again, the channel first receives an
// EventDropped event with the number of lost events.
func (j *Journal) Subscribe(ctx context.Context) <-chan FeedEvent {
	l := &subscriber{events: make(chan FeedEvent, maxQueuedEvents)}
	j.feed.mu.Lock()
	j.feed.subscribers = append(j.feed.subscribers, l)
	j.feed.mu.Unlock()
	j.feed.subscriberCount.Add(1)
	context.AfterFunc(ctx, func() {
		j.feed.subscriberCount.Add(-1)
		j.feed.mu.Lock()
		defer j.feed.mu.Unlock()
		j.feed.subscribers = slices.DeleteFunc(j.feed.subscribers, func(o *subscriber) bool { return o == l })
		close(l.events)
	})
	return l.events
}

// publish delivers the event n to all subscribers. It does not block: a subscriber whose queue is
// full does not get the event; see deliver.
func (j *Journal) publish(n FeedEvent) {
	if j.feed.subscriberCount.Load() == 0 {
		return
	}
	j.feed.mu.Lock()
	defer j.feed.mu.Unlock()
	for _, l := range j.feed.subscribers {
		l.deliver(n)
	}
}

// deliver queues the event n for the subscriber, or counts it as lost if the queue is full. Before
// the first event after a loss, it queues an EventDropped event.
func (l *subscriber) deliver(n FeedEvent) {
	if l.lostEvents > 0 {
		select {
		case l.events <- FeedEvent{Kind: EventDropped, N: l.lostEvents}:
			l.lostEvents = 0
		default:
			l.lostEvents++
			return
		}
	}
	select {
	case l.events <- n:
	default:
		l.lostEvents++
	}
}

// waiters lets goroutines wait until an exchange changes. A write to a response body does not count
// as a change.
type waiters struct {
	mu      sync.Mutex
	changed chan struct{} // nil if no goroutine waits
}

// wait returns a channel that the next call of wake closes.
func (w *waiters) wait() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// wake closes the channel that calls of wait have returned since the last call of wake, if there is
// one, so that the goroutines that wait for it continue.
func (w *waiters) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}
