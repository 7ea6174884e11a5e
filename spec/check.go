package spec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/printable"
)

// A Check is one rule, written once for all dialects and used by both the suite and the linter. A
// Check has no level and no source in a protocol document; those belong to the [Requirement] that
// names the check. A Check holds no state and may be used by concurrent calls of [Run].
type Check struct {
	ID  string // permanent identifier, such as "message.nests"
	Doc string // a title of one line; a blank line and the rationale may follow

	// Of is the party whose messages the rule judges. The zero value is the server.
	Of Party

	// Needs lists the kinds of events that a dialect must have for the rule to be judged. A
	// catalogue must not name the check if its dialect lacks one of them.
	Needs []Kind

	// AllPrincipals makes the rule see the exchanges of all principals. By default, it sees only
	// those of the primary user, since most rules are about what a single user may expect.
	AllPrincipals bool

	// ReadsDocument is true if the rule takes the ids of the requirements that it judges from the
	// OpenAPI document, where x-requirement, x-error and similar extensions name them.
	ReadsDocument bool

	// Watch starts one application of the rule to one conversation and returns a function, which is
	// never nil. [Run] calls that function with each event that the rule sees (see AllPrincipals),
	// in order and never concurrently. In each exchange, HTTPRequest comes first, then
	// HTTPResponse, and BodyEnd last. After the last event, Run calls the functions given to
	// [Pass.AtEnd].
	//
	// Events, and what they refer to, never change afterwards, so the returned function may retain
	// them.
	Watch func(*Pass) func(Event)
}

// A Party is one side of a conversation: the server or the client.
type Party string

// The parties of a conversation. The suite and the linter judge the server; a mock judges its
// clients.
const (
	Server Party = ""
	Client Party = "client"
)

// Title returns the first line of c.Doc, which describes the rule in one line.
func (c *Check) Title() string { t, _, _ := strings.Cut(c.Doc, "\n"); return t }

// A Pass is the application of one check to one conversation. The check reports its judgements by
// calling [Pass.Judge].
type Pass struct {
	planned   PlannedCheck
	judged    map[string]int // number of judgements by requirement id; the key "" is for those without one
	violated  map[string]int // number of failed judgements, with the same keys
	findings  []Finding
	onFinding func(Finding) // called with each finding that is kept; may be nil
	run       *sharedState  // shared with the other passes of a Run
}

// A Finding is a failed judgement. Event is the evidence, and Message states what was seen and what
// is required.
type Finding struct {
	Event   Event
	Message string

	// If the suite played the scenario several times, Plays is the number of plays, and Seen is the
	// number of plays in which the finding was made. Both are 0 if it was made in every play.
	Seen, Plays int
}

// MaxFindings is the maximum number of findings that one check keeps per conversation and
// requirement, to keep reports readable. Further findings are only counted; see
// [CheckResult.Dropped].
const MaxFindings = 50

// Judge records one judgement: whether the event e conforms to the rule. The judgement is about the
// requirement with the id e.Requirement. If that id is "", Judge selects the requirement according
// to the About fields of the requirements. If these do not select exactly one, the judgement is
// about no single requirement (see [CheckResult.VerdictOn]).
//
// If ok is false, Judge also records a finding with e as evidence, up to the limit [MaxFindings].
// The message of the finding is formatted as by fmt.Sprintf. It must state what was seen and what
// is required, in the terms of the dialect. Judge may modify args. If e is a part of a response
// that violates its schema, Judge appends the first violation to the message, because a value of a
// wrong type is absent from the fields of e.
//
// The verdict on a check that never calls Judge is [Silent], not [Passed].
func (p *Pass) Judge(e Event, ok bool, format string, args ...any) {
	if e.Requirement == "" {
		e.Requirement = p.planned.requirementFor(e)
	}
	p.judged[e.Requirement]++
	if ok {
		return
	}
	if p.violated[e.Requirement]++; p.violated[e.Requirement] > MaxFindings {
		return
	}
	f := Finding{Event: e, Message: formatMessage(format, args)}
	if len(e.Violations) > 0 && e.Kind != HTTPRequest && !strings.Contains(f.Message, e.Violations[0].Message) {
		f.Message += " (" + truncate(e.Violations[0].Message, maxQuoted) + ")"
	}
	p.findings = append(p.findings, f)
	if p.onFinding != nil {
		p.onFinding(f)
	}
}

// Judges reports whether the check of this pass judges the requirement with the given id.
func (p *Pass) Judges(requirement string) bool {
	return p.planned.requirementByID(requirement).ID == requirement
}

// Level returns the level of the requirement with the given id. If the check does not judge that
// requirement, Level returns the strictest level of the requirements that the check judges.
func (p *Pass) Level(requirement string) Level {
	return p.planned.requirementByID(requirement).Level
}

// WeakestRequirement returns the id of the requirement with the lowest level among those that the
// check judges. It returns "" if they all have the same level.
func (p *Pass) WeakestRequirement() string {
	severity := func(r Requirement) Verdict { return r.Level.FailureVerdict() }
	all := p.planned.Requirements
	weakest := slices.MinFunc(all, func(a, b Requirement) int { return cmp.Compare(severity(a), severity(b)) })
	if severity(weakest) == p.planned.Level().FailureVerdict() {
		return ""
	}
	return weakest.ID
}

// Limits on the message of a finding, which keep reports readable. formatMessage cuts off what
// exceeds a limit. Nothing is lost, since the event of the finding has all bytes that the target
// sent.
const (
	maxQuoted  = 2 << 10 // bytes of one argument; the limit of one item of a list is 1/16 of that
	maxListed  = 32      // items of one list
	maxMessage = 4 << 10 // bytes of the whole message
)

// formatMessage returns the message of a finding, formatted as by fmt.Sprintf and truncated to
// maxMessage bytes. Before formatting, it modifies args: it replaces each string, byte slice and
// list of strings that exceeds maxQuoted or maxListed with a shortened one.
func formatMessage(format string, args []any) string {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = truncate(arg, maxQuoted)
		case []byte:
			args[i] = truncate(string(arg[:min(len(arg), maxQuoted+utf8.UTFMax)]), maxQuoted)
		case []string:
			list := make([]string, 0, min(len(arg), maxListed)+1)
			for k, s := range arg {
				if k == maxListed {
					list = append(list, fmt.Sprintf("… (%d more)", len(arg)-k))
					break
				}
				list = append(list, truncate(s, maxQuoted/16))
			}
			args[i] = list
		}
	}
	return truncate(fmt.Sprintf(format, args...), maxMessage)
}

// truncate returns s unchanged if it has at most limit bytes. Otherwise it returns the beginning of
// s, at most limit bytes, followed by a note of how many bytes were left out. The note may make the
// result longer than limit.
func truncate(s string, limit int) string {
	shown := printable.Prefix(s, limit)
	if len(shown) == len(s) {
		return s
	}
	return fmt.Sprintf("%s … (%d more bytes)", shown, len(s)-len(shown))
}

// Run applies the checks of a plan to the events of one conversation. The evaluation that it
// returns has one result for each planned check of the plan, in the same order. If onFinding is not
// nil, Run calls it as soon as a finding is made, with the planned check that made it and the
// finding. Findings beyond [MaxFindings] are not reported to onFinding.
func Run(plan Plan, events iter.Seq[Event], onFinding func(PlannedCheck, Finding)) Evaluation {
	passes := make([]Pass, len(plan.PlannedChecks))
	checks := make([]eventObserver, len(plan.PlannedChecks))
	state := &sharedState{shared: map[sharedValueKey]any{}}
	for i, d := range plan.PlannedChecks {
		passes[i] = Pass{planned: d, judged: map[string]int{}, violated: map[string]int{}, run: state}
		if onFinding != nil {
			passes[i].onFinding = func(f Finding) { onFinding(d, f) }
		}
		checks[i] = eventObserver{d.Check.Watch(&passes[i]), d.Check.AllPrincipals}
	}
	progress := evaluationBuilder{hasRunEnd: plan.HasRunEnd}
	watchers := slices.Concat([]eventObserver{{progress.observe, false}}, state.observers, checks)
	for e := range events {
		for _, w := range watchers {
			if e.Principal == PrimaryUser || w.allPrincipals {
				w.observe(e)
			}
		}
	}
	for _, f := range state.atEnd {
		f()
	}
	for i, d := range plan.PlannedChecks {
		progress.Results = append(progress.Results, newResult(d, passes[i]))
	}
	return progress.Evaluation
}

// An eventObserver receives the events of a conversation from [Run].
type eventObserver struct {
	observe       func(Event) // called for each event
	allPrincipals bool        // false: observe is called only for events of exchanges of the primary user
}

// UntilDone returns an iterator over events that ends early if ctx is done. A caller that passes
// the iterator to [Run] must check ctx.Err afterwards: if it returns an error, the [Evaluation] may
// be based on only a part of the events and must not be used.
func UntilDone(ctx context.Context, events iter.Seq[Event]) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for e := range events {
			if ctx.Err() != nil || !yield(e) {
				return
			}
		}
	}
}

// An evaluationBuilder computes the fields of an [Evaluation] other than Results from the events
// of a conversation. For the field Complete, it looks for an exchange whose response streams a run
// to its end. The stream must have content, and all its frames must be decodable. It need not
// contain the start of the run, because not every document demands one. Frames that violate their
// schemas count, too, because checks judge these.
type evaluationBuilder struct {
	Evaluation
	hasRunEnd bool // whether the dialect has the kind RunEnd
	exchangeProgress
}

// An exchangeProgress records what has been received of the response in the current exchange.
type exchangeProgress struct {
	isStream   bool // the response is an event stream with the status 200
	hasContent bool // a frame had content, such as a piece of a message
	malformed  bool // a frame was malformed, or refused the request
	opened     bool // the run started
	ended      bool // the run ended
}

// observe updates s according to e, the next event of the conversation.
func (s *evaluationBuilder) observe(e Event) {
	switch {
	case e.Kind == HTTPRequest:
		s.exchangeProgress = exchangeProgress{}
		s.RequestRecorded = s.RequestRecorded || e.Operation != "" && !errors.Is(e.Err, ErrRequestNotRecorded)
	case e.Kind == HTTPResponse:
		s.isStream = e.StatusCode == 200 && e.IsStream()
		s.HTTP, s.NotHTTP = s.HTTP || e.StatusCode > 0, s.NotHTTP || errors.Is(e.Err, ErrNotHTTP)
	case e.Kind == BodyEnd:
		s.Complete = s.Complete || s.isStream && s.hasContent && !s.malformed &&
			(s.ended || !s.hasRunEnd && e.Err == nil) &&
			(e.Err == nil || errors.Is(e.Err, ErrClientLeft) || errors.Is(e.Err, ErrStillOpen))
	case e.Kind == Unrecognized && s.hasRunEnd && len(e.Violations)+len(e.Flaws) == 0 && e.Err == nil:
		s.hasContent = true // the document allows other types of events than those that it describes
	case e.Kind == Comment || e.Kind == Incomplete || e.Kind == Unrecognized || e.Kind == Usage:
	case e.Err != nil || len(e.Flaws) > 0 || e.Kind == Undecodable || e.Kind == RunRefused:
		s.malformed = true
	case e.Kind == RunStart:
		s.opened = true
	case e.Kind == RunEnd || e.Kind == RunError || e.Kind == Done && !s.hasRunEnd:
		s.ended = true
	case (len(e.Violations) == 0 || s.opened) && e.Kind != Done && e.Kind != RunProgress && e.Kind.Subject() != "step":
		s.hasContent = true
	}
	s.Recognized = s.Recognized ||
		e.IsFrame() && e.Kind != Done && e.Kind != Undecodable && e.Kind != Unrecognized && len(e.Violations) == 0
}
