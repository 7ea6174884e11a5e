// Package state keeps what a server has to remember: conversations, who owns them,
// what was said in them, and what was told of their runs. It does not know what a
// run or a message means, nor how anything is spelled. One [Store] may serve many
// servers, in one process or several; all of its methods are safe for concurrent
// use, and whatever a method has returned without an error is kept.
package state

import (
	"context"
	"errors"
	"time"
)

// maxMessages is how many messages of a thread are kept. Those before are forgotten now
// and then, so many at once.
const (
	maxMessages = 10_000
	trimStep    = maxMessages / 8
)

// MaxReadBytes is how many bytes of events a store lists at once, but for one that is larger,
// which is listed alone. What is in memory anyway is not bounded.
const MaxReadBytes = 64 << 10

// What a store answers, besides what its medium does.
var (
	ErrNotOwner = errors.New("the conversation is another user's")
	ErrNotFound = errors.New("there is no such conversation or run")
)

// A RunRef names one run. Names of threads are chosen by the caller, and opaque.
type RunRef struct {
	Thread string
	Run    string // unique in the thread
}

// A RunRequest is a run that is to be put into its thread, which is made if there is
// none.
type RunRequest struct {
	RunRef
	Owner      string    // the user; "" is nobody in particular
	TaskID     string    // an id of the caller's, given back by Begin for the same run
	StartedAt  time.Time // when
	KeepEvents bool      // its events will be kept (Tell), to be listened to later
	Messages   []Message // what the user says in it
}

// A RunInfo is what Begin found.
type RunInfo struct {
	ThreadCreated bool      // the thread was made by it
	Existed       bool      // there was a run of that name before; nothing was changed
	TaskID        string    // of the run that is there now, likewise At and First
	StartedAt     time.Time //
	FirstMessage  int64     // the number of the first message of the thread that is this run's or later
}

// A Thread is a conversation, as it stands.
type Thread struct {
	Owner         string
	Tag           uint32 // tells it from others of the same name, before and after it
	LastPosition  int64  // the place of the latest event of its runs; 0 is none yet
	LastForgotten int64  // the greatest place among the events that are no longer kept; 0 is none
}

// An LogEntry is one event in the log of a run.
type LogEntry struct {
	Position int64 // its place in the thread: from 1, and rising through all runs of the thread
	Data     []byte
}

// A RunUpdate is what is added to a run, all of it or nothing.
type RunUpdate struct {
	Events   [][]byte  // events, in order; those of a run that is not Logged are dropped
	Messages []Message // messages that are complete now
	End      bool      // nothing comes after this
}

// A Message is something that was said in a conversation, whole.
type Message struct {
	Seq  int64 // its number in the thread: from 1, rising; given by the store
	ID   string
	Run  string
	Role string // user, assistant, tool, ...
	Text string
	At   time.Time

	Name  string `json:",omitempty"` // of a tool
	Call  string `json:",omitempty"` // which call a tool's message answers
	Calls []Call `json:",omitempty"` // what an assistant's message calls
	Files []File `json:",omitempty"` // what a user's message carries

	Hidden bool `json:",omitempty"` // it is remembered, but not shown in the history
}

// A Call is a call of a tool, whole.
type Call struct{ ID, Name, Arguments string }

// A File is something that was uploaded.
type File struct{ Bucket, Path, Type string }

// A Resetter store forgets, at once, every run that is over, and every conversation that
// has no other.
type Resetter interface {
	Store
	Reset()
}

// A Store keeps all of that. Errors of the medium (a full disk, a server that is
// gone) are returned as they are, within seconds also where the context has no
// deadline; the store goes on when the medium is back.
type Store interface {
	// Begin puts a run into its thread. It is ErrOwner if the thread is another
	// user's. A run that is there already is left as it is (Begun.Again).
	StartRun(ctx context.Context, b RunRequest) (RunInfo, error)

	// Tell adds to a run and says which places its events got: first, first+1, ...
	// in this call's order, without another run's between. canceled is whether Cancel was asked for. It is ErrUnknown if the run
	// is not there or is over: nothing can be added any more.
	Append(ctx context.Context, run RunRef, told RunUpdate) (first int64, canceled bool, err error)

	// Thread is ErrUnknown if there is none.
	Thread(ctx context.Context, name string) (Thread, error)

	// After lists events of a run beyond a place, at most so many, and not many more
	// than [MaxRead] bytes of them, but one at least if there is any: that there are no
	// more now shows when it lists none. over is whether no other will ever come after
	// these. It is ErrUnknown if the run is not there.
	EventsAfter(ctx context.Context, run RunRef, at int64, most int) (entries []LogEntry, over bool, err error)

	// Watch gives a channel that receives (it has room for one) whenever a run of
	// the thread was begun or told of since, by whatever process, and now and then for
	// nothing. stop ends that.
	Watch(thread string) (changed <-chan struct{}, stop func())

	// Cancel asks for a run, or with Run "" for all runs of the thread, to be
	// stopped by whoever plays it: Tell says so, and Canceled. Runs that are over or
	// unknown are passed over.
	Cancel(ctx context.Context, run RunRef) error

	// Canceled receives runs for which Cancel was asked, by whatever process, whether
	// they are played here or not. There is one channel for a store.
	Canceled() <-chan RunRef

	// Messages lists the last messages of a thread, at most so many, oldest first:
	// those with a number below before (0 is all).
	Messages(ctx context.Context, thread string, before int64, most int) ([]Message, error)

	// Day lists the messages of the latest day (UTC, "2006-01-02") before a day (""
	// is the latest of all) that has messages which are not Hidden, without the
	// hidden ones, and says whether an earlier day has any. day is "" if there is none.
	DayMessages(ctx context.Context, thread, before string) (day string, said []Message, more bool, err error)

	// Latest is the thread, among those whose names begin with a prefix, in which the
	// owner's latest run was begun; "" if there is none.
	LatestThread(ctx context.Context, owner, prefix string) (thread string, err error)

	// Orphans lists runs that nobody plays any more, because the process that did is
	// gone, and makes them this process's: no other gets them from then on, unless
	// this one is gone as well.
	ClaimOrphans(ctx context.Context) ([]RunRef, error)

	// Secret is 32 random bytes, always the same for what is kept in one place.
	Secret(ctx context.Context) ([]byte, error)

	// Ping says whether the medium can be used now: it writes something, and takes it
	// back.
	Ping(ctx context.Context) error

	// Close ends the store. What was kept stays, if the medium outlives the process.
	Close() error
}

// A Config says how much is kept. The zero value of each field is a sensible default.
//
// However many runs a thread has, no more than its last 10,000 messages, or a few
// more, are kept.
type Config struct {
	// Runs is how many runs that are over are kept at most, of all threads together;
	// beyond that the oldest are forgotten, each whole. A thread is forgotten, with its
	// messages, when none of its runs is left. 0 is 1000 in memory,
	// 100,000 in Redis, which holds everything in memory as well, and a million in SQLite.
	MaxRuns int
	// Bytes bounds the events that are kept of runs that are over, likewise. 0 is
	// 256 MiB in memory, and no bound elsewhere.
	MaxBytes int64
	// Dead is how long a process is not heard of before its runs are nobody's, where
	// several share a store. 0 is 3 s.
	DeadAfter time.Duration
	Now       func() time.Time // nil is time.Now
	// Tag gives the tag of a thread that is made, where it has to be the same again, in
	// memory; nil is one that hardly another has.
	ThreadTag func(thread string) uint32
}
