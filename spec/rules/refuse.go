package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var refusals = []*spec.Check{RefusesAsDocumented, AcceptsAsDocumented}

// A dealing is one request and how it was answered.
type dealing struct {
	ask    spec.Event
	status int
	media  string
	code   string
	body   []byte
	reply  spec.Event // what the body means, if it is no stream
	inBand bool       // by a frame that refuses
	ended  bool       // a frame ended the run
	done   bool       // a frame ended the stream
	failed bool       // and said that it had failed
	busy   bool       // a run of its conversation may have been going on
	asks   bool       // a frame asks the client for something: a resume, or a tool's result
	closed spec.Event // the end of the body
	err    error      // why there is no status
}

func (x dealing) accepted() bool { return x.status/100 == 2 && !x.inBand }

// answered reports whether the request was accepted, and its answer came whole, or as much
// of it as the client waited for.
func (x dealing) answered() bool { return x.accepted() && !x.brokenOff() }

// brokenOff reports whether an answer began and was not transferred to its end, nor to the
// frame that ends its run or its stream.
func (x dealing) brokenOff() bool {
	return x.status != 0 && !x.ended && !x.done && (broke(x.closed) || errors.Is(x.closed.Err, spec.ErrNotHTTP))
}

// String tells how the request was answered.
func (x dealing) String() string {
	switch {
	case x.inBand:
		return fmt.Sprintf("the answer is %d with a frame that refuses", x.status)
	case x.status != 0:
		return strings.TrimSpace(fmt.Sprintf("the answer is %d %.60s", x.status, x.code))
	case errors.Is(x.err, spec.ErrIdleTimeout) || errors.Is(x.err, spec.ErrLimitExceeded):
		return "the server did not answer in time"
	case errors.Is(x.err, spec.ErrReset):
		return "the server reset the connection without an answer"
	case errors.Is(x.err, spec.ErrNotHTTP):
		return "the answer is not HTTP"
	}
	return "the server closed the connection without an answer"
}

// asksForAnswer reports whether a request is one of our prompts and not for a failure, in
// an operation of which a requirement speaks and where no event tells the end of a stream.
// How any other run ends is the agent's affair: to break the transfer off may be how it
// shows that it failed.
func (x dealing) asksForAnswer() bool {
	prompt, _ := x.ask.Prompt()
	return strings.HasPrefix(prompt, "conformance:") && !failing(prompt) && x.ask.Requirement != "" && x.ask.IsStream() && !x.ask.Promised.HasEndEvent
}

// meets says whether an answer is the refusal that is demanded.
func (x dealing) meets(d spec.RefusalRequirement) bool {
	if x.inBand {
		return d.InBand
	}
	if len(d.Status) > 0 && !slices.ContainsFunc(d.Status, func(want string) bool { return fitsStatus(want, x.status) }) {
		return false
	}
	if x.status < 400 || d.Plain && x.media == spec.EventStream {
		return false
	}
	return (len(d.Code) == 0 || slices.Contains(d.Code, x.code)) && (d.Text == "" || contains(x.body, d.Text))
}

// contains looks for a text in a body, and in the strings that stand there as JSON, which may
// be spelled with escapes.
func contains(body []byte, text string) bool {
	if bytes.Contains(body, []byte(text)) {
		return true
	}
	var v any
	return json.Unmarshal(body, &v) == nil && containsIn(v, text)
}

func containsIn(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return containsIn(v, text) })
	case map[string]any:
		for _, v := range v {
			if containsIn(v, text) {
				return true
			}
		}
	}
	return false
}

func fitsStatus(want string, status int) bool {
	if class, ok := strings.CutSuffix(strings.ToUpper(want), "XX"); ok {
		return class == strconv.Itoa(status/100)
	}
	return want == strconv.Itoa(status)
}

// Wanted says what a demand wants.
func Wanted(d spec.RefusalRequirement) string {
	want := []string{}
	if len(d.Status) > 0 {
		want = append(want, strings.Join(d.Status, " or "))
	}
	if len(d.Code) > 0 {
		want = append(want, "code "+strings.Join(d.Code, " or "))
	}
	if d.Text != "" {
		want = append(want, fmt.Sprintf("the text %q", d.Text))
	}
	switch {
	case d.Plain:
		want = append(want, "a refusal that is no stream")
	case len(want) == 0:
		want = append(want, "a refusal")
	}
	if d.InBand {
		want = append(want, "or a frame that refuses")
	}
	return strings.Join(want, " ")
}

// dealings lets a rule see each request with its answer, and the end of the
// conversation.
func dealings(w func(p *spec.Pass) (dealt func(dealing), over func())) watch {
	return func(p *spec.Pass) func(spec.Event) {
		dealt, over := w(p)
		var x dealing
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				x = dealing{ask: e}
			case e.Kind == spec.HTTPResponse:
				x.status, x.media, x.err = e.StatusCode, e.MediaType, e.Err
			case e.Kind == spec.RunRefused:
				x.inBand = true
			case e.IsFrame():
				x.frame(e)
			case e.Kind == spec.BodyEnd:
				x.closed = e
				if x.status != 0 || !errors.Is(e.Err, spec.ErrClientLeft) { // else nobody waited for the answer
					dealt(x)
				}
			case e.Kind == "":
				over()
			case e.Frame < 0: // no frame: a body that is no stream
				x.code, x.body, x.reply = e.Code, e.Raw, e
			}
		}
	}
}

// RefusesAsDocumented judges the answers to requests that break the document.
var RefusesAsDocumented = &spec.Check{
	ID: "refuse.as-documented",
	Doc: `a request that breaks the document is refused as the document says; its twin without the fault is not

A server that refuses everything refuses correctly by accident: until a request
without fault was accepted by the same operation, no refusal counts for it. The twin
is the last request without fault before the faulty one. Of several faults any may be
what the answer is about: it has to be right for one of them. Statuses that speak of
who asks, or of how busy the server is (401, 429, 503, and 409 beside another run of the
conversation), say nothing about the fault, nor does it that no answer to more than a megabyte came; that something is not there, or
not allowed, counts as an answer to the fault only where a request without one was
accepted for the same thread.`,
	Watch: dealings(func(p *spec.Pass) (func(dealing), func()) {
		operations := map[string]*desk{}
		known, open := newShelf(), openRuns{}
		deal := func(x dealing) {
			known.note(x.ask, x.reply)
			x.busy = open.keepsFrom(x.ask)
			open.note(x)
			if x.ask.Valid() && (x.ask.Operation == "" || known.doubtful(x.ask) || x.busy && !x.accepted()) {
				return
			}
			d := operations[x.ask.Operation]
			if d == nil {
				d = &desk{served: map[string]bool{}}
				operations[x.ask.Operation] = d
			}
			d.deal(p, x)
		}
		return deal, func() {}
	}),
}

// A desk is where one operation's requests are dealt with.
type desk struct {
	accepted bool            // some request without fault
	served   map[string]bool // for these threads
	twin     *dealing
	waiting  []func() // judgements that count if a request without fault is accepted
}

func (d *desk) deal(p *spec.Pass, x dealing) {
	if x.ask.Valid() {
		d.twin = &x
		d.served[x.ask.Thread] = d.served[x.ask.Thread] || x.answered()
		if x.answered() && !d.accepted {
			d.accepted = true
			for _, judge := range d.waiting {
				judge()
			}
			d.waiting = nil
		}
		return
	}
	switch {
	case unheard(x.status) || x.status == 409 && x.busy || x.status == 0 && len(x.ask.Raw) > much: // what the answer is about nobody can tell
		return
	case len(x.ask.Violations) > 1:
		d.dealAll(p, x)
		return
	}
	why := x.ask.Violations[0]
	for _, demand := range why.Refusals {
		evidence := x.ask
		evidence.Requirement = demand.Requirement
		if d.refusedTwin(x) {
			twin := d.twin.ask
			twin.Requirement = demand.Requirement
			p.Judge(twin, false, "this request is valid, and %v; expected a success (invalid would be: %v)", *d.twin, why)
			return
		}
		judge := func() {
			p.Judge(evidence, x.meets(demand), "invalid request (%v): %v; expected %s", why, x, Wanted(demand))
		}
		d.judge(x, x.meets(demand), judge)
	}
}

// judge judges where the answer counts, or lets it wait until it does.
func (d *desk) judge(x dealing, fits bool, judge func()) {
	switch {
	case fits && !d.accepted:
		d.waiting = append(d.waiting, judge)
	case fits || !stateful(x.status) || d.served[x.ask.Thread]:
		judge()
	}
}

// dealAll judges the answer to a request with several faults: it has to be right for one
// of them, whichever the server saw first. What is wrong with it counts against the
// fault that it comes closest to.
func (d *desk) dealAll(p *spec.Pass, x dealing) {
	evidence, fits, least := x.ask, false, spec.Error
	for _, why := range x.ask.Violations {
		if len(why.Refusals) == 0 {
			return // nobody says how this one is refused
		}
		worst, law := spec.Silent, why.Refusals[0].Requirement
		for _, demand := range why.Refusals {
			if cost := demand.Level.FailureVerdict(); !x.meets(demand) && cost > worst {
				worst, law = cost, demand.Requirement
			}
		}
		if worst < least {
			least, fits, evidence.Requirement = worst, worst == spec.Silent, law
		}
	}
	if d.refusedTwin(x) {
		return // of that, each fault alone tells
	}
	d.judge(x, fits, func() {
		p.Judge(evidence, fits, "invalid request (%s): %v, which neither fault explains; expected %s", together(x.ask.Violations), x, wantedOf(x.ask.Violations))
	})
}

// together tells several faults of one request.
func together(faults []spec.Violation) string {
	texts := make([]string, 0, len(faults))
	for _, b := range faults {
		texts = append(texts, b.String())
	}
	return strings.Join(texts, ", and ")
}

// wantedOf says which refusals are right for one of several faults.
func wantedOf(faults []spec.Violation) string {
	var all []string
	for _, b := range faults {
		for _, demand := range b.Refusals {
			if want := Wanted(demand); !slices.Contains(all, want) {
				all = append(all, want)
			}
		}
	}
	return strings.Join(all, ", or ")
}

// much is how large a request is, in bytes, of which a server need not wait for the end:
// it may answer and hang up, and the answer be lost with what it has not read.
const much = 1 << 20

// unheard says that whoever answers with this status need not have looked at the
// request.
func unheard(status int) bool { return status == 401 || status == 429 || status == 503 }

// refusedTwin says that the request without fault that goes with x was refused.
func (d *desk) refusedTwin(x dealing) bool {
	return d.accepted && d.twin != nil && !d.twin.accepted() && !stateful(d.twin.status) && d.twin.status >= 400 && x.ask.Operation == d.twin.ask.Operation
}

// AcceptsAsDocumented judges the answers to requests that the document allows.
var AcceptsAsDocumented = &spec.Check{
	ID: "accept.as-documented",
	Doc: `a request that the document allows is accepted

What a request carries belongs to requirements; a request that is refused counts
against those of them that no accepted request carries. An answer that breaks off is
no answer: to a prompt of ours that does not ask for a failure it breaks the requirement
of the operation, unless an event was to tell the end of the stream. Where requests with faults
were tried, one without that carries nothing new is a twin of theirs, and the
business of refuse.as-documented. A server may be busy with a run of the same
conversation whose end nobody has heard, or wait there for a resume or the result of a
client's tool: a refusal then says nothing about the request. Whether a link is good that nobody was seen to hand
out, and whether there is a file that nobody was seen to upload, only the server knows.`,
	Watch: dealings(func(p *spec.Pass) (func(dealing), func()) {
		carried := map[string]bool{}
		probed := map[string]bool{}
		known, open := newShelf(), openRuns{}
		var refused []dealing
		deal := func(x dealing) {
			known.note(x.ask, x.reply)
			x.busy = open.keepsFrom(x.ask)
			open.note(x)
			switch {
			case len(x.ask.Violations) > 0 && len(x.ask.Violations[0].Refusals) > 0:
				probed[x.ask.Operation] = true
			case !x.ask.Valid() || x.ask.Operation == "" || x.ask.Header == nil:
			case x.answered():
				for _, law := range x.ask.Exercised {
					carried[law] = true
					e := x.ask
					e.Requirement = law
					p.Judge(e, true, "")
				}
			case known.doubtful(x.ask) || x.busy:
			case x.brokenOff() && x.asksForAnswer():
				x.closed.Requirement = x.ask.Requirement
				p.Judge(x.closed, false, "this request is valid, and its answer broke off: %v", x.closed.Err)
			case x.inBand || x.status/100 == 4 && !stateful(x.status): // a failure (5xx) is no refusal
				refused = append(refused, x)
			}
		}
		over := func() {
			for _, x := range refused {
				blamed := slices.DeleteFunc(slices.Clone(x.ask.Exercised), func(law string) bool { return carried[law] })
				if len(blamed) == 0 && x.ask.Requirement != "" && !probed[x.ask.Operation] {
					blamed = []string{x.ask.Requirement}
				}
				for _, law := range blamed {
					e := x.ask
					e.Requirement = law
					p.Judge(e, false, "this request is valid, and %v; expected a success", x)
				}
			}
		}
		return deal, over
	}),
}
