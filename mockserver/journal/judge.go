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
	OnDocument  = "client.document"    // the request breaks the document
	OnRoute     = "client.route"       // there is nothing at this address
	OnMatch     = "client.matched"     // no rule of the script is for it
	OnCursor    = "client.cursor"      // a stream was to go on after an event that was never sent
	OnResult    = "client.tool-result" // a result of a call that was never made
	OnRefusal   = "client.refused"     // it was refused for what stands in no body: credentials, size, media type
	OnInterrupt = "client.resume"      // an answer to an interrupt that never was
)

// kinds are all of them, with what a client does that has none.
var kinds = []struct{ id, title string }{
	{OnDocument, "requests keep to the document"},
	{OnRoute, "only what is there is asked for"},
	{OnMatch, "each run has a rule of the script"},
	{OnCursor, "streams are taken up again after an event that was sent"},
	{OnResult, "results are those of calls that were made"},
	{OnRefusal, "no request is refused"},
	{OnInterrupt, "answers are those to interrupts that were"},
}

// refusals are the statuses by which a client is told that it did wrong, where no
// script and no fault says so.
var refusals = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusRequestHeaderFieldsTooLarge,
}

// Found is a finding, and the exchange that it is about.
type Found struct {
	ID      uint64 `json:"id"`
	Dialect string `json:"dialect"`
	Test    string `json:"test"`
	Request string `json:"request"` // "POST /runs"
	Finding
}

// Judge lists what the clients did wrong, by exchange; those are among it that are
// found in exchanges that are no longer kept.
func (j *Journal) Judge(f Filter) []Found {
	f.Offset, f.Limit = 0, 0
	all := j.remembered(f)
	seen := j.past(nil)
	for _, r := range j.chosen(f) {
		about, of := seen.findings(r), Found{}
		if len(about) == 0 || !r.lock() {
			continue
		}
		of = r.s.finding()
		r.s.mu.Unlock()
		for _, g := range about {
			of.Finding = g
			all = append(all, of)
		}
	}
	return all
}

// finding is the exchange of a finding. The slot is locked.
func (s *slot) finding() Found {
	return Found{ID: s.n, Dialect: s.dialect, Test: s.test, Request: s.method + " " + s.target}
}

// own is what can be found in an exchange alone. The slot is locked.
func (s *slot) own() (all []Finding) {
	for _, b := range s.broken {
		law := b.Requirement
		for _, d := range b.Refusals {
			if law == "" {
				law = d.Requirement
			}
		}
		level := levelOf(s.dialect, law)
		if s.status/100 == 4 { // a server may let it pass, and this one did not
			level = spec.Must
		}
		all = append(all, Finding{OnDocument, law, level, b.Location, b.Message})
	}
	switch {
	case len(all) == 0 && s.rule == "" && len(s.faults) == 0 && slices.Contains(refusals, s.status):
		all = append(all, Finding{OnRefusal, "", spec.Must, s.method + " " + s.target, fmt.Sprintf("it is answered %d %s", s.status, http.StatusText(s.status))})
	case s.does == "" && s.status == http.StatusNotFound:
		all = append(all, Finding{OnRoute, "", spec.Must, s.target, "there is nothing here for " + s.method})
	case s.does == "" && s.status == http.StatusMethodNotAllowed:
		all = append(all, Finding{OnRoute, "", spec.Must, s.target, s.method + " is not allowed here"})
	case s.matched && s.rule == "" && len(s.broken) == 0 && (s.missed > 0 && s.does == "run" || s.status == http.StatusNotImplemented):
		all = append(all, Finding{OnMatch, "", spec.Must, s.op, fmt.Sprintf("none of %d rules is for it%s", s.missed, nearest(s.misses))})
	}
	return all
}

func nearest(misses []Miss) string {
	if len(misses) == 0 {
		return ""
	}
	return fmt.Sprintf(": %s: %s", misses[0].Rule, misses[0].Why)
}

// levelOf is how much a requirement matters. What breaks a document and is in no
// catalogue is broken all the same.
func levelOf(name, law string) spec.Level {
	if law == "" {
		return spec.Must
	}
	d, err := dialect.Open(name)
	if err != nil {
		return spec.Must
	}
	for _, r := range d.Requirements {
		if r.ID == law {
			return r.Level
		}
	}
	return spec.Must
}

// A past is what was there before an exchange, for findings that take more than it.
type past struct {
	j    *Journal
	refs []ref
}

// past is that of these exchanges; nil: all that are kept, once they are needed.
func (j *Journal) past(refs []ref) *past { return &past{j, refs} }

// findings are those about one exchange. What takes others to find is found once, as
// soon as somebody looks: later they may be forgotten.
func (p *past) findings(r ref) []Finding {
	if !r.lock() {
		return nil
	}
	all := r.s.own()
	if r.s.found || r.s.cursor == "" && r.s.calls == nil && r.s.resumes == nil {
		all = append(all, r.s.about...)
		r.s.mu.Unlock()
		return all
	}
	ask := asking{n: r.n, dialect: r.s.dialect, op: r.s.op, cursor: r.s.cursor, calls: slices.Clone(r.s.calls), resumes: slices.Clone(r.s.resumes)}
	known, status := len(r.s.broken) == 0, r.s.status
	r.s.mu.Unlock()
	if !known {
		return all
	}
	if status == 0 {
		return all // whether it is refused is not known yet
	}
	if status < 400 {
		ask.cursor = "" // the server knew it, or takes any
	}
	about := p.compare(ask)
	if r.lock() {
		r.s.about, r.s.found = about, true
		r.s.mu.Unlock()
	}
	return append(all, about...)
}

// asking is what an exchange takes for granted.
type asking struct {
	n           uint64
	dialect, op string
	cursor      string
	calls       []string
	resumes     []string
}

// compare looks in what was sent before for what an exchange takes for granted. Where
// not all of that is kept, nothing is found.
func (p *past) compare(ask asking) (all []Finding) {
	if p.refs == nil {
		p.refs = p.j.refs()
	}
	if p.j.Forgotten() > 0 {
		return nil
	}
	for _, r := range p.refs {
		if r.n >= ask.n {
			break
		}
		if !r.lock() {
			continue
		}
		s := r.s
		if s.dialect == ask.dialect {
			if s.sent > int64(len(s.buf)) || spec.Header(s.head).Has("Content-Encoding") {
				s.mu.Unlock()
				return nil
			}
			if ask.cursor != "" && p.handed(s.buf, ask.cursor) {
				ask.cursor = ""
			}
			there := func(id string) bool { return spoken(s.buf, id) }
			ask.calls = slices.DeleteFunc(ask.calls, there)
			ask.resumes = slices.DeleteFunc(ask.resumes, there)
		}
		s.mu.Unlock()
	}
	if ask.cursor != "" {
		law := cursorLaw(ask)
		level := spec.Should
		if law != "" {
			level = levelOf(ask.dialect, law)
		}
		all = append(all, Finding{OnCursor, law, level, "cursor", fmt.Sprintf("no event with the id %q was ever sent", ask.cursor)})
	}
	for _, call := range ask.calls {
		all = append(all, Finding{OnResult, "", spec.Should, "tool result", fmt.Sprintf("no call %q was ever made", call)})
	}
	for _, id := range ask.resumes {
		all = append(all, Finding{OnInterrupt, "", spec.Should, "resume", fmt.Sprintf("no interrupt %q was ever told", id)})
	}
	return all
}

// handed says whether a stream has an event with this id, or a body speaks of it.
func (p *past) handed(buf []byte, cursor string) bool {
	for line := range bytes.FieldsFuncSeq(buf, func(r rune) bool { return r == '\n' || r == '\r' }) {
		id, ok := bytes.CutPrefix(line, []byte("id:"))
		if !ok {
			continue
		}
		text := strings.TrimPrefix(string(id), " ")
		if p.j.cfg.Cursor != nil {
			text = p.j.cfg.Cursor(text)
		}
		if text == cursor {
			return true
		}
	}
	return bytes.Contains(buf, quoted(cursor))
}

// minMention is the length from which on any mention of an id counts.
const minMention = 6

// spoken says whether bytes that were sent speak of an id. One may stand in a string
// inside of JSON, so that of a long one any mention counts.
func spoken(buf []byte, id string) bool {
	if len(id) < minMention {
		return bytes.Contains(buf, quoted(id))
	}
	return bytes.Contains(buf, []byte(id))
}

// cursorLaw is the requirement that speaks of cursors that nobody handed out.
func cursorLaw(ask asking) string {
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

// mostRemembered is how many findings are kept of exchanges that are not.
const mostRemembered = 200

// remember keeps the findings of an exchange that is forgotten. Both locks are held.
func (j *Journal) remember(s *slot) {
	all := append(s.own(), s.about...)
	if len(all) == 0 {
		return
	}
	of := s.finding()
	for _, g := range all {
		if len(j.old) < mostRemembered {
			of.Finding = g
			j.old = append(j.old, of)
		}
	}
}

// remembered are those that a filter chooses, as far as what it asks for is known.
func (j *Journal) remembered(f Filter) (all []Found) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, of := range j.old {
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
