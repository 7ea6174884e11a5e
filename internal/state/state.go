// Package state provides stores for the data of a server: conversations with their owners
// and messages, and the event logs of runs. The stores of this package are in memory; package
// durable has others.
//
// Stores treat events as opaque bytes and interpret no field of a message except At and Hidden.
// Several servers may share one [Store], in one process or in many. All methods of a store
// are safe for concurrent use. Data is stored when the method that adds it returns no error.
package state

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"
)

// MaxMessages is the number of messages of a thread, the latest ones, that are always kept. Older
// messages are dropped in batches of about TrimStep.
const (
	MaxMessages = 10_000
	TrimStep    = MaxMessages / 8
)

// MaxReadBytes is the limit, in bytes, on the total size of the events that one call of
// [Store].EventsAfter returns. A single larger event is returned alone. Stores in memory do not
// have this limit.
const MaxReadBytes = 64 << 10

// Errors that a [Store] returns, besides errors from its medium: the file, server or memory in
// which it keeps its data.
var (
	// ErrNotOwner means that the thread belongs to a user other than RunRequest.Owner.
	ErrNotOwner = errors.New("the conversation belongs to another user")
	// ErrNotFound means that the thread or run does not exist or, for Append, that the run has
	// ended.
	ErrNotFound = errors.New("no such conversation or run")
)

// A RunRef identifies a run. Names of threads and runs are chosen by the caller and may
// consist of any bytes.
type RunRef struct {
	Thread string
	Run    string // unique within the thread
}

// A StartRunRequest describes a run to be added to its thread. The thread is created if it
// does not exist.
type StartRunRequest struct {
	RunRef
	Owner      string // the user; "" is the anonymous user
	TaskID     string // an id that the caller chose, stored with the run
	StartedAt  time.Time
	KeepEvents bool      // events are stored, so that clients can resume the run's stream
	Messages   []Message // messages that the request adds to the thread
}

// A StartRunResult is the result of [Store].StartRun. If the run existed before, the fields after
// Existed are those of the existing run.
type StartRunResult struct {
	ThreadCreated bool      // the call created the thread
	Existed       bool      // the run existed before and is unchanged
	TaskID        string    // the TaskID of the request that started the run
	StartedAt     time.Time // when the run was started
	FirstMessage  int64     // Seq of the first message of the run or, if it has none, of the next message in the thread
}

// A Thread is the state of a conversation.
type Thread struct {
	Owner         string // the user; "" is the anonymous user
	Tag           uint32 // distinguishes the thread from earlier and later ones with the same name
	LastPosition  int64  // position of the latest event of its runs; 0 if there is none
	LastForgotten int64  // position of the latest event that was dropped; 0 if none was
}

// A LogEntry is one event in the log of a run.
type LogEntry struct {
	Position int64  // position in the thread: from 1, increasing through all its runs
	Data     []byte // the encoded event
}

// An AppendBatch contains what one call of [Store].Append adds to a run. Append adds either all of
// it or nothing.
type AppendBatch struct {
	Events   [][]byte  // encoded events, in order; dropped unless the run was started with KeepEvents
	Messages []Message // messages completed since the last call
	End      bool      // the run ends with this call
}

// A Message is a complete message of a conversation.
type Message struct {
	Seq  int64  // number in the thread, from 1; assigned by the store
	ID   string // id of the message in events and histories
	Run  string // name of the run to which the message belongs
	Role string // who contributed the message: "user", "assistant" or "tool"
	Text string
	At   time.Time // time of the message

	Name     string       `json:",omitempty"` // name of the tool, in a tool's message
	ToolCall string       `json:",omitempty"` // id of the call that a tool's message is the result of
	Calls    []Call       `json:",omitempty"` // tool calls of an assistant's message
	Files    []Attachment `json:",omitempty"` // attachments of a user's message

	Hidden bool `json:",omitempty"` // passed to agents, but not part of the history that clients get
}

// Day returns the day of the message in UTC, in the form "2006-01-02".
func (m Message) Day() string { return m.At.UTC().Format(time.DateOnly) }

// A Call is a complete tool call. Arguments is JSON text.
type Call struct{ ID, Name, Arguments string }

// An Attachment identifies an uploaded file. Path is the path of the file in the file storage, and
// Type is its media type.
type Attachment struct{ Path, Type string }

// A Resetter is a store with a method Reset. Reset drops all runs that have ended, and all threads
// whose runs have all ended.
type Resetter interface {
	Store
	Reset()
}

// A Store keeps threads, their messages and the logs of their runs. Its methods are safe for
// concurrent use. They return an error if the medium, in which the store keeps its data, fails, for
// example because a disk is full or a server is unreachable. They return within seconds even if the
// context has no deadline. A store continues to work after a failure of its medium has ended.
type Store interface {
	// StartRun adds a run to its thread. If the run exists already, it is left unchanged and
	// Existed is true in the result. The error is ErrNotOwner if the thread belongs to another
	// user.
	StartRun(ctx context.Context, b StartRunRequest) (StartRunResult, error)

	// Append adds update to a run. The events receive the positions first, first+1, ..., with no
	// event of another run between them. canceled reports whether Cancel was called for the run.
	// The error is ErrNotFound if the run does not exist or has ended.
	Append(ctx context.Context, run RunRef, update AppendBatch) (first int64, canceled bool, err error)

	// Thread returns the state of a thread. The error is ErrNotFound if it does not exist.
	Thread(ctx context.Context, name string) (Thread, error)

	// EventsAfter returns the events of a run beyond a position: at most limit events and
	// about [MaxReadBytes] bytes, but at least one event if there is any. entries is empty if
	// there are none yet. ended reports whether the run has ended and no event
	// follows the entries. The error is ErrNotFound if the run does not exist.
	EventsAfter(ctx context.Context, run RunRef, position int64, limit int) (
		entries []LogEntry, ended bool, err error)

	// Watch returns a channel that receives a value after any process has started a run of the
	// thread or appended to one. It may also receive values without such a change. The capacity of
	// the channel is one; while it is full, no value is sent. The caller must call stop when it no
	// longer needs the channel. The channel is never closed.
	Watch(thread string) (changed <-chan struct{}, stop func())

	// Cancel requests that a run be stopped, or all runs of the thread if Run is "". The process
	// that executes a run learns of that from Append and Canceled. Runs that have ended or do not
	// exist are ignored.
	Cancel(ctx context.Context, run RunRef) error

	// Canceled returns a channel that receives the runs for which any process called Cancel, even
	// those that other processes execute. Every call returns the same channel. While it is full,
	// runs are not sent; Append reports their cancellation nevertheless.
	Canceled() <-chan RunRef

	// Messages returns up to limit messages of a thread, oldest first: the last ones whose numbers
	// are below before or, if before is 0, the last ones of the thread. It returns no messages for
	// a thread that does not exist.
	Messages(ctx context.Context, thread string, before int64, limit int) ([]Message, error)

	// DayMessages returns the messages of the latest day, oldest first, and that day ("2006-01-02",
	// in UTC). If before is not "", only days before that day are considered. Hidden messages are
	// ignored. more reports whether there are messages of earlier days. If there are no messages,
	// day is "".
	DayMessages(ctx context.Context, thread, before string) (day string, messages []Message, more bool, err error)

	// LatestThread returns the owner's thread in which a run was started most recently, or "" if
	// there is none. Only threads whose names begin with prefix are considered.
	LatestThread(ctx context.Context, owner, prefix string) (thread string, err error)

	// ClaimOrphans returns runs whose process is gone and assigns those runs to this
	// process: no other process receives them, unless this one is gone as well.
	ClaimOrphans(ctx context.Context) ([]RunRef, error)

	// Secret returns 32 random bytes that never change for the same stored data.
	Secret(ctx context.Context) ([]byte, error)

	// Ping returns an error if the medium cannot be written to.
	Ping(ctx context.Context) error

	// Close releases the store. Stored data remains if the medium outlives the process.
	Close() error
}

// A Config configures a store and bounds what it keeps. The zero value of each field is a usable
// default.
//
// Only about the last 10,000 messages of each thread are kept, however many runs the thread has.
type Config struct {
	// MaxRuns is the maximum number of ended runs that are kept, of all threads together.
	// Beyond that, the runs that ended first are dropped, and a thread is dropped with its
	// messages when none of its runs is left. 0 means MemoryMaxRuns, durable.RedisMaxRuns or
	// durable.SQLiteMaxRuns, depending on the store.
	MaxRuns int
	// MaxBytes is the maximum size of the stored events of all ended runs, in bytes. Beyond that,
	// the runs that ended first are dropped. 0 means 256 MiB for a store in memory, and no limit
	// for other stores.
	MaxBytes int64
	// DeadAfter is the time without a heartbeat after which a process that shares the store counts
	// as gone, so that ClaimOrphans returns its runs. 0 means 3 s.
	DeadAfter time.Duration
	// ThreadTag returns the tag of a new thread of a store in memory, for reproducible
	// tests. If nil, tags begin at a random number.
	ThreadTag func(thread string) uint32
}

// RandomTag returns a random number for the tag of the first thread of a new store; later threads
// get consecutive tags. A cursor contains the tag of its thread. Because of the random start, a
// store is unlikely to accept a cursor of another store, or a cursor of its own from before a loss
// of data.
func RandomTag() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint32(b[:])
}
