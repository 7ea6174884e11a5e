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

// A Finding is a mistake that a client made in one request.
type Finding struct {
	Kind        string     `json:"kind"`
	Requirement string     `json:"requirement"` // id in the dialect's catalogue; "": none covers it
	Level       spec.Level `json:"level"`
	Where       string     `json:"where"`
	Message     string     `json:"message"`
}

// The kinds of findings. Each kind is a mistake that a client can make.
const (
	FindingDocument   = "client.document"    // the request violates the dialect's document
	FindingRoute      = "client.route"       // no operation has this method and path
	FindingUnmatched  = "client.matched"     // no rule of the script matches the request
	FindingCursor     = "client.cursor"      // the cursor is the id of no event that was sent
	FindingToolResult = "client.tool-result" // the result of a tool call that was never made
	FindingRefused    = "client.refused"     // refused for other reasons: credentials, size, media type
	FindingInterrupt  = "client.resume"      // the answer to an interrupt that was never sent
)

// findingKinds lists the kinds of findings, with the titles of the corresponding checks in an
// [Outcome].
var findingKinds = []struct{ id, title string }{
	{FindingDocument, "requests conform to the document"},
	{FindingRoute, "requests use the methods and paths of operations"},
	{FindingUnmatched, "each run matches a rule of the script"},
	{FindingCursor, "streams are resumed from the id of an event that was sent"},
	{FindingToolResult, "tool results refer to calls that were made"},
	{FindingRefused, "no request is refused"},
	{FindingInterrupt, "answers refer to interrupts that were sent"},
}

// refusalStatuses lists the status codes with which the mock refuses a request because the client
// made a mistake. A script or a fault can also make the mock respond with one of them; this is not
// a mistake of the client.
var refusalStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusRequestHeaderFieldsTooLarge,
}

// A LocatedFinding is a finding together with the exchange to whose request it refers.
type LocatedFinding struct {
	ID      uint64 `json:"id"`
	Dialect string `json:"dialect"`
	Test    string `json:"test"`
	Request string `json:"request"` // "POST /runs"
	Finding
}

// Judge returns the findings about the exchanges that match f, in the order of the exchanges.
// Findings about exchanges that were dropped from the journal come first. The fields Offset and
// Limit of f are ignored.
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

// findingLocation returns a LocatedFinding that names the exchange s but has no finding yet. The
// caller must hold the lock of s.
func (s *entryBuffer) findingLocation() LocatedFinding {
	return LocatedFinding{ID: s.id, Dialect: s.dialect, Test: s.test, Request: s.method + " " + s.target}
}

// ownFindings returns the findings about the exchange s that follow from its own request and
// response, without earlier exchanges. The caller must hold the lock of s.
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

// isUnmatched reports whether the request is valid and needs a rule of the script, but no rule
// matches it. A request that starts a run needs a rule if rules were tried. A request also counts
// as unmatched if its status is 501, with which a strict mock refuses it.
func (s *entryBuffer) isUnmatched() bool {
	return s.matched && s.rule == "" && len(s.violations) == 0 &&
		(s.missCount > 0 && s.op == "run" || s.status == http.StatusNotImplemented)
}

// nearestMiss returns the first of the misses as text for the end of an error message, or "" if
// misses is empty.
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

// A history gives access to the exchanges in the journal. It is used to find mistakes that depend
// on what the server sent in earlier exchanges.
type history struct {
	journal *Journal
	refs    []entryRef
}

// newHistory returns a history of the given exchanges. If refs is nil, the history takes all
// exchanges that are in the journal when it first needs them.
func (j *Journal) newHistory(refs []entryRef) *history { return &history{j, refs} }

// findings returns the findings about the exchange r, or nil if r was dropped from the journal.
// Findings that depend on earlier exchanges are stored as soon as they can be determined, because
// the earlier exchanges may be dropped before the next call.
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

// references holds those ids in a request that only make sense if the server sent them in an
// earlier response.
type references struct {
	id          uint64 // id of the exchange
	dialect, op string
	cursor      string
	calls       []string // tool calls
	interrupts  []string
}

// findUnsent returns a finding for each id in refs that does not occur in an earlier response of
// the same dialect. It returns nil if one of the earlier responses is not completely in the
// journal, because the id may be in the missing part.
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

// sentCursor reports whether buf, a response body, contains the cursor, either as the id of an
// event or as a JSON string.
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

// minMentionLength is the minimum length in bytes of an id that is unlikely to occur in a response
// by chance; see mentions.
const minMentionLength = 6

// mentions reports whether buf, a response body, contains an id. A short id must occur as a
// complete JSON string. A long id may occur anywhere, because it may be part of JSON within a
// string.
func mentions(buf []byte, id string) bool {
	if len(id) < minMentionLength {
		return bytes.Contains(buf, jsonString(id))
	}
	return bytes.Contains(buf, []byte(id))
}

// cursorRequirement returns the id of the requirement in the dialect's catalogue that covers
// unknown cursors for the operation of refs, or "" if there is none.
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

// maxKeptFindings is the maximum number of findings about dropped exchanges that a journal keeps.
const maxKeptFindings = 200

// keepFindings stores the findings about the exchange s, which is about to be dropped. At most
// maxKeptFindings are stored in total. The caller must hold the locks of the journal and of s.
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

// keptFindings returns the stored findings about dropped exchanges that match f. Only the fields
// Dialect, Test, Finding and After of f are considered, because the journal does not know more
// about dropped exchanges.
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
