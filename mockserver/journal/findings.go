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

// A Finding is an error of a client.
type Finding struct {
	Kind        string     `json:"kind"`
	Requirement string     `json:"requirement"` // id in the dialect's catalogue; "": none covers it
	Level       spec.Level `json:"level"`
	Where       string     `json:"where"`
	Message     string     `json:"message"`
}

// The kinds of findings.
const (
	FindingDocument   = "client.document"    // the request violates the dialect's document
	FindingRoute      = "client.route"       // no operation has this method and path
	FindingUnmatched  = "client.matched"     // no rule of the script matches the request
	FindingCursor     = "client.cursor"      // the cursor is the id of no event that was sent
	FindingToolResult = "client.tool-result" // the result of a tool call that was never made
	FindingRefused    = "client.refused"     // refused for other reasons: credentials, size, media type
	FindingInterrupt  = "client.resume"      // the answer to an interrupt that was never sent
)

// findingKinds lists the kinds of findings with the titles of the checks in an [Outcome].
var findingKinds = []struct{ id, title string }{
	{FindingDocument, "requests conform to the document"},
	{FindingRoute, "requests use the methods and paths of operations"},
	{FindingUnmatched, "each run matches a rule of the script"},
	{FindingCursor, "streams are resumed from the id of an event that was sent"},
	{FindingToolResult, "tool results refer to calls that were made"},
	{FindingRefused, "no request is refused"},
	{FindingInterrupt, "answers refer to interrupts that were sent"},
}

// refusalStatuses lists the status codes that mean an error of the client, unless a script
// or a fault caused them.
var refusalStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusRequestHeaderFieldsTooLarge,
}

// A LocatedFinding is a finding with the exchange that it is about.
type LocatedFinding struct {
	ID      uint64 `json:"id"`
	Dialect string `json:"dialect"`
	Test    string `json:"test"`
	Request string `json:"request"` // "POST /runs"
	Finding
}

// Judge returns the findings about the exchanges that match a filter, in the order of the
// exchanges. It includes findings about exchanges that were dropped, and ignores Offset and
// Limit.
func (j *Journal) Judge(f Filter) []LocatedFinding {
	f.Offset, f.Limit = 0, 0
	all := j.keptFindings(f)
	seen := j.newHistory(nil)
	for _, r := range j.selectEntries(f) {
		found := seen.findings(r)
		if len(found) == 0 || !r.lock() {
			continue
		}
		located := r.buffer.findingLocation()
		r.buffer.mu.Unlock()
		for _, g := range found {
			located.Finding = g
			all = append(all, located)
		}
	}
	return all
}

// findingLocation returns a LocatedFinding for the exchange without the finding itself. The
// caller must hold the lock of s.
func (s *entryBuffer) findingLocation() LocatedFinding {
	return LocatedFinding{ID: s.id, Dialect: s.dialect, Test: s.test, Request: s.method + " " + s.target}
}

// ownFindings returns the findings that do not depend on other exchanges. The caller must
// hold the lock of s.
func (s *entryBuffer) ownFindings() (all []Finding) {
	for _, violation := range s.violations {
		requirement := violation.Requirement
		for _, d := range violation.Refusals {
			if requirement == "" {
				requirement = d.Requirement
			}
		}
		level := requirementLevel(s.dialect, requirement)
		if s.status/100 == 4 { // the server did not tolerate the violation
			level = spec.Must
		}
		all = append(all, Finding{FindingDocument, requirement, level, violation.Location, violation.Message})
	}
	switch {
	case len(all) == 0 && s.rule == "" && len(s.faults) == 0 && slices.Contains(refusalStatuses, s.status):
		message := fmt.Sprintf("request refused with %d %s", s.status, http.StatusText(s.status))
		all = append(all, Finding{FindingRefused, "", spec.Must, s.method + " " + s.target, message})
	case s.op == "" && s.status == http.StatusNotFound:
		message := "no operation for " + s.method + " on this path"
		all = append(all, Finding{FindingRoute, "", spec.Must, s.target, message})
	case s.op == "" && s.status == http.StatusMethodNotAllowed:
		message := "method " + s.method + " is not allowed on this path"
		all = append(all, Finding{FindingRoute, "", spec.Must, s.target, message})
	case s.isUnmatched():
		message := fmt.Sprintf("no rule matches (%d tried)%s", s.missCount, nearestMiss(s.misses))
		all = append(all, Finding{FindingUnmatched, "", spec.Must, s.operation, message})
	}
	return all
}

// isUnmatched reports whether the request is valid, but no rule of the script matches it.
// Requests other than for runs need a rule only if the mock is strict (status 501).
func (s *entryBuffer) isUnmatched() bool {
	return s.matched && s.rule == "" && len(s.violations) == 0 &&
		(s.missCount > 0 && s.op == "run" || s.status == http.StatusNotImplemented)
}

// nearestMiss returns the first miss as the end of a message, or "" if there is none.
func nearestMiss(misses []Miss) string {
	if len(misses) == 0 {
		return ""
	}
	return fmt.Sprintf(": %s: %s", misses[0].Rule, misses[0].Why)
}

// requirementLevel returns the level of a requirement of the named dialect. It returns MUST
// if the requirement is "" or not in the catalogue, because the document is violated all
// the same.
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

// A history gives access to the exchanges before a given one, for findings that depend on
// them.
type history struct {
	journal *Journal
	refs    []entryRef
}

// newHistory returns a history of the given exchanges or, if refs is nil, of all that are
// in the journal when they are first needed.
func (j *Journal) newHistory(refs []entryRef) *history { return &history{j, refs} }

// findings returns the findings about an exchange. Those that depend on earlier exchanges
// are determined by the first call and stored, because the earlier ones may be dropped.
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
	refs := references{
		id: r.id, dialect: r.buffer.dialect, op: r.buffer.operation, cursor: r.buffer.cursor,
		calls: slices.Clone(r.buffer.resultCalls), interrupts: slices.Clone(r.buffer.interruptIDs),
	}
	valid, status := len(r.buffer.violations) == 0, r.buffer.status
	r.buffer.mu.Unlock()
	if !valid || status == 0 { // status 0: the request may still be refused
		return all
	}
	if status < 400 {
		refs.cursor = "" // the server accepted it
	}
	found := p.findUnsent(refs)
	if r.lock() {
		r.buffer.historyFindings, r.buffer.historyChecked = found, true
		r.buffer.mu.Unlock()
	}
	return append(all, found...)
}

// references holds the ids in a request that must occur in earlier responses.
type references struct {
	id          uint64 // id of the exchange
	dialect, op string
	cursor      string
	calls       []string // tool calls
	interrupts  []string
}

// findUnsent returns a finding for each reference that does not occur in an earlier response
// of the same dialect. It returns none if some of these responses are not completely in the
// journal.
func (p *history) findUnsent(refs references) (all []Finding) {
	if p.refs == nil {
		p.refs = p.journal.entryRefs()
	}
	if p.journal.Forgotten() > 0 {
		return nil
	}
	for _, r := range p.refs {
		if r.id >= refs.id {
			break
		}
		if !r.lock() {
			continue
		}
		s := r.buffer
		if s.dialect == refs.dialect {
			if s.sentSize > int64(len(s.sentBytes)) || spec.Header(s.header).Has("Content-Encoding") {
				s.mu.Unlock()
				return nil
			}
			if refs.cursor != "" && p.sentCursor(s.sentBytes, refs.cursor) {
				refs.cursor = ""
			}
			mentioned := func(id string) bool { return mentions(s.sentBytes, id) }
			refs.calls = slices.DeleteFunc(refs.calls, mentioned)
			refs.interrupts = slices.DeleteFunc(refs.interrupts, mentioned)
		}
		s.mu.Unlock()
	}
	if refs.cursor != "" {
		requirement := cursorRequirement(refs)
		level := spec.Should
		if requirement != "" {
			level = requirementLevel(refs.dialect, requirement)
		}
		message := fmt.Sprintf("no event with the id %q was sent before", refs.cursor)
		all = append(all, Finding{FindingCursor, requirement, level, "cursor", message})
	}
	for _, call := range refs.calls {
		message := fmt.Sprintf("no call with the id %q was made before", call)
		all = append(all, Finding{FindingToolResult, "", spec.Should, "tool result", message})
	}
	for _, id := range refs.interrupts {
		message := fmt.Sprintf("no interrupt with the id %q was sent before", id)
		all = append(all, Finding{FindingInterrupt, "", spec.Should, "resume", message})
	}
	return all
}

// sentCursor reports whether a response body contains an event with this id, or the id as a
// JSON string.
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

// minMentionLength is the length of an id in bytes from which any occurrence counts.
const minMentionLength = 6

// mentions reports whether a response body contains an id. A short id must occur as a JSON
// string. A long one may occur anywhere, because it may be part of JSON within a string.
func mentions(buf []byte, id string) bool {
	if len(id) < minMentionLength {
		return bytes.Contains(buf, jsonString(id))
	}
	return bytes.Contains(buf, []byte(id))
}

// cursorRequirement returns the requirement of the dialect's catalogue about unknown
// cursors, or "".
func cursorRequirement(refs references) string {
	d, err := dialect.Open(refs.dialect)
	if err != nil {
		return ""
	}
	for _, o := range d.Operations() {
		if o.Name != refs.op {
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

// maxKeptFindings is the maximum number of findings about dropped exchanges.
const maxKeptFindings = 200

// keepFindings stores the findings about an exchange that is being dropped. The caller must
// hold the locks of the journal and the buffer.
func (j *Journal) keepFindings(s *entryBuffer) {
	all := append(s.ownFindings(), s.historyFindings...)
	if len(all) == 0 {
		return
	}
	located := s.findingLocation()
	for _, g := range all {
		if len(j.oldFindings) < maxKeptFindings {
			located.Finding = g
			j.oldFindings = append(j.oldFindings, located)
		}
	}
}

// keptFindings returns the findings about dropped exchanges that match a filter. It ignores
// fields of the filter whose values are unknown for dropped exchanges.
func (j *Journal) keptFindings(f Filter) (all []LocatedFinding) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, old := range j.oldFindings {
		family, _, _ := strings.Cut(old.Dialect, "@")
		switch {
		case f.Dialect != "" && f.Dialect != old.Dialect && f.Dialect != family:
		case f.Test != nil && *f.Test != old.Test:
		case f.Finding != "" && f.Finding != "any" && f.Finding != old.Kind && f.Finding != old.Requirement:
		case old.ID > f.After:
			all = append(all, old)
		}
	}
	return all
}
