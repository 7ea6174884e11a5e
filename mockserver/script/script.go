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

// A Severity says how bad a problem is.
type Severity int

// The levels. With an error nothing is loaded.
const (
	Error Severity = iota
	Warning
)

func (l Severity) String() string {
	if l == Warning {
		return "warning"
	}
	return "error"
}

// A Problem is something that is wrong with a script, and what would be right.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 is the file as a whole
	Severity     Severity
	Message      string
}

func (p Problem) String() string {
	text := p.Message
	if p.Severity == Warning {
		text = "warning: " + text
	}
	if p.Line == 0 {
		return p.File + ": " + text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, text)
}

// compare orders problems as they stand in the files.
func (p Problem) compare(q Problem) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Severity, q.Severity))
}

// A RuleSet is all rules that were loaded, in the order in which they are asked. It does not
// change; what rules remember is in a [State].
type RuleSet struct {
	rules    []*Rule
	dialects []*dialect.Dialect // for which it was loaded
}

// Rules are the rules, in the order in which they are asked.
func (s *RuleSet) Rules() []*Rule {
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

	counterKey  string   // under which its counters are kept: the same after the file was read again
	column      int      // where it stands
	dialects    []string // names; none: all
	conditions  conditions
	action      action
	maxMatches  int // how often it matches at most; 0: always
	quota       quota
	transitions []scenarioStep
}

// A quota is how many requests in how long are served.
type quota struct {
	requests int
	per      time.Duration
}

// A scenarioStep is a step that a scenario goes to.
type scenarioStep struct{ scenario, step string }

// RequestContext are what a script can ask about one request. They are made for one request, may be
// shown to several sets, and not be used by two goroutines at once.
type RequestContext struct {
	Dialect   *dialect.Dialect
	Operation string       // what is asked for, as [reference.Deeds] calls it
	Request   spec.Request // as it came
	Parsed    *spec.Event  // as it was heard
	Rand      *rand.Rand   // all chance comes from here; nil is none
	Now       time.Time

	analyzed   bool // the rest is there
	turn       int
	lastInput  string // user, tool, resume, or "" where nothing is to be answered
	userText   string // what the user said last
	parsedBody any    // as JSON
	bodyParsed bool
	undoTurn   func() // forgets that the user spoke
}

// A Decision is what the rules say about a request.
type Decision struct {
	Rule       *Rule // nil: none matched, and Misses say why
	Mismatches []Mismatch
	Reply      Reply
}

// A Mismatch is why a rule did not match.
type Mismatch struct {
	Rule, Reason string
}

// A Reply is what a request is answered with. The zero value is what the server says by
// itself.
type Reply struct {
	Refusal *fault.Refusal // a status instead of a stream
	// Play is what is said, and it may be asked several times; nil: the server's own agent
	// answers.
	Play   func(ctx context.Context, t reference.Turn) iter.Seq[TimedEvent]
	Pace   pace.Pace
	Faults []fault.Spec

	newPlay func(pace.Chunk) func(context.Context, reference.Turn) iter.Seq[TimedEvent]
}

// WithPace is the reply at a pace: its texts are cut into the chunks of that.
func (r Reply) WithPace(p pace.Pace) Reply {
	r.Pace = p
	if r.newPlay != nil {
		r.Play = r.newPlay(p.Chunk)
	}
	return r
}

// A TimedEvent is an event and how much later it is due than the pace says. Events are as
// [reference.Agent] documents.
type TimedEvent struct {
	Event spec.Event
	Delay time.Duration
}
