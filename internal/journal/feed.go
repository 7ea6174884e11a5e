package journal

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Note reports one change of the journal. The fields that are set depend on its kind.
type Note struct {
	Kind    NoteKind
	ID      uint64 // id of the exchange
	Test    string
	Dialect string        // opened
	Op      string        // opened
	Text    string        // opened: method and target; fault: its name; closed: the EndReason
	Status  int           // head, closed
	N       int           // sent: number of the write, from 0; dropped: number of lost notes
	At      time.Duration // sent, closed: time since the head was sent
	Bytes   int           // sent: size of the write; closed: size of the body
	Raw     BodyBytes     // sent: the beginning of the written bytes
}

// A NoteKind is the kind of change that a note reports.
type NoteKind string

// The kinds of notes. The comments in Note state which fields the notes of each kind have.
const (
	NoteOpened  NoteKind = "opened"
	NoteHead    NoteKind = "head"
	NoteSent    NoteKind = "sent"
	NoteFault   NoteKind = "fault"
	NoteClosed  NoteKind = "closed"
	NoteReset   NoteKind = "reset"
	NoteDropped NoteKind = "dropped" // N notes were lost because the subscriber was too slow
)

// Limits of notes: the maximum number of bytes of a write that a note contains, and the maximum
// number of notes that wait for a slow subscriber before further ones are lost.
const (
	maxNoteBytes   = 4096
	maxQueuedNotes = 256
)

// MarshalJSON implements json.Marshaler.
func (n Note) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind    NoteKind  `json:"note"`
		ID      uint64    `json:"id,omitempty"`
		Test    string    `json:"test"`
		Dialect string    `json:"dialect,omitempty"`
		Op      string    `json:"op,omitempty"`
		Text    string    `json:"text,omitempty"`
		Status  int       `json:"status,omitempty"`
		N       int       `json:"n"`
		AtMS    float64   `json:"at_ms"`
		Bytes   int       `json:"bytes"`
		Raw     BodyBytes `json:"raw,omitempty"`
	}{n.Kind, n.ID, n.Test, n.Dialect, n.Op, n.Text, n.Status, n.N, milliseconds(n.At), n.Bytes, n.Raw})
}

// A feed delivers notes to subscribers and never waits for a slow one.
type feed struct {
	subscriberCount atomic.Int32 // len(subscribers)
	mu              sync.Mutex
	subscribers     []*noteSubscriber
}

// A noteSubscriber delivers notes to one subscriber through a channel. It counts the notes that
// were lost since a note was last put into the channel.
type noteSubscriber struct {
	notes     chan Note
	lostNotes int
}

// Subscribe returns a channel that receives a note for each change of the journal. The channel is
// closed when ctx is done. A receiver that is too slow loses notes. It then receives a note of the
// kind NoteDropped, with the number of lost notes, before the next note.
func (j *Journal) Subscribe(ctx context.Context) <-chan Note {
	l := &noteSubscriber{notes: make(chan Note, maxQueuedNotes)}
	j.feed.mu.Lock()
	j.feed.subscribers = append(j.feed.subscribers, l)
	j.feed.mu.Unlock()
	j.feed.subscriberCount.Add(1)
	context.AfterFunc(ctx, func() {
		j.feed.subscriberCount.Add(-1)
		j.feed.mu.Lock()
		defer j.feed.mu.Unlock()
		j.feed.subscribers = slices.DeleteFunc(j.feed.subscribers, func(o *noteSubscriber) bool { return o == l })
		close(l.notes)
	})
	return l.notes
}

// publish delivers a note to all subscribers.
func (j *Journal) publish(n Note) {
	if j.feed.subscriberCount.Load() == 0 {
		return
	}
	j.feed.mu.Lock()
	defer j.feed.mu.Unlock()
	for _, l := range j.feed.subscribers {
		l.deliver(n)
	}
}

// deliver queues a note, or counts it as lost if the queue is full.
func (l *noteSubscriber) deliver(n Note) {
	if l.lostNotes > 0 {
		select {
		case l.notes <- Note{Kind: NoteDropped, N: l.lostNotes}:
			l.lostNotes = 0
		default:
			l.lostNotes++
			return
		}
	}
	select {
	case l.notes <- n:
	default:
		l.lostNotes++
	}
}

// waiters holds one channel for each goroutine that waits for changes of exchanges. Sent bytes do
// not count as changes.
type waiters struct {
	count    atomic.Int32
	mu       sync.Mutex
	channels []chan struct{}
}

// add registers and returns a new channel that receives a value after each change. The caller must
// pass the channel to remove when it stops waiting.
func (w *waiters) add() chan struct{} {
	changed := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.channels = append(w.channels, changed)
	w.count.Add(1)
	return changed
}

// remove unregisters a channel that add returned. No more values are sent to it.
func (w *waiters) remove(changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	w.channels = slices.DeleteFunc(w.channels, func(o chan struct{}) bool { return o == changed })
}

// wake sends a value to each registered channel. It skips a channel that still holds a value,
// because the goroutine that waits for it has not run since the last change.
func (w *waiters) wake() {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, changed := range w.channels {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}
