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

// mostNote is how much of a piece a note shows, and mostNotes how many notes wait for a
// slow reader.
const (
	mostNote  = 4096
	mostNotes = 256
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
	}{n.Kind, n.ID, n.Test, n.Dialect, n.Op, n.Text, n.Status, n.N, ms(n.At), n.Bytes, n.Raw})
}

// A feed hands notes to those who listen, and never waits for them.
type feed struct {
	heard atomic.Int32 // how many listen
	mu    sync.Mutex
	all   []*listener
}

type listener struct {
	notes chan Note
	lost  int
}

// Subscribe tells what happens from now on, until ctx is done; then the channel is
// closed. A reader that is too slow loses notes, and is told how many.
func (j *Journal) Subscribe(ctx context.Context) <-chan Note {
	l := &listener{notes: make(chan Note, mostNotes)}
	j.feed.mu.Lock()
	j.feed.all = append(j.feed.all, l)
	j.feed.mu.Unlock()
	j.feed.heard.Add(1)
	context.AfterFunc(ctx, func() {
		j.feed.heard.Add(-1)
		j.feed.mu.Lock()
		defer j.feed.mu.Unlock()
		j.feed.all = slices.DeleteFunc(j.feed.all, func(o *listener) bool { return o == l })
		close(l.notes)
	})
	return l.notes
}

func (j *Journal) tell(n Note) {
	if j.feed.heard.Load() == 0 {
		return
	}
	j.feed.mu.Lock()
	defer j.feed.mu.Unlock()
	for _, l := range j.feed.all {
		l.tell(n)
	}
}

func (l *listener) tell(n Note) {
	if l.lost > 0 {
		select {
		case l.notes <- Note{Kind: NoteDropped, N: l.lost}:
			l.lost = 0
		default:
			l.lost++
			return
		}
	}
	select {
	case l.notes <- n:
	default:
		l.lost++
	}
}

// waiters are woken when anything but the sending of a piece has happened.
type waiters struct {
	n   atomic.Int32
	mu  sync.Mutex
	all []chan struct{}
}

func (w *waiters) enter() chan struct{} {
	moved := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, moved)
	w.n.Add(1)
	return moved
}

func (w *waiters) leave(moved chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n.Add(-1)
	w.all = slices.DeleteFunc(w.all, func(o chan struct{}) bool { return o == moved })
}

func (w *waiters) wake() {
	if w.n.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, moved := range w.all {
		select {
		case moved <- struct{}{}:
		default:
		}
	}
}
