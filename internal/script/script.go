// Package script implements scripts: rules in YAML that map requests to replies, and that are
// written once for all dialects (versions of protocols). [Load] parses scripts strictly,
// [RuleSet.Decide] finds the rule for a request, and [RuleSet.CheckReplies] checks that the replies
// conform to their dialects. The package neither serves requests nor sleeps, and it does not depend
// on HTTP handlers, the effect of faults or the encoding of events.
package script

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Source is the content of one script file.
type Source struct {
	Name string // file name for messages
	Data []byte // YAML text
}

// A Severity is the severity of a problem: error or warning.
type Severity int

// The severities of problems. An error prevents the script from being loaded; a warning does not.
const (
	Error Severity = iota
	Warning
)

// String returns "error" or "warning".
func (l Severity) String() string {
	if l == Warning {
		return "warning"
	}
	return "error"
}

// A Problem is a defect of a script. The message describes the defect and, in most cases, how to
// correct it.
type Problem struct {
	File         string // name of the source
	Line, Column int    // from 1, columns in code points; 0 if the problem concerns the whole file
	Severity     Severity
	Message      string
}

// String returns the problem as FILE:LINE:COLUMN: MESSAGE, or as FILE: MESSAGE if it concerns the
// whole file. If the problem is a warning, MESSAGE begins with "warning: ".
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

// compare returns a negative number if p is reported before q, a positive number if p is reported
// after q, and 0 if they are equal. Both must be problems of the same file. They are ordered by
// position, then by severity (errors first), and then by message.
func (p Problem) compare(q Problem) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column), cmp.Compare(p.Severity, q.Severity),
		cmp.Compare(p.Message, q.Message))
}

// A RuleSet holds all rules that were loaded, in the order in which they are tried. It is immutable
// and safe for concurrent use; counters and scenario steps are kept in a [State].
type RuleSet struct {
	rules    []*Rule
	dialects []*dialect.Dialect // the dialects that the mock serves
}

// Rules returns a new slice of the rules in the order in which they are tried, or nil if s is nil
// or has no rules.
func (s *RuleSet) Rules() []*Rule {
	if s == nil {
		return nil
	}
	return append([]*Rule(nil), s.rules...)
}

// A Rule maps requests that meet its conditions to a reply.
type Rule struct {
	Name string // from the script; "rule 3" if the third rule of a file has no name
	File string // name of the source
	Line int    // line of the rule in the file, from 1
	ruleDocument

	counterKey string          // key of the match count and the quota in a State; a reload of the file keeps it
	column     int             // column of the rule in the file, from 1
	dialects   textList        // names of dialects or families; empty means all dialects
	groups     map[string]bool // capture groups of the regular expressions in When, by number and name
}

// A scenarioStep is one step of a scenario. A scenario is a named state machine: it has a current
// step, which rules can require and set.
type scenarioStep struct{ scenario, step string }

// A RequestContext holds what rules and templates need to know about one request. It may be passed
// to several rule sets one after the other, but must not be used concurrently.
type RequestContext struct {
	Dialect   *dialect.Dialect
	Operation string       // one of [reference.OperationKinds]
	Request   spec.Request // as received
	Parsed    *spec.Event  // the decoded request; nil means an empty one
	Rand      *rand.Rand   // source of randomness in templates; if nil, one with a fixed seed
	Now       time.Time    // time of the request

	analyzed   bool   // analyze has set turn, lastInput, userText and undoTurn
	turn       int    // number of the turn, from 1; 0 if unknown; see State.recordTurn
	lastInput  string // user, tool or resume; "" if the request has no such input
	userText   string // text of the last message of the user
	parsedBody any    // the body as a JSON value
	bodyParsed bool   // parsedBody is set
	undoTurn   func() // reverses the counting of the turn; nil if it was not counted
}

// A Decision is the result of [RuleSet.Decide]: the rule that matched and its reply, or the reasons
// why no rule matched.
type Decision struct {
	Rule       *Rule      // nil if no rule matched
	Mismatches []Mismatch // if no rule matched, the reasons for at most 20 rules
	Reply      Reply      // the reply of Rule; the zero value if no rule matched
}

// A Mismatch states why a rule did not match a request.
type Mismatch struct {
	Rule   string // name of the rule
	Reason string // the first condition that the request does not meet, and why
}

// A Reply describes the response to a request. The zero value means that the server's own agent
// replies, as if there were no script.
type Reply struct {
	Refusal *fault.CannedResponse // an error response to send instead of a stream; nil means none
	// Agent returns the agent that produces the reply. The agent splits texts into pieces of the
	// size chunk. For each "wait" step, it calls pause, which must wait for the given time. If
	// Agent is nil, the server's own agent replies.
	Agent  func(chunk pace.ChunkSize, pause func(time.Duration)) reference.Agent
	Pace   pace.Pace    // the timing of the response
	Faults []fault.Spec // faults to inject into the response
}
