package journal

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Finding is a mistake that a client made in one request.
type Finding struct {
	Kind        string     `json:"kind"`        // id of the check that found it
	Requirement string     `json:"requirement"` // id in the dialect's catalogue; "": the request belongs to no dialect
	Level       spec.Level `json:"level"`       // of the requirement
	Where       string     `json:"where"`       // [spec.Violation.Location], such as "query runId" or "body /input/0"
	Message     string     `json:"message"`
}

// An exchangeEvaluation holds the findings about one exchange.
type exchangeEvaluation struct {
	id                     uint64
	dialect, test, request string // request is the method and the target, such as "POST /runs"
	findings               []Finding
	judged                 map[string]int // id of a check → number of times that it judged something
}

// clientPlan returns the plan for judging the clients of the dialect with the given name. The plan
// lists the checks, and the requirements that each check judges. An empty name stands for the
// requests that belong to no dialect.
func (j *Journal) clientPlan(name string) spec.Plan {
	if plan, ok := j.plans.Load(name); ok {
		return plan.(spec.Plan)
	}
	plan := spec.NewClientPlan(rules.All, nil, nil, nil)
	served := slices.IndexFunc(j.cfg.Dialects, func(d *dialect.Dialect) bool { return d.Name == name })
	if served >= 0 {
		plan = j.cfg.Dialects[served].ClientPlan(rules.All)
	} else if d, err := dialect.Open(name); err == nil {
		plan = d.ClientPlan(rules.All)
	}
	j.plans.Store(name, plan)
	return plan
}

// evaluate judges the exchange to which r refers. The result is empty if that exchange was dropped.
// The result for an exchange that has ended is computed once and then kept, because it may depend
// on earlier exchanges, which may be dropped later.
func (j *Journal) evaluate(r exchangeHandle) (v exchangeEvaluation) {
	if !r.lock() {
		return v
	}
	s := r.exchange
	if s.evaluation != nil {
		v = *s.evaluation
		s.mu.Unlock()
		return v
	}
	refers := j.Forgotten() == 0 && (s.cursor != "" || len(s.references) > 0)
	v, events, ended := s.newEvaluation(), s.events(refers), s.endReason != InProgress
	s.mu.Unlock()
	if refers {
		events = append(j.sentBefore(v.id, v.dialect), events...)
	}
	v.judge(j.clientPlan(v.dialect), events)
	if ended && r.lock() {
		s.evaluation = &v
		s.mu.Unlock()
	}
	return v
}

// judge applies the checks of plan to events and adds the results to v. The events are those of
// earlier exchanges, followed by those of the exchange that v evaluates.
func (v *exchangeEvaluation) judge(plan spec.Plan, events []spec.Event) {
	for _, r := range spec.Run(plan, slices.Values(events), nil).Results {
		v.judged[r.PlannedCheck.Check.ID] = r.Judged
		for _, f := range r.Findings {
			requirement := r.PlannedCheck.Requirement(f)
			v.findings = append(v.findings, Finding{
				Kind: r.PlannedCheck.Check.ID, Requirement: requirement.ID, Level: requirement.Level,
				Where: f.Event.Violations[0].Location, Message: f.Message,
			})
		}
	}
}

// newEvaluation returns an evaluation of the exchange s without results. The caller must hold the
// lock of s.
func (s *recordedExchange) newEvaluation() exchangeEvaluation {
	return exchangeEvaluation{
		id: s.id, dialect: s.dialect, test: s.test, request: s.method + " " + s.target, judged: map[string]int{},
	}
}

// events returns two events: one for the request of the exchange, and one for its response, without
// the body. If refers is true, the event of the request contains the cursor, the tool results and
// the answers to interrupts, which refer to earlier responses. The caller must hold the lock of s.
func (s *recordedExchange) events(refers bool) []spec.Event {
	facts := &spec.RequestFacts{Method: s.method, Target: s.target, Rule: s.rule, Faulty: len(s.faults) > 0}
	if s.isUnmatched() {
		facts.Unmatched = fmt.Sprintf("(%d tried)", s.missCount)
		if len(s.misses) > 0 {
			facts.Unmatched += fmt.Sprintf(": %s: %s", s.misses[0].Rule, s.misses[0].Why)
		}
	}
	request := spec.Event{Kind: spec.HTTPRequest, Frame: -1, Request: facts, Violations: s.violations}
	if s.op != "" {
		request.Operation = s.operation
	}
	if refers {
		request.Cursor, request.Raw = s.cursor, s.body
		for _, r := range s.references {
			// A body that was not kept completely may have the call to which its tool result
			// refers.
			if r.kind == spec.InputResume || len(s.body) == s.bodySize {
				request.Parts = append(request.Parts, spec.Event{Kind: r.kind, Call: r.id, ID: r.id})
			}
		}
	}
	return []spec.Event{request, {Kind: spec.HTTPResponse, Frame: -1, StatusCode: s.status}}
}

// isUnmatched reports whether the request is valid and should have matched a rule of the script,
// but matched none. A request that starts a run should match a rule if it was compared with any.
// Any request should match a rule if the mock refused it with status 501 (see mockserver.Strict),
// unless a fault was injected, which may have caused that status.
func (s *recordedExchange) isUnmatched() bool {
	return s.matched && s.rule == "" && len(s.violations) == 0 &&
		(s.missCount > 0 && s.op == "run" || s.status == http.StatusNotImplemented && len(s.faults) == 0)
}

// sentBefore returns events about the responses that were sent in the given dialect before the
// exchange with the given id: first one event for the body of each response, then one event for
// each cursor in these bodies. If a body was not kept completely or has a content coding, its event
// has the error spec.ErrLimitExceeded.
func (j *Journal) sentBefore(id uint64, dialect string) (all []spec.Event) {
	for _, r := range j.entryRefs() {
		if r.id >= id {
			break
		}
		if !r.lock() {
			continue
		}
		if s := r.exchange; s.dialect == dialect {
			e := spec.Event{Kind: spec.BodyEnd, Frame: -1, Raw: bytes.Clone(s.sentBytes)}
			if s.sentSize > int64(len(s.sentBytes)) || spec.Header(s.header).Has("Content-Encoding") {
				e.Err = spec.ErrLimitExceeded
			}
			all = append(all, e)
		}
		r.exchange.mu.Unlock()
	}
	for _, e := range all {
		for cursor := range j.cursors(e.Raw) {
			all = append(all, spec.Event{Kind: spec.Unrecognized, Cursor: cursor})
		}
	}
	return all
}

// cursors returns an iterator over the event ids (id fields) in body, the body of a response. Each
// id is decoded by Config.Cursor, so that it can be compared with the cursors of requests.
func (j *Journal) cursors(body []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range bytes.FieldsFuncSeq(body, func(r rune) bool { return r == '\n' || r == '\r' }) {
			text, ok := strings.CutPrefix(string(line), "id:")
			if text = strings.TrimPrefix(text, " "); j.cfg.Cursor != nil {
				text = j.cfg.Cursor(text)
			}
			if ok && !yield(text) {
				return
			}
		}
	}
}

// maxKept is the maximum number of dropped exchanges whose findings a journal keeps.
const maxKept = 200

// keepFindings stores the findings about the exchange s, which the caller is about to drop. It
// stores nothing if there are no findings, or if the findings of maxKept dropped exchanges are
// already stored. The caller must hold the locks of the journal and of s.
func (j *Journal) keepFindings(s *recordedExchange) {
	isFlawless := s.status < 400 && len(s.violations) == 0 && s.missCount == 0
	if len(j.dropped) >= maxKept || isFlawless && s.evaluation == nil {
		return
	}
	if s.evaluation == nil {
		v := s.newEvaluation()
		v.judge(j.clientPlan(s.dialect), s.events(false))
		s.evaluation = &v
	}
	if v := *s.evaluation; len(v.findings) > 0 {
		v.judged = nil
		j.dropped = append(j.dropped, v)
	}
}

// evaluations returns the evaluations of all exchanges: dropped contains the stored ones of
// exchanges that were dropped, in which the field judged is nil, and kept contains those of the
// exchanges in the journal.
func (j *Journal) evaluations() (dropped, kept []exchangeEvaluation) {
	j.mu.Lock()
	dropped = slices.Clone(j.dropped)
	j.mu.Unlock()
	for _, r := range j.entryRefs() {
		kept = append(kept, j.evaluate(r))
	}
	return dropped, kept
}

// is reports whether name selects the finding, that is, whether name is the id of the check that
// found it, the id of the violated requirement, or "any".
func (f Finding) is(name string) bool {
	return name == "any" || name == f.Kind || name == f.Requirement
}
