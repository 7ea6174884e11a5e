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

// Cost returns the verdict on a target that breaks a requirement of this level. A MAY
// costs nothing: what is only permitted cannot be broken, and that it was not done proves
// nothing either.
func (l Level) Cost() Verdict {
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

// citation is a source that names lines of a protocol document.
var citation = regexp.MustCompile(`^[0-9a-z_]+\.txt:[0-9]`)

// Quoted reports whether Quote is verbatim from a protocol document. Where the source
// is of another kind ("derived: …", "observed: …"), Quote is this project's own
// sentence, and is not shown in quotation marks.
func (r Requirement) Quoted() bool { return citation.MatchString(r.Source) }

// Convention reports whether the requirement belongs to the test prompts of
// docs/prompts.md, and not to the protocol.
func (r Requirement) Convention() bool { return strings.HasPrefix(r.Source, "docs/prompts.md") }

// An Exclusion is the reason why no check judges a requirement.
type Exclusion struct {
	Kind   string `yaml:"kind" json:"kind"` // "capability", "unobservable", "contradiction", "client"
	Reason string `yaml:"reason" json:"reason"`
}

// A Duty is a check with the requirements that oblige a target to it.
type Duty struct {
	Check *Check
	Laws  []Requirement // never empty
}

// Duties are all the checks that a dialect's catalogue names.
type Duties struct {
	List  []Duty
	Opens bool // the dialect has a word for the start of a run
	Ends  bool // likewise for its end
}

// Bind keeps the checks that a catalogue names, each with all requirements that
// name it. A check nobody demands of a dialect is not applied to it. The kinds are
// what the dialect has words for.
func Bind(checks []*Check, catalogue []Requirement, kinds []Kind) Duties {
	d := Duties{Opens: slices.Contains(kinds, RunStart), Ends: slices.Contains(kinds, RunEnd)}
	for _, c := range checks {
		duty := Duty{Check: c}
		for _, r := range catalogue {
			if slices.Contains(r.Checks, c.ID) {
				duty.Laws = append(duty.Laws, r)
			}
		}
		if len(duty.Laws) > 0 {
			d.List = append(d.List, duty)
		}
	}
	return d
}

// Law returns the requirement that a finding breaks: the one its evidence names, or else
// the strictest of the duty.
func (d Duty) Law(f Finding) Requirement { return d.law(f.Event.Law) }

func (d Duty) law(id string) Requirement {
	strictest := d.Laws[0]
	for _, r := range d.Laws {
		if r.ID == id {
			return r
		}
		if r.Level.Cost() > strictest.Level.Cost() {
			strictest = r
		}
	}
	return strictest
}

// about returns the requirement that an event of a kind is evidence for, where the check
// itself does not say: the one that is about this kind, else the one that is about none in
// particular; "" where these are several.
func (d Duty) about(k Kind) string {
	var own, open []string
	for _, r := range d.Laws {
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
	if len(open) == 1 && len(d.Laws) > 1 {
		return open[0]
	}
	return ""
}

// Level is the strictest level at which the check is demanded.
func (d Duty) Level() Level {
	strictest := d.Laws[0].Level
	for _, r := range d.Laws {
		if r.Level.Cost() > strictest.Cost() {
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

var verdicts = [...]string{"silent", "skipped", "passed", "warned", "failed", "error"}

func (v Verdict) String() string { return verdicts[v] }

// MarshalText spells a verdict in reports.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Result is one check's conclusion about one conversation.
type Result struct {
	Duty     Duty
	Verdict  Verdict
	Judged   int
	Findings []Finding
	Dropped  int    // findings beyond [MostFindings]
	Note     string // why, where no finding says it: what was promised, what went wrong

	judged  map[string]int  // per requirement that the evidence names, "" for none
	unkept  map[string]bool // requirements that were promised and never exercised
	decided bool            // overruled: the verdict is on every requirement
}

func conclude(d Duty, p Pass) Result {
	r := Result{Duty: d, judged: map[string]int{}}
	for law, n := range p.judged {
		if d.law(law).Level.Cost() == Silent { // that a permission was not used is no judgement
			n -= p.broken[law]
		} else {
			r.Dropped += max(0, p.broken[law]-MostFindings)
		}
		if n > 0 {
			r.judged[law] = n
			r.Judged += n
		}
	}
	if r.Judged > 0 {
		r.Verdict = Passed
	}
	for _, f := range p.findings {
		if cost := d.Law(f).Level.Cost(); cost > Silent {
			r.Findings = append(r.Findings, f)
			r.Verdict = max(r.Verdict, cost)
		}
	}
	return r
}

// On returns what the result says about one requirement of its duty. Evidence that
// names another requirement counts neither for nor against this one; evidence that
// names none is about all of them, for them only if there is no other.
func (r Result) On(law Requirement) Verdict {
	if r.decided {
		return r.Verdict
	}
	v := Silent
	if r.judged[law.ID] > 0 || r.Judged > 0 && r.judged[""] == r.Judged {
		v = Passed
	}
	if r.unkept[law.ID] {
		v = max(v, law.Level.Cost())
	}
	for _, f := range r.Findings {
		if f.Event.Law == law.ID || f.Event.Law == "" {
			v = max(v, law.Level.Cost())
		}
	}
	return v
}

// Overrule gives the result another verdict than the evidence did, on every requirement
// of its duty: a capability that the target lacks, a harness that could not tell.
func (r *Result) Overrule(v Verdict, why string) {
	r.Verdict, r.Note, r.decided = v, why, true
}

// BreakPromise records that the target promised to exercise the check and did not. That
// breaks every requirement of the duty on which there is no evidence; one that only
// permits stays as it is. It reports whether any is broken.
func (r *Result) BreakPromise(why string) bool {
	unkept := map[string]bool{}
	for _, law := range r.Duty.Laws {
		if cost := law.Level.Cost(); cost > Silent && r.On(law) == Silent {
			unkept[law.ID] = true
			r.Verdict = max(r.Verdict, cost)
		}
	}
	if len(unkept) > 0 {
		r.unkept, r.Note = unkept, why
	}
	return len(unkept) > 0
}

// Add records a finding that was made from the whole of a conversation, and not by the
// check itself.
func (r *Result) Add(e Event, format string, args ...any) {
	if r.judged == nil {
		r.judged = map[string]int{}
	}
	r.judged[e.Law]++
	r.Judged++
	f := Finding{Event: e, Message: fmt.Sprintf(format, args...)}
	r.Findings = append(r.Findings, f)
	r.Verdict = max(r.Verdict, r.Duty.Law(f).Level.Cost())
}

// A Hearing is one conversation held to its duties.
type Hearing struct {
	Results []Result
	Whole   bool // one exchange at least was whole

	Recognised bool // one frame at least is of the dialect, and well-formed
	Asked      bool // one request of the dialect at least was written down
	HTTP       bool // one answer at least was HTTP
	NotHTTP    bool // one answer at least was not
}

// SpeakFirst takes every pass back unless the target completed one exchange: a
// server that answers everything alike proves nothing by it. What is wrong stays
// wrong, but for what cannot be held to the dialect at all: see [Unmeasured].
func SpeakFirst(heard []Hearing) []Hearing {
	if slices.ContainsFunc(heard, func(h Hearing) bool { return h.Whole }) {
		return heard
	}
	why := Unmeasured(heard)
	for _, h := range heard {
		for i := range h.Results {
			r := &h.Results[i]
			if r.Verdict == Passed || why != nil {
				r.Verdict, r.Judged, r.Findings, r.Dropped = Silent, 0, nil, 0
			}
			r.judged = nil
		}
	}
	return heard
}

// Unmeasured returns why nothing can be held against what was heard, nil if something can:
// nothing that answered spoke HTTP, or nobody wrote down that a request of the dialect was
// made and nothing that came is a frame of it.
func Unmeasured(heard []Hearing) error {
	some := func(f func(Hearing) bool) bool { return slices.ContainsFunc(heard, f) }
	switch {
	case some(func(h Hearing) bool { return h.NotHTTP }) && !some(func(h Hearing) bool { return h.HTTP }):
		return ErrNotHTTP
	case len(heard) > 0 && !some(func(h Hearing) bool { return h.Asked || h.Recognised }):
		return ErrUnrecognised
	}
	return nil
}
