package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Level states how binding a requirement is, in the terms of RFC 2119.
type Level string

// The levels of requirements, with the meanings of RFC 2119.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// FailureVerdict returns the verdict on a target that violates a requirement of level l: [Failed]
// for [Must] and [Warned] for [Should]. For [May], it returns [Silent], because a permission cannot
// be violated and not using it proves nothing.
func (l Level) FailureVerdict() Verdict {
	switch l {
	case Must:
		return Failed
	case Should:
		return Warned
	}
	return Silent
}

// A Requirement is one clause of a dialect. It has either the ids of the checks that judge it, or
// the reason why no check can judge it.
//
// In the field Quote, " … " stands for omitted text. In the field English, brackets enclose words
// that the translation adds because they are missing in the quoted text.
type Requirement struct {
	ID      string   `yaml:"id"`
	Level   Level    `yaml:"level"`
	Quote   string   `yaml:"quote"`   // verbatim, or in this project's words; see [Requirement.Quoted]
	English string   `yaml:"english"` // translation of a Quote that is not English
	Of      Party    `yaml:"of"`      // the party that has to meet it
	Source  string   `yaml:"source"`  // FILE:LINES, several joined by "; ", or "observed: …", "derived: …"
	Checks  []string `yaml:"checks"`
	// About distinguishes requirements that the same check judges. It lists kinds of events, or
	// names of frames on the wire, that are evidence for this requirement. If About is empty, the
	// evidence consists of all events that no other requirement of the check lists.
	About    []Kind     `yaml:"about"`
	Excluded *Exclusion `yaml:"excluded"` // nil if checks judge the requirement
}

// citationPattern matches a Source that cites lines of a protocol document, such as
// "000_12d5.txt:23".
var citationPattern = regexp.MustCompile(`^[0-9a-z_]+\.(txt|md):[0-9]`)

// Quoted reports whether r.Quote is a verbatim quotation from a protocol document, which r.Source
// then cites. If not, r.Quote is a sentence of this project, and reports show it without quotation
// marks.
func (r Requirement) Quoted() bool { return citationPattern.MatchString(r.Source) }

// Convention reports whether the requirement is a convention: a requirement of the test prompts
// (docs/prompts.md), not of the protocol.
func (r Requirement) Convention() bool { return strings.HasPrefix(r.Source, "docs/prompts.md") }

// ExclusionKinds lists the values of [Exclusion].Kind.
var ExclusionKinds = []string{"capability", "unobservable", "contradiction", "client"}

// An Exclusion states why no check judges a requirement.
type Exclusion struct {
	// Kind is one of [ExclusionKinds]:
	//   - "capability": a check would need something that targets or this project do not offer
	//   - "unobservable": nothing on the wire shows whether the requirement is met
	//   - "contradiction": the checks follow another requirement, which contradicts this one
	//   - "client": the requirement is about clients, and no check of clients judges it
	Kind   string `yaml:"kind" json:"kind"`
	Reason string `yaml:"reason" json:"reason"`
}

// A PlannedCheck is a check together with those requirements of a dialect that name the check.
type PlannedCheck struct {
	Check        *Check
	Requirements []Requirement // never empty
}

// A Plan lists the checks by which a target is judged, each with the requirements that it judges.
type Plan struct {
	PlannedChecks []PlannedCheck
	HasRunEnd     bool // the dialect has the kind [RunEnd]
}

// NewPlan returns the plan for judging a target by those of the given checks that at least one
// requirement of the catalogue names. Each planned check contains all requirements that name the
// check. The parameter kinds lists the kinds of the dialect's events.
func NewPlan(checks []*Check, catalogue []Requirement, kinds []Kind) Plan {
	d := Plan{HasRunEnd: slices.Contains(kinds, RunEnd)}
	for _, c := range checks {
		planned := PlannedCheck{Check: c}
		for _, r := range catalogue {
			if slices.Contains(r.Checks, c.ID) {
				planned.Requirements = append(planned.Requirements, r)
			}
		}
		if len(planned.Requirements) > 0 {
			d.PlannedChecks = append(d.PlannedChecks, planned)
		}
	}
	return d
}

// NewClientPlan returns the plan for judging clients by the given checks. The parameter catalogue
// contains the requirements on clients, server those on servers, and kinds lists the kinds of the
// dialect's events. As in [NewPlan], a check is planned if a requirement in catalogue names it.
//
// A check of clients whose field Needs is empty is always planned. If no requirement names it, it
// is planned with a requirement of level [Must] whose ID is "". A planned check with ReadsDocument
// also contains all requirements in server, because the document refers to these where it describes
// requests.
func NewClientPlan(checks []*Check, catalogue, server []Requirement, kinds []Kind) Plan {
	catalogue = slices.Clone(catalogue)
	for _, c := range checks {
		isNamed := func(r Requirement) bool { return slices.Contains(r.Checks, c.ID) }
		if c.Of == Client && len(c.Needs) == 0 && !slices.ContainsFunc(catalogue, isNamed) {
			catalogue = append(catalogue, Requirement{Of: Client, Level: Must, Checks: []string{c.ID}})
		}
	}
	plan := NewPlan(checks, catalogue, kinds)
	for i, o := range plan.PlannedChecks {
		if o.Check.ReadsDocument {
			plan.PlannedChecks[i].Requirements = append(o.Requirements, server...)
		}
	}
	return plan
}

// Requirement returns the requirement that f, a finding of the check, violates. This is the
// requirement with the id f.Event.Requirement. If the planned check has no requirement with that id,
// in particular if the id is "", Requirement returns the strictest requirement of the planned check.
func (d PlannedCheck) Requirement(f Finding) Requirement {
	return d.requirementByID(f.Event.Requirement)
}

// requirementByID returns the requirement of d that has the given id. If there is none, it returns
// the strictest requirement of d.
func (d PlannedCheck) requirementByID(id string) Requirement {
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

// requirementFor returns the id of the requirement of d for which e is evidence. This is the
// requirement whose About contains the kind or the wire name of e or, if there is none, the one
// with an empty About. requirementFor returns "" if there is no such requirement or more than one,
// or if d has only one requirement.
func (d PlannedCheck) requirementFor(e Event) string {
	var own, open []string
	for _, r := range d.Requirements {
		switch {
		case slices.Contains(r.About, e.Kind) || slices.Contains(r.About, Kind(e.WireName)):
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

// Level returns the strictest level among the requirements of d.
func (d PlannedCheck) Level() Level {
	return d.requirementByID("").Level
}

// A Verdict is the outcome of a check. Verdicts are ordered, with the worst last: further
// judgements can raise a verdict, but never lower it.
type Verdict int

// The verdicts on a check or requirement, in order, the worst last.
const (
	Silent  Verdict = iota // nothing exercised the check
	Skipped                // the target is configured to lack the capability
	Passed
	Warned // a SHOULD is violated, or counts as violated (see [CheckResult.BreakPromise])
	Failed // a MUST is violated, or counts as violated
	Error  // a failure of the client or the network kept the check from being judged
)

// verdictNames holds the name of each verdict in reports.
var verdictNames = [...]string{"silent", "skipped", "passed", "warned", "failed", "error"}

// String returns the name of the verdict as in reports, such as "passed".
func (v Verdict) String() string { return verdictNames[v] }

// MarshalText returns the name of the verdict as in reports, such as "passed". It never returns an
// error.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A CheckResult is the outcome of one check for one conversation.
type CheckResult struct {
	PlannedCheck PlannedCheck
	Verdict      Verdict
	Judged       int // number of judgements
	Findings     []Finding
	Dropped      int    // number of findings beyond [MaxFindings]
	Note         string // explanation of a verdict that has no finding

	judged      map[string]int  // number of judgements by requirement id; the key "" is for those without one
	unexercised map[string]bool // ids of the requirements that BreakPromise marked as violated
	overruled   bool            // Overrule was called, so Verdict applies to every requirement
}

// newResult returns the result for the planned check d, computed from the judgements and findings that
// its check recorded in p. It leaves out findings about requirements of level [May].
func newResult(d PlannedCheck, p Pass) CheckResult {
	r := CheckResult{PlannedCheck: d, judged: map[string]int{}}
	for id, n := range p.judged {
		// A permission that was not used is not a judgement.
		if d.requirementByID(id).Level.FailureVerdict() == Silent {
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

// VerdictOn returns the verdict on one requirement of the planned check. If [CheckResult.Overrule] was
// called, this is the verdict given to Overrule. Otherwise it is the worst of the following:
//   - [Silent]
//   - [Passed], if a judgement names the requirement, or if there are judgements and none of them
//     names a requirement
//   - the verdict of [Level.FailureVerdict], if a finding names the requirement or names none, or
//     if [CheckResult.BreakPromise] marked the requirement as violated
func (r CheckResult) VerdictOn(requirement Requirement) Verdict {
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

// Overrule sets the verdict of the result, and the verdict on each of its requirements, to v. For
// example, v is [Skipped] if the target lacks a capability. The text why becomes the note of the
// result.
func (r *CheckResult) Overrule(v Verdict, why string) {
	r.Verdict, r.Note, r.overruled = v, why, true
}

// BreakPromise records that a scenario did not exercise the check although the scenario was
// expected to. It marks as violated each requirement of the planned check on which the verdict is
// [Silent], except those of level [May], and raises the verdict according to their levels.
// BreakPromise reports whether it marked any. If so, the text why becomes the note of the result.
func (r *CheckResult) BreakPromise(why string) bool {
	unexercised := map[string]bool{}
	for _, requirement := range r.PlannedCheck.Requirements {
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

// Add adds a finding to the result that the check itself does not make, such as that a reply lacks
// the promised text. The event e is the evidence. The field e.Requirement is the id of the violated
// requirement; if it is "", the strictest requirement of the planned check counts as violated. Add
// raises the verdict according to the level of that requirement. The message of the finding is
// formatted as by fmt.Sprintf.
func (r *CheckResult) Add(e Event, format string, args ...any) {
	if r.judged == nil {
		r.judged = map[string]int{}
	}
	r.judged[e.Requirement]++
	r.Judged++
	f := Finding{Event: e, Message: fmt.Sprintf(format, args...)}
	r.Findings = append(r.Findings, f)
	r.Verdict = max(r.Verdict, r.PlannedCheck.Requirement(f).Level.FailureVerdict())
}

// An Evaluation holds the results of all checks for one conversation, and the facts that decide
// whether these results are meaningful.
type Evaluation struct {
	Results  []CheckResult
	Complete bool // at least one exchange streams a complete run

	Recognized      bool // at least one frame is a valid frame of the dialect
	RequestRecorded bool // at least one request of the dialect was recorded
	HTTP            bool // at least one response was HTTP
	NotHTTP         bool // at least one response was not HTTP
}

// RequireCompleteExchange returns evaluations unchanged if the field Complete of at least one of
// them is true. Otherwise, it changes every [Passed] verdict in evaluations to [Silent], because
// even a server that gives the same answer to all requests might pass. If [WhyUnjudgeable] returns
// an error, RequireCompleteExchange changes the other verdicts to [Silent], too, and removes their
// findings.
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

// WhyUnjudgeable returns the reason why the evaluations say nothing about the target, or nil:
//   - [ErrNotHTTP]: responses were received, but none of them is HTTP
//   - [ErrUnrecognized]: no request and no valid frame of the dialect was recorded
func WhyUnjudgeable(evaluations []Evaluation) error {
	anyEvaluation := func(f func(Evaluation) bool) bool { return slices.ContainsFunc(evaluations, f) }
	switch {
	case anyEvaluation(func(h Evaluation) bool { return h.NotHTTP }) &&
		!anyEvaluation(func(h Evaluation) bool { return h.HTTP }):
		return ErrNotHTTP
	case len(evaluations) > 0 && !anyEvaluation(func(h Evaluation) bool { return h.RequestRecorded || h.Recognized }):
		return ErrUnrecognized
	}
	return nil
}
