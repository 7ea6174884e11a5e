package journal

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Note is one thing that happened, as it happens.
type Note struct {
	Kind    NoteKind
	ID      uint64 // of the exchange
	Test    string
	Dialect string        // opened
	Op      string        // opened
	Text    string        // opened: method and target; fault: its name; closed: how
	Status  int           // head, closed
	N       int           // sent: which piece; dropped: how many notes were lost
	At      time.Duration // sent, closed: since the head was sent
	Bytes   int           // sent: of the piece; closed: of the body
	Raw     Raw           // sent: its beginning
}

// A NoteKind says what a note is about.
type NoteKind string

// The kinds of notes.
const (
	NoteOpened  NoteKind = "opened"
	NoteHead    NoteKind = "head"
	NoteSent    NoteKind = "sent"
	NoteFault   NoteKind = "fault"
	NoteClosed  NoteKind = "closed"
	NoteReset   NoteKind = "reset"
	NoteDropped NoteKind = "dropped" // the reader was too slow for N notes
)

// maxNoteBytes is how much of a piece a note shows, and maxQueuedNotes how many notes wait for a
// slow reader.
const (
	maxNoteBytes   = 4096
	maxQueuedNotes = 256
)

// MarshalJSON spells a note.
func (n Note) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind    NoteKind `json:"note"`
		ID      uint64   `json:"id,omitempty"`
		Test    string   `json:"test"`
		Dialect string   `json:"dialect,omitempty"`
		Op      string   `json:"op,omitempty"`
		Text    string   `json:"text,omitempty"`
		Status  int      `json:"status,omitempty"`
		N       int      `json:"n"`
		AtMS    float64  `json:"at_ms"`
		Bytes   int      `json:"bytes"`
		Raw     Raw      `json:"raw,omitempty"`
	}{n.Kind, n.ID, n.Test, n.Dialect, n.Op, n.Text, n.Status, n.N, milliseconds(n.At), n.Bytes, n.Raw})
}

// A feed hands notes to those who listen, and never waits for them.
type feed struct {
	subscriberCount atomic.Int32 // how many listen
	mu              sync.Mutex
	subscribers     []*subscriber
}

type subscriber struct {
	notes     chan Note
	lostNotes int
}

// Subscribe tells what happens from now on, until ctx is done; then the channel is
// closed. A reader that is too slow loses notes, and is told how many.
func (j *Journal) Subscribe(ctx context.Context) <-chan Note {
	l := &subscriber{notes: make(chan Note, maxQueuedNotes)}
	j.feed.mu.Lock()
	j.feed.subscribers = append(j.feed.subscribers, l)
	j.feed.mu.Unlock()
	j.feed.subscriberCount.Add(1)
	context.AfterFunc(ctx, func() {
		j.feed.subscriberCount.Add(-1)
		j.feed.mu.Lock()
		defer j.feed.mu.Unlock()
		j.feed.subscribers = slices.DeleteFunc(j.feed.subscribers, func(o *subscriber) bool { return o == l })
		close(l.notes)
	})
	return l.notes
}

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

func (l *subscriber) deliver(n Note) {
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

// waiters are woken when anything but the sending of a piece has happened.
type waiters struct {
	count    atomic.Int32
	mu       sync.Mutex
	channels []chan struct{}
}

func (w *waiters) add() chan struct{} {
	moved := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.channels = append(w.channels, moved)
	w.count.Add(1)
	return moved
}

func (w *waiters) remove(moved chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count.Add(-1)
	w.channels = slices.DeleteFunc(w.channels, func(o chan struct{}) bool { return o == moved })
}

func (w *waiters) wake() {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, moved := range w.channels {
		select {
		case moved <- struct{}{}:
		default:
		}
	}
}
