package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Level says how much a requirement matters, in the words of RFC 2119.
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// FailureVerdict returns the verdict on a target that breaks a requirement of this level. A MAY
// costs nothing: what is only permitted cannot be broken, and that it was not done proves
// nothing either.
func (l Level) FailureVerdict() Verdict {
	switch l {
	case Must:
		return Failed
	case Should:
		return Warned
	}
	return Silent
}

// A Requirement is one obligation of one dialect, and the checks that judge it,
// or the reason why none can.
//
// In a quote " … " stands for text that is left out. In its rendering, a word in brackets
// is one that the document lost when it was saved.
type Requirement struct {
	ID       string     `yaml:"id"`
	Level    Level      `yaml:"level"`
	Quote    string     `yaml:"quote"`   // verbatim where [Requirement.Quoted], else a sentence of this project
	English  string     `yaml:"english"` // a rendering of Quote where that is not English, else ""
	Source   string     `yaml:"source"`  // FILE:LINES, several joined by "; ", or "observed: …", "derived: …"
	Checks   []string   `yaml:"checks"`
	About    []Kind     `yaml:"about"` // of a check that serves several: the kinds of events that are evidence for this one
	Excluded *Exclusion `yaml:"excluded"`
}

// citationPattern is a source that names lines of a protocol document.
var citationPattern = regexp.MustCompile(`^[0-9a-z_]+\.txt:[0-9]`)

// Quoted reports whether Quote is verbatim from a protocol document. Where the source
// is of another kind ("derived: …", "observed: …"), Quote is this project's own
// sentence, and is not shown in quotation marks.
func (r Requirement) Quoted() bool { return citationPattern.MatchString(r.Source) }

// Convention reports whether the requirement belongs to the test prompts of
// docs/prompts.md, and not to the protocol.
func (r Requirement) Convention() bool { return strings.HasPrefix(r.Source, "docs/prompts.md") }

// An Exclusion is the reason why no check judges a requirement.
type Exclusion struct {
	Kind   string `yaml:"kind" json:"kind"` // "capability", "unobservable", "contradiction", "client"
	Reason string `yaml:"reason" json:"reason"`
}

// A Obligation is a check with the requirements that oblige a target to it.
type Obligation struct {
	Check        *Check
	Requirements []Requirement // never empty
}

// Plan are all the checks that a dialect's catalogue names.
type Plan struct {
	Obligations []Obligation
	HasRunStart bool // the dialect has a word for the start of a run
	HasRunEnd   bool // likewise for its end
}

// NewPlan keeps the checks that a catalogue names, each with all requirements that
// name it. A check nobody demands of a dialect is not applied to it. The kinds are
// what the dialect has words for.
func NewPlan(checks []*Check, catalogue []Requirement, kinds []Kind) Plan {
	d := Plan{HasRunStart: slices.Contains(kinds, RunStart), HasRunEnd: slices.Contains(kinds, RunEnd)}
	for _, c := range checks {
		obligation := Obligation{Check: c}
		for _, r := range catalogue {
			if slices.Contains(r.Checks, c.ID) {
				obligation.Requirements = append(obligation.Requirements, r)
			}
		}
		if len(obligation.Requirements) > 0 {
			d.Obligations = append(d.Obligations, obligation)
		}
	}
	return d
}

// Requirement returns the requirement that a finding breaks: the one its evidence names, or else
// the strictest of the duty.
func (d Obligation) Requirement(f Finding) Requirement { return d.requirementByID(f.Event.Requirement) }

func (d Obligation) requirementByID(id string) Requirement {
	strictest := d.Requirements[0]
	for _, r := range d.Requirements {
		if r.ID == id {
			return r
		}
		if r.Level.FailureVerdict() > strictest.Level.FailureVerdict() {
			strictest = r
		}
	}
	return strictest
}

// requirementForKind returns the requirement that an event of a kind is evidence for, where the check
// itself does not say: the one that is about this kind, else the one that is about none in
// particular; "" where these are several.
func (d Obligation) requirementForKind(k Kind) string {
	var own, open []string
	for _, r := range d.Requirements {
		switch {
		case slices.Contains(r.About, k):
			own = append(own, r.ID)
		case len(r.About) == 0:
			open = append(open, r.ID)
		}
	}
	if len(own) > 0 {
		open = own
	}
	if len(open) == 1 && len(d.Requirements) > 1 {
		return open[0]
	}
	return ""
}

// Level is the strictest level at which the check is demanded.
func (d Obligation) Level() Level {
	strictest := d.Requirements[0].Level
	for _, r := range d.Requirements {
		if r.Level.FailureVerdict() > strictest.FailureVerdict() {
			strictest = r.Level
		}
	}
	return strictest
}

// A Verdict is what a check concluded. Verdicts only ever get worse.
type Verdict int

// The verdicts, worst last.
const (
	Silent  Verdict = iota // nothing in the exchange exercised the check
	Skipped                // the target's configuration says that it lacks the capability
	Passed
	Warned // a SHOULD is broken
	Failed // a MUST is broken, or a promised scenario left the check silent
	Error  // could not tell
)

var verdictNames = [...]string{"silent", "skipped", "passed", "warned", "failed", "error"}

func (v Verdict) String() string { return verdictNames[v] }

// MarshalText spells a verdict in reports.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Result is one check's conclusion about one conversation.
type Result struct {
	Obligation Obligation
	Verdict    Verdict
	Judged     int
	Findings   []Finding
	Dropped    int    // findings beyond [MostFindings]
	Note       string // why, where no finding says it: what was promised, what went wrong

	judged      map[string]int  // per requirement that the evidence names, "" for none
	unexercised map[string]bool // requirements that were promised and never exercised
	overruled   bool            // overruled: the verdict is on every requirement
}

func newResult(d Obligation, p Pass) Result {
	r := Result{Obligation: d, judged: map[string]int{}}
	for id, n := range p.judged {
		if d.requirementByID(id).Level.FailureVerdict() == Silent { // that a permission was not used is no judgement
			n -= p.violated[id]
		} else {
			r.Dropped += max(0, p.violated[id]-MaxFindings)
		}
		if n > 0 {
			r.judged[id] = n
			r.Judged += n
		}
	}
	if r.Judged > 0 {
		r.Verdict = Passed
	}
	for _, f := range p.findings {
		if cost := d.Requirement(f).Level.FailureVerdict(); cost > Silent {
			r.Findings = append(r.Findings, f)
			r.Verdict = max(r.Verdict, cost)
		}
	}
	return r
}

// VerdictOn returns what the result says about one requirement of its duty. Evidence that
// names another requirement counts neither for nor against this one; evidence that
// names none is about all of them, for them only if there is no other.
func (r Result) VerdictOn(requirement Requirement) Verdict {
	if r.overruled {
		return r.Verdict
	}
	v := Silent
	if r.judged[requirement.ID] > 0 || r.Judged > 0 && r.judged[""] == r.Judged {
		v = Passed
	}
	if r.unexercised[requirement.ID] {
		v = max(v, requirement.Level.FailureVerdict())
	}
	for _, f := range r.Findings {
		if f.Event.Requirement == requirement.ID || f.Event.Requirement == "" {
			v = max(v, requirement.Level.FailureVerdict())
		}
	}
	return v
}

// Overrule gives the result another verdict than the evidence did, on every requirement
// of its duty: a capability that the target lacks, a harness that could not tell.
func (r *Result) Overrule(v Verdict, why string) {
	r.Verdict, r.Note, r.overruled = v, why, true
}

// BreakPromise records that the target promised to exercise the check and did not. That
// breaks every requirement of the duty on which there is no evidence; one that only
// permits stays as it is. It reports whether any is broken.
func (r *Result) BreakPromise(why string) bool {
	unexercised := map[string]bool{}
	for _, requirement := range r.Obligation.Requirements {
		if cost := requirement.Level.FailureVerdict(); cost > Silent && r.VerdictOn(requirement) == Silent {
			unexercised[requirement.ID] = true
			r.Verdict = max(r.Verdict, cost)
		}
	}
	if len(unexercised) > 0 {
		r.unexercised, r.Note = unexercised, why
	}
	return len(unexercised) > 0
}

// Add records a finding that was made from the whole of a conversation, and not by the
// check itself.
func (r *Result) Add(e Event, format string, args ...any) {
	if r.judged == nil {
		r.judged = map[string]int{}
	}
	r.judged[e.Requirement]++
	r.Judged++
	f := Finding{Event: e, Message: fmt.Sprintf(format, args...)}
	r.Findings = append(r.Findings, f)
	r.Verdict = max(r.Verdict, r.Obligation.Requirement(f).Level.FailureVerdict())
}

// A Evaluation is one conversation held to its duties.
type Evaluation struct {
	Results  []Result
	Complete bool // one exchange at least was whole

	Recognized      bool // one frame at least is of the dialect, and well-formed
	RequestRecorded bool // one request of the dialect at least was written down
	HTTP            bool // one answer at least was HTTP
	NotHTTP         bool // one answer at least was not
}

// RequireCompleteExchange takes every pass back unless the target completed one exchange: a
// server that answers everything alike proves nothing by it. What is wrong stays
// wrong, but for what cannot be held to the dialect at all: see [Unmeasured].
func RequireCompleteExchange(evaluations []Evaluation) []Evaluation {
	if slices.ContainsFunc(evaluations, func(h Evaluation) bool { return h.Complete }) {
		return evaluations
	}
	why := WhyUnjudgeable(evaluations)
	for _, h := range evaluations {
		for i := range h.Results {
			r := &h.Results[i]
			if r.Verdict == Passed || why != nil {
				r.Verdict, r.Judged, r.Findings, r.Dropped = Silent, 0, nil, 0
			}
			r.judged = nil
		}
	}
	return evaluations
}

// WhyUnjudgeable returns why nothing can be held against what was heard, nil if something can:
// nothing that answered spoke HTTP, or nobody wrote down that a request of the dialect was
// made and nothing that came is a frame of it.
func WhyUnjudgeable(evaluations []Evaluation) error {
	anyEvaluation := func(f func(Evaluation) bool) bool { return slices.ContainsFunc(evaluations, f) }
	switch {
	case anyEvaluation(func(h Evaluation) bool { return h.NotHTTP }) && !anyEvaluation(func(h Evaluation) bool { return h.HTTP }):
		return ErrNotHTTP
	case len(evaluations) > 0 && !anyEvaluation(func(h Evaluation) bool { return h.RequestRecorded || h.Recognized }):
		return ErrUnrecognized
	}
	return nil
}
