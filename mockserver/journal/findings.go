package journal

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Finding is what a client did wrong.
type Finding struct {
	Kind        string     `json:"kind"`
	Requirement string     `json:"requirement"` // of the dialect's catalogue; "" where no document speaks of it
	Level       spec.Level `json:"level"`
	Where       string     `json:"where"`
	Message     string     `json:"message"`
}

// The kinds of findings.
const (
	FindingDocument   = "client.document"    // the request breaks the document
	FindingRoute      = "client.route"       // there is nothing at this address
	FindingUnmatched  = "client.matched"     // no rule of the script is for it
	FindingCursor     = "client.cursor"      // a stream was to go on after an event that was never sent
	FindingToolResult = "client.tool-result" // a result of a call that was never made
	FindingRefused    = "client.refused"     // it was refused for what stands in no body: credentials, size, media type
	FindingInterrupt  = "client.resume"      // an answer to an interrupt that never was
)

// findingKinds are all of them, with what a client does that has none.
var findingKinds = []struct{ id, title string }{
	{FindingDocument, "requests keep to the document"},
	{FindingRoute, "only what is there is asked for"},
	{FindingUnmatched, "each run has a rule of the script"},
	{FindingCursor, "streams are taken up again after an event that was sent"},
	{FindingToolResult, "results are those of calls that were made"},
	{FindingRefused, "no request is refused"},
	{FindingInterrupt, "answers are those to interrupts that were"},
}

// refusalStatuses are the statuses by which a client is told that it did wrong, where no
// script and no fault says so.
var refusalStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusRequestHeaderFieldsTooLarge,
}

// LocatedFinding is a finding, and the exchange that it is about.
type LocatedFinding struct {
	ID      uint64 `json:"id"`
	Dialect string `json:"dialect"`
	Test    string `json:"test"`
	Request string `json:"request"` // "POST /runs"
	Finding
}

// Judge lists what the clients did wrong, by exchange; those are among it that are
// found in exchanges that are no longer kept.
func (j *Journal) Judge(f Filter) []LocatedFinding {
	f.Offset, f.Limit = 0, 0
	all := j.keptFindings(f)
	seen := j.newHistory(nil)
	for _, r := range j.selectEntries(f) {
		about, of := seen.findings(r), LocatedFinding{}
		if len(about) == 0 || !r.lock() {
			continue
		}
		of = r.buffer.findingLocation()
		r.buffer.mu.Unlock()
		for _, g := range about {
			of.Finding = g
			all = append(all, of)
		}
	}
	return all
}

// findingLocation is the exchange of a finding. The slot is locked.
func (s *entryBuffer) findingLocation() LocatedFinding {
	return LocatedFinding{ID: s.id, Dialect: s.dialect, Test: s.test, Request: s.method + " " + s.target}
}

// ownFindings is what can be found in an exchange alone. The slot is locked.
func (s *entryBuffer) ownFindings() (all []Finding) {
	for _, violation := range s.violations {
		requirement := violation.Requirement
		for _, d := range violation.Refusals {
			if requirement == "" {
				requirement = d.Requirement
			}
		}
		level := requirementLevel(s.dialect, requirement)
		if s.status/100 == 4 { // a server may let it pass, and this one did not
			level = spec.Must
		}
		all = append(all, Finding{FindingDocument, requirement, level, violation.Location, violation.Message})
	}
	switch {
	case len(all) == 0 && s.rule == "" && len(s.faults) == 0 && slices.Contains(refusalStatuses, s.status):
		all = append(all, Finding{FindingRefused, "", spec.Must, s.method + " " + s.target, fmt.Sprintf("it is answered %d %s", s.status, http.StatusText(s.status))})
	case s.op == "" && s.status == http.StatusNotFound:
		all = append(all, Finding{FindingRoute, "", spec.Must, s.target, "there is nothing here for " + s.method})
	case s.op == "" && s.status == http.StatusMethodNotAllowed:
		all = append(all, Finding{FindingRoute, "", spec.Must, s.target, s.method + " is not allowed here"})
	case s.matched && s.rule == "" && len(s.violations) == 0 && (s.missCount > 0 && s.op == "run" || s.status == http.StatusNotImplemented):
		all = append(all, Finding{FindingUnmatched, "", spec.Must, s.operation, fmt.Sprintf("none of %d rules is for it%s", s.missCount, nearestMiss(s.misses))})
	}
	return all
}

func nearestMiss(misses []Miss) string {
	if len(misses) == 0 {
		return ""
	}
	return fmt.Sprintf(": %s: %s", misses[0].Rule, misses[0].Why)
}

// requirementLevel is how much a requirement matters. What breaks a document and is in no
// catalogue is broken all the same.
func requirementLevel(name, requirement string) spec.Level {
	if requirement == "" {
		return spec.Must
	}
	d, err := dialect.Open(name)
	if err != nil {
		return spec.Must
	}
	for _, r := range d.Requirements {
		if r.ID == requirement {
			return r.Level
		}
	}
	return spec.Must
}

// A history is what was there before an exchange, for findings that take more than it.
type history struct {
	journal *Journal
	refs    []entryRef
}

// newHistory is that of these exchanges; nil: all that are kept, once they are needed.
func (j *Journal) newHistory(refs []entryRef) *history { return &history{j, refs} }

// findings are those about one exchange. What takes others to find is found once, as
// soon as somebody looks: later they may be forgotten.
func (p *history) findings(r entryRef) []Finding {
	if !r.lock() {
		return nil
	}
	all := r.buffer.ownFindings()
	if r.buffer.historyChecked || r.buffer.cursor == "" && r.buffer.resultCalls == nil && r.buffer.interruptIDs == nil {
		all = append(all, r.buffer.historyFindings...)
		r.buffer.mu.Unlock()
		return all
	}
	ask := references{id: r.id, dialect: r.buffer.dialect, op: r.buffer.operation, cursor: r.buffer.cursor, calls: slices.Clone(r.buffer.resultCalls), resumes: slices.Clone(r.buffer.interruptIDs)}
	known, status := len(r.buffer.violations) == 0, r.buffer.status
	r.buffer.mu.Unlock()
	if !known {
		return all
	}
	if status == 0 {
		return all // whether it is refused is not known yet
	}
	if status < 400 {
		ask.cursor = "" // the server knew it, or takes any
	}
	about := p.findUnsent(ask)
	if r.lock() {
		r.buffer.historyFindings, r.buffer.historyChecked = about, true
		r.buffer.mu.Unlock()
	}
	return append(all, about...)
}

// references is what an exchange takes for granted.
type references struct {
	id          uint64
	dialect, op string
	cursor      string
	calls       []string
	resumes     []string
}

// findUnsent looks in what was sent before for what an exchange takes for granted. Where
// not all of that is kept, nothing is found.
func (p *history) findUnsent(ask references) (all []Finding) {
	if p.refs == nil {
		p.refs = p.journal.entryRefs()
	}
	if p.journal.Forgotten() > 0 {
		return nil
	}
	for _, r := range p.refs {
		if r.id >= ask.id {
			break
		}
		if !r.lock() {
			continue
		}
		s := r.buffer
		if s.dialect == ask.dialect {
			if s.sentSize > int64(len(s.sentBytes)) || spec.Header(s.header).Has("Content-Encoding") {
				s.mu.Unlock()
				return nil
			}
			if ask.cursor != "" && p.sentCursor(s.sentBytes, ask.cursor) {
				ask.cursor = ""
			}
			mentioned := func(id string) bool { return mentions(s.sentBytes, id) }
			ask.calls = slices.DeleteFunc(ask.calls, mentioned)
			ask.resumes = slices.DeleteFunc(ask.resumes, mentioned)
		}
		s.mu.Unlock()
	}
	if ask.cursor != "" {
		requirement := cursorRequirement(ask)
		level := spec.Should
		if requirement != "" {
			level = requirementLevel(ask.dialect, requirement)
		}
		all = append(all, Finding{FindingCursor, requirement, level, "cursor", fmt.Sprintf("no event with the id %q was ever sent", ask.cursor)})
	}
	for _, call := range ask.calls {
		all = append(all, Finding{FindingToolResult, "", spec.Should, "tool result", fmt.Sprintf("no call %q was ever made", call)})
	}
	for _, id := range ask.resumes {
		all = append(all, Finding{FindingInterrupt, "", spec.Should, "resume", fmt.Sprintf("no interrupt %q was ever told", id)})
	}
	return all
}

// sentCursor says whether a stream has an event with this id, or a body speaks of it.
func (p *history) sentCursor(buf []byte, cursor string) bool {
	for line := range bytes.FieldsFuncSeq(buf, func(r rune) bool { return r == '\n' || r == '\r' }) {
		id, ok := bytes.CutPrefix(line, []byte("id:"))
		if !ok {
			continue
		}
		text := strings.TrimPrefix(string(id), " ")
		if p.journal.cfg.Cursor != nil {
			text = p.journal.cfg.Cursor(text)
		}
		if text == cursor {
			return true
		}
	}
	return bytes.Contains(buf, jsonString(cursor))
}

// minMentionLength is the length from which on any mention of an id counts.
const minMentionLength = 6

// mentions says whether bytes that were sent speak of an id. One may stand in a string
// inside of JSON, so that of a long one any mention counts.
func mentions(buf []byte, id string) bool {
	if len(id) < minMentionLength {
		return bytes.Contains(buf, jsonString(id))
	}
	return bytes.Contains(buf, []byte(id))
}

// cursorRequirement is the requirement that speaks of cursors that nobody handed out.
func cursorRequirement(ask references) string {
	d, err := dialect.Open(ask.dialect)
	if err != nil {
		return ""
	}
	for _, o := range d.Operations() {
		if o.Name != ask.op {
			continue
		}
		for _, demand := range d.UnknownSlotViolation(o, "cursor").Refusals {
			if demand.Requirement != "" {
				return demand.Requirement
			}
		}
	}
	return ""
}

// maxKeptFindings is how many findings are kept of exchanges that are not.
const maxKeptFindings = 200

// keepFindings keeps the findings of an exchange that is forgotten. Both locks are held.
func (j *Journal) keepFindings(s *entryBuffer) {
	all := append(s.ownFindings(), s.historyFindings...)
	if len(all) == 0 {
		return
	}
	of := s.findingLocation()
	for _, g := range all {
		if len(j.oldFindings) < maxKeptFindings {
			of.Finding = g
			j.oldFindings = append(j.oldFindings, of)
		}
	}
}

// keptFindings are those that a filter chooses, as far as what it asks for is known.
func (j *Journal) keptFindings(f Filter) (all []LocatedFinding) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, of := range j.oldFindings {
		family, _, _ := strings.Cut(of.Dialect, "@")
		switch {
		case f.Dialect != "" && f.Dialect != of.Dialect && f.Dialect != family:
		case f.Test != nil && *f.Test != of.Test:
		case f.Finding != "" && f.Finding != "any" && f.Finding != of.Kind && f.Finding != of.Requirement:
		case of.ID > f.After:
			all = append(all, of)
		}
	}
	return all
}
