package spec

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// A Check is one rule, written once for all dialects. Suite, linter and proxy all
// run this value. How much it matters, and where that is written, is not its
// business: see [Requirement].
type Check struct {
	ID  string // stable and greppable: "message.nests"
	Doc string // a title, a blank line, then the reason

	// Needs are the kinds the rule is about. A catalogue that names the rule for a
	// dialect without these words is wrong.
	Needs []Kind

	// Overhears: the rule hears what others than the user ask and are answered, too.
	// Most are about what one user may expect of a server.
	AllPrincipals bool

	// Watch starts one application of the rule. The function it returns sees every
	// event of one conversation in order; Closed comes last in each exchange, and
	// an event of kind "" comes once at the very end of the conversation.
	Watch func(*Pass) func(Event)
}

// Title is the first line of Doc.
func (c *Check) Title() string { t, _, _ := strings.Cut(c.Doc, "\n"); return t }

// A Pass is one application of one check to one conversation.
type Pass struct {
	obligation Obligation
	judged     map[string]int // per requirement that the evidence names, "" for none
	violated   map[string]int // likewise, judgements that the rule does not hold
	findings   []Finding
	onFinding  func(Finding)
	shared     map[sharedKey]*sharedEntry // shared with the other passes of a Run
}

// A Finding is one broken judgement and its evidence.
type Finding struct {
	Event   Event
	Message string

	// Seen is in how many of so many Plays of its scenario the like was found, where the
	// scenario was played more than once and not always alike; else both are 0.
	Seen, Plays int
}

// MaxFindings bounds what one check keeps of one conversation for each requirement
// that its evidence names: whoever sends a million broken frames gets the first of
// them, and the number.
const MaxFindings = 50

// Judge records that the rule had something to say about e, and whether it holds.
// A rule that never judges has not passed: it is [Silent]. The message says what
// was seen, in the dialect's terms.
func (p *Pass) Judge(e Event, ok bool, format string, args ...any) {
	if e.Requirement == "" {
		e.Requirement = p.obligation.requirementForKind(e.Kind)
	}
	p.judged[e.Requirement]++
	if ok {
		return
	}
	if p.violated[e.Requirement]++; p.violated[e.Requirement] > MaxFindings {
		return
	}
	f := Finding{Event: e, Message: formatMessage(format, args)}
	p.findings = append(p.findings, f)
	if p.onFinding != nil {
		p.onFinding(f)
	}
}

// What a message may be made of, and have, in bytes: everything that the target says is
// in its bytes, too.
const (
	maxQuoted  = 2 << 10
	maxListed  = 32 // items
	maxMessage = 4 << 10
)

// formatMessage is what a finding says. What the target made too long is shortened.
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

// truncate is a text of at most so many bytes, and of what is left out the number.
func truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s … (%d more bytes)", s[:n], len(s)-n)
}

// Run holds one conversation to its duties. Suite, linter and proxy differ only in
// where the events come from; this is the only loop. If found is not nil it hears
// of each finding the moment it is made.
func Run(plan Plan, events iter.Seq[Event], onFinding func(Obligation, Finding)) Evaluation {
	passes := make([]Pass, len(plan.Obligations))
	watch := make([]func(Event), len(plan.Obligations))
	shared := map[sharedKey]*sharedEntry{}
	for i, d := range plan.Obligations {
		passes[i] = Pass{obligation: d, judged: map[string]int{}, violated: map[string]int{}, shared: shared}
		if onFinding != nil {
			passes[i].onFinding = func(f Finding) { onFinding(d, f) }
		}
		watch[i] = d.Check.Watch(&passes[i])
	}
	progress := completeness{hasRunStart: plan.HasRunStart, hasRunEnd: plan.HasRunEnd}
	for e := range events {
		if e.Principal == PrimaryUser {
			progress.observe(e)
		}
		for i, w := range watch {
			if e.Principal == PrimaryUser || plan.Obligations[i].Check.AllPrincipals {
				w(e)
			}
		}
	}
	for _, w := range watch {
		w(Event{Frame: -1})
	}
	evaluation := Evaluation{Complete: progress.complete, Recognized: progress.recognized, RequestRecorded: progress.requestRecorded, HTTP: progress.http, NotHTTP: progress.notHTTP}
	for i, d := range plan.Obligations {
		evaluation.Results = append(evaluation.Results, newResult(d, passes[i]))
	}
	return evaluation
}

// UntilDone returns the events up to the moment when the context ends. A conversation that ends
// so was not heard out: what is concluded of it is worth nothing.
func UntilDone(ctx context.Context, events iter.Seq[Event]) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for e := range events {
			if ctx.Err() != nil || !yield(e) {
				return
			}
		}
	}
}

// A completeness notices the first exchange that was whole: a stream that opened a run,
// said something and ended it, every frame well-formed. It also notices what the
// conversation is made of, where no exchange was whole.
type completeness struct {
	hasRunStart, hasRunEnd bool // the dialect has words for it
	complete               bool
	recognized             bool // a frame was one of the dialect
	requestRecorded        bool // a request of the dialect was written down
	http, notHTTP          bool // an answer was, or was not, HTTP
	exchangeProgress
}

// An exchangeProgress is what a speech knows of the exchange that is being told.
type exchangeProgress struct{ isStream, hasContent, malformed, opened, ended bool }

func (s *completeness) observe(e Event) {
	switch {
	case e.Kind == HTTPRequest:
		s.exchangeProgress = exchangeProgress{}
		s.requestRecorded = s.requestRecorded || e.Operation != "" && !errors.Is(e.Err, ErrRequestNotRecorded)
	case e.Kind == HTTPResponse:
		s.isStream = e.StatusCode == 200 && e.IsStream()
		s.http, s.notHTTP = s.http || e.StatusCode > 0, s.notHTTP || errors.Is(e.Err, ErrNotHTTP)
	case e.Kind == BodyEnd:
		s.complete = s.complete || s.isStream && s.hasContent && !s.malformed &&
			(s.opened || !s.hasRunStart) && (s.ended || !s.hasRunEnd && e.Err == nil) && (e.Err == nil || errors.Is(e.Err, ErrClientLeft))
	case e.Kind == Comment || e.Kind == Incomplete || e.Kind == Unrecognized:
	case e.Err != nil || len(e.Flaws) > 0 || e.Kind == Undecodable || e.Kind == RunRefused:
		s.malformed = true
	case e.Kind == RunStart:
		s.opened = true
	case e.Kind == RunEnd || e.Kind == RunError || e.Kind == Done && !s.hasRunEnd:
		s.ended = true
	case len(e.Violations) == 0 && e.Kind != Done && e.Kind != RunProgress && e.Kind.Subject() != "step":
		s.hasContent = true
	}
	s.recognized = s.recognized || e.IsFrame() && e.Kind != Done && e.Kind != Undecodable && e.Kind != Unrecognized && len(e.Violations) == 0
}
