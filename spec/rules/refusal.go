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

var refusalChecks = []*spec.Check{RefusesAsDocumented, AcceptsAsDocumented}

// A exchange is one request and how it was answered.
type exchange struct {
	request        spec.Event
	status         int
	mediaType      string
	code           string
	body           []byte
	reply          spec.Event // what the body means, if it is no stream
	refusedInBand  bool       // by a frame that refuses
	runEnded       bool       // a frame ended the run
	streamDone     bool       // a frame ended the stream
	runFailed      bool       // and said that it had failed
	threadBusy     bool       // a run of its conversation may have been going on
	waitsForClient bool       // a frame asks the client for something: a resume, or a tool's result
	bodyEnd        spec.Event // the end of the body
	err            error      // why there is no status
}

func (x exchange) isAccepted() bool { return x.status/100 == 2 && !x.refusedInBand }

// isComplete reports whether the request was accepted, and its answer came whole, or as much
// of it as the client waited for.
func (x exchange) isComplete() bool { return x.isAccepted() && !x.isCutOff() }

// isCutOff reports whether an answer began and was not transferred to its end, nor to the
// frame that ends its run or its stream.
func (x exchange) isCutOff() bool {
	return x.status != 0 && !x.runEnded && !x.streamDone && (isBrokenTransfer(x.bodyEnd) || errors.Is(x.bodyEnd.Err, spec.ErrNotHTTP))
}

// String tells how the request was answered.
func (x exchange) String() string {
	switch {
	case x.refusedInBand:
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

// requiresCompleteBody reports whether a request is one of our prompts and not for a failure, in
// an operation of which a requirement speaks and where no event tells the end of a stream.
// How any other run ends is the agent's affair: to break the transfer off may be how it
// shows that it failed.
func (x exchange) requiresCompleteBody() bool {
	prompt, _ := x.request.Prompt()
	return strings.HasPrefix(prompt, "conformance:") && !isFailurePrompt(prompt) && x.request.Requirement != "" && x.request.IsStream() && !x.request.Promised.HasEndEvent
}

// satisfies says whether an answer is the refusal that is demanded.
func (x exchange) satisfies(d spec.RefusalRequirement) bool {
	if x.refusedInBand {
		return d.InBand
	}
	if len(d.Status) > 0 && !slices.ContainsFunc(d.Status, func(want string) bool { return matchesStatus(want, x.status) }) {
		return false
	}
	if x.status < 400 || d.Plain && x.mediaType == spec.EventStream {
		return false
	}
	return (len(d.Code) == 0 || slices.Contains(d.Code, x.code)) && (d.Text == "" || bodyContains(x.body, d.Text))
}

// bodyContains looks for a text in a body, and in the strings that stand there as JSON, which may
// be spelled with escapes.
func bodyContains(body []byte, text string) bool {
	if bytes.Contains(body, []byte(text)) {
		return true
	}
	var v any
	return json.Unmarshal(body, &v) == nil && valueContains(v, text)
}

func valueContains(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return valueContains(v, text) })
	case map[string]any:
		for _, v := range v {
			if valueContains(v, text) {
				return true
			}
		}
	}
	return false
}

func matchesStatus(want string, status int) bool {
	if class, ok := strings.CutSuffix(strings.ToUpper(want), "XX"); ok {
		return class == strconv.Itoa(status/100)
	}
	return want == strconv.Itoa(status)
}

// DescribeRefusal says what a demand wants.
func DescribeRefusal(d spec.RefusalRequirement) string {
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

// eachExchange lets a rule see each request with its answer, and the end of the
// conversation.
func eachExchange(w func(p *spec.Pass) (onExchange func(exchange), onEnd func())) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		onExchange, onEnd := w(p)
		var x exchange
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				x = exchange{request: e}
			case e.Kind == spec.HTTPResponse:
				x.status, x.mediaType, x.err = e.StatusCode, e.MediaType, e.Err
			case e.Kind == spec.RunRefused:
				x.refusedInBand = true
			case e.IsFrame():
				x.observeFrame(e)
			case e.Kind == spec.BodyEnd:
				x.bodyEnd = e
				if x.status != 0 || !errors.Is(e.Err, spec.ErrClientLeft) { // else nobody waited for the answer
					onExchange(x)
				}
			case e.Kind == "":
				onEnd()
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
	Watch: eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		operations := map[string]*operationState{}
		uploads, running := newKnownUploads(), openRuns{}
		onExchange := func(x exchange) {
			uploads.record(x.request, x.reply)
			x.threadBusy = running.mayRefuse(x.request)
			running.record(x)
			if x.request.Valid() && (x.request.Operation == "" || uploads.isUnverifiable(x.request) || x.threadBusy && !x.isAccepted()) {
				return
			}
			d := operations[x.request.Operation]
			if d == nil {
				d = &operationState{acceptedThreads: map[string]bool{}}
				operations[x.request.Operation] = d
			}
			d.observe(p, x)
		}
		return onExchange, func() {}
	}),
}

// A operationState is where one operation's requests are dealt with.
type operationState struct {
	hasAccepted     bool            // some request without fault
	acceptedThreads map[string]bool // for these threads
	lastValid       *exchange
	pending         []func() // judgements that count if a request without fault is accepted
}

func (d *operationState) observe(p *spec.Pass, x exchange) {
	if x.request.Valid() {
		d.lastValid = &x
		d.acceptedThreads[x.request.Thread] = d.acceptedThreads[x.request.Thread] || x.isComplete()
		if x.isComplete() && !d.hasAccepted {
			d.hasAccepted = true
			for _, judge := range d.pending {
				judge()
			}
			d.pending = nil
		}
		return
	}
	switch {
	case isRequestIndependentStatus(x.status) || x.status == 409 && x.threadBusy || x.status == 0 && len(x.request.Raw) > largeRequestBytes: // what the answer is about nobody can tell
		return
	case len(x.request.Violations) > 1:
		d.judgeCombined(p, x)
		return
	}
	violation := x.request.Violations[0]
	for _, refusal := range violation.Refusals {
		request := x.request
		request.Requirement = refusal.Requirement
		if d.refusedLastValid(x) {
			evidence := d.lastValid.request
			evidence.Requirement = refusal.Requirement
			p.Judge(evidence, false, "this request is valid, and %v; expected a success (invalid would be: %v)", *d.lastValid, violation)
			return
		}
		judge := func() {
			p.Judge(request, x.satisfies(refusal), "invalid request (%v): %v; expected %s", violation, x, DescribeRefusal(refusal))
		}
		d.judgeOrDefer(x, x.satisfies(refusal), judge)
	}
}

// judgeOrDefer judges where the answer counts, or lets it wait until it does.
func (d *operationState) judgeOrDefer(x exchange, satisfied bool, judgeOrDefer func()) {
	switch {
	case satisfied && !d.hasAccepted:
		d.pending = append(d.pending, judgeOrDefer)
	case satisfied || !isStateDependentStatus(x.status) || d.acceptedThreads[x.request.Thread]:
		judgeOrDefer()
	}
}

// judgeCombined judges the answer to a request with several faults: it has to be right for one
// of them, whichever the server saw first. What is wrong with it counts against the
// fault that it comes closest to.
func (d *operationState) judgeCombined(p *spec.Pass, x exchange) {
	evidence, satisfied, least := x.request, false, spec.Error
	for _, violation := range x.request.Violations {
		if len(violation.Refusals) == 0 {
			return // nobody says how this one is refused
		}
		worst, requirement := spec.Silent, violation.Refusals[0].Requirement
		for _, refusal := range violation.Refusals {
			if cost := refusal.Level.FailureVerdict(); !x.satisfies(refusal) && cost > worst {
				worst, requirement = cost, refusal.Requirement
			}
		}
		if worst < least {
			least, satisfied, evidence.Requirement = worst, worst == spec.Silent, requirement
		}
	}
	if d.refusedLastValid(x) {
		return // of that, each fault alone tells
	}
	d.judgeOrDefer(x, satisfied, func() {
		p.Judge(evidence, satisfied, "invalid request (%s): %v, which neither fault explains; expected %s", joinViolations(x.request.Violations), x, describeRefusals(x.request.Violations))
	})
}

// joinViolations tells several faults of one request.
func joinViolations(violations []spec.Violation) string {
	texts := make([]string, 0, len(violations))
	for _, b := range violations {
		texts = append(texts, b.String())
	}
	return strings.Join(texts, ", and ")
}

// describeRefusals says which refusals are right for one of several faults.
func describeRefusals(violations []spec.Violation) string {
	var all []string
	for _, b := range violations {
		for _, refusal := range b.Refusals {
			if want := DescribeRefusal(refusal); !slices.Contains(all, want) {
				all = append(all, want)
			}
		}
	}
	return strings.Join(all, ", or ")
}

// largeRequestBytes is how large a request is, in bytes, of which a server need not wait for the end:
// it may answer and hang up, and the answer be lost with what it has not read.
const largeRequestBytes = 1 << 20

// isRequestIndependentStatus says that whoever answers with this status need not have looked at the
// request.
func isRequestIndependentStatus(status int) bool {
	return status == 401 || status == 429 || status == 503
}

// refusedLastValid says that the request without fault that goes with x was refused.
func (d *operationState) refusedLastValid(x exchange) bool {
	return d.hasAccepted && d.lastValid != nil && !d.lastValid.isAccepted() && !isStateDependentStatus(d.lastValid.status) && d.lastValid.status >= 400 && x.request.Operation == d.lastValid.request.Operation
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
	Watch: eachExchange(func(p *spec.Pass) (func(exchange), func()) {
		exercised := map[string]bool{}
		probed := map[string]bool{}
		uploads, running := newKnownUploads(), openRuns{}
		var refused []exchange
		onExchange := func(x exchange) {
			uploads.record(x.request, x.reply)
			x.threadBusy = running.mayRefuse(x.request)
			running.record(x)
			switch {
			case len(x.request.Violations) > 0 && len(x.request.Violations[0].Refusals) > 0:
				probed[x.request.Operation] = true
			case !x.request.Valid() || x.request.Operation == "" || x.request.Header == nil:
			case x.isComplete():
				for _, requirement := range x.request.Exercised {
					exercised[requirement] = true
					e := x.request
					e.Requirement = requirement
					p.Judge(e, true, "")
				}
			case uploads.isUnverifiable(x.request) || x.threadBusy:
			case x.isCutOff() && x.requiresCompleteBody():
				x.bodyEnd.Requirement = x.request.Requirement
				p.Judge(x.bodyEnd, false, "this request is valid, and its answer broke off: %v", x.bodyEnd.Err)
			case x.refusedInBand || x.status/100 == 4 && !isStateDependentStatus(x.status): // a failure (5xx) is no refusal
				refused = append(refused, x)
			}
		}
		onEnd := func() {
			for _, x := range refused {
				blamed := slices.DeleteFunc(slices.Clone(x.request.Exercised), func(requirement string) bool { return exercised[requirement] })
				if len(blamed) == 0 && x.request.Requirement != "" && !probed[x.request.Operation] {
					blamed = []string{x.request.Requirement}
				}
				for _, requirement := range blamed {
					e := x.request
					e.Requirement = requirement
					p.Judge(e, false, "this request is valid, and %v; expected a success", x)
				}
			}
		}
		return onExchange, onEnd
	}),
}
