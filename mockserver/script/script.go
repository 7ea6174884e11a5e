// Package script reads scripts: rules in YAML that say which requests are answered how,
// in words that every dialect can play. [Load] reads them strictly, [Set.Decide] finds the
// rule for a request, and [Check] asks whoever judges streams what it thinks of the
// replies. The package does not serve anything and waits for nothing. It does not know
// HTTP handlers, how faults work, or how a dialect spells an event.
package script

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Source is a file of rules.
type Source struct {
	Name string // as problems name it
	Data []byte
}

// A Level says how bad a problem is.
type Level int

// The levels. With an error nothing is loaded.
const (
	Error Level = iota
	Warning
)

func (l Level) String() string {
	if l == Warning {
		return "warning"
	}
	return "error"
}

// A Problem is something that is wrong with a script, and what would be right.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 is the file as a whole
	Level        Level
	Text         string
}

func (p Problem) String() string {
	text := p.Text
	if p.Level == Warning {
		text = "warning: " + text
	}
	if p.Line == 0 {
		return p.File + ": " + text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, text)
}

// before orders problems as they stand in the files.
func (p Problem) before(q Problem) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Level, q.Level))
}

// A Set is all rules that were loaded, in the order in which they are asked. It does not
// change; what rules remember is in a [State].
type Set struct {
	rules    []*Rule
	dialects []*dialect.Dialect // for which it was loaded
}

// Rules are the rules, in the order in which they are asked.
func (s *Set) Rules() []*Rule {
	if s == nil {
		return nil
	}
	return append([]*Rule(nil), s.rules...)
}

// A Rule says which requests are answered how.
type Rule struct {
	Name     string // of its own, or "rule 3"
	File     string
	Line     int
	Priority int  // the higher ones are asked first
	Violates bool // it says that it breaks the protocol

	key      string   // under which its counters are kept: the same after the file was read again
	column   int      // where it stands
	dialects []string // names; none: all
	when     conditions
	does     action
	times    int // how often it matches at most; 0: always
	quota    quota
	set      []setting
}

// A quota is how many requests in how long are served.
type quota struct {
	requests int
	per      time.Duration
}

// A setting is a step that a scenario goes to.
type setting struct{ scenario, step string }

// Facts are what a script can ask about one request. They are made for one request, may be
// shown to several sets, and not be used by two goroutines at once.
type Facts struct {
	Dialect *dialect.Dialect
	Op      string       // what is asked for, as [reference.Deeds] calls it
	Request spec.Request // as it came
	Ask     *spec.Event  // as it was heard
	Rand    *rand.Rand   // all chance comes from here; nil is none
	Now     time.Time

	known    bool // the rest is there
	turn     int
	last     string // user, tool, resume, or "" where nothing is to be answered
	text     string // what the user said last
	body     any    // as JSON
	bodyRead bool
	undo     func() // forgets that the user spoke
}

// A Decision is what the rules say about a request.
type Decision struct {
	Rule   *Rule // nil: none matched, and Misses say why
	Misses []Miss
	Reply  Reply
}

// A Miss is why a rule did not match.
type Miss struct {
	Rule, Why string
}

// A Reply is what a request is answered with. The zero value is what the server says by
// itself.
type Reply struct {
	Refuse *fault.Refusal // a status instead of a stream
	// Play is what is said, and it may be asked several times; nil: the server's own agent
	// answers.
	Play   func(ctx context.Context, t reference.Turn) iter.Seq[Beat]
	Pace   pace.Pace
	Faults []fault.Use

	cut func(pace.Chunk) func(context.Context, reference.Turn) iter.Seq[Beat]
}

// At is the reply at a pace: its texts are cut into the chunks of that.
func (r Reply) At(p pace.Pace) Reply {
	r.Pace = p
	if r.cut != nil {
		r.Play = r.cut(p.Chunk)
	}
	return r
}

// A Beat is an event and how much later it is due than the pace says. Events are as
// [reference.Agent] documents.
type Beat struct {
	Event spec.Event
	Wait  time.Duration
}
