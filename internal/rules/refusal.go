package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var refusalChecks = []*spec.Check{RefusesAsDocumented, AcceptsAsDocumented}

// An exchange is one request and its response.
//
// A finding about a refusal, or about a missing refusal, has the request as its evidence, and not
// the head of the response. The request determines how the response is judged: it has the
// violations, the exercised requirements and the principal.
type exchange struct {
	request        spec.Event
	response       spec.Event // the head of the response; its status is 0 if there was none
	reply          spec.Event // the decoded body, if it is not a stream
	firstBodyEvent spec.Event // the first event after the head
	bodyEnd        spec.Event // the event for the end of the body
	refusedInBand  bool       // the response has a run.refused event, and no run.end event after it
	runEnded       bool       // the stream has a terminal event
	streamDone     bool       // the stream has its in-band terminator, such as "[DONE]"
	runFailed      bool       // the stream reports that the run failed
	hasContent     bool       // the stream has events about something other than the run itself
	runRejected    bool       // the stream reports that the run was rejected, or that it failed without any content
	threadBusy     bool       // another run of the thread may be active; see [openRuns.mayRefuse]
	unaskedAnswer  bool       // the request answers an unknown call or interrupt ([answerableItems.isAnsweredUnasked])
	unverifiable   bool       // only the server can know whether the request is valid; true if unaskedAnswer is
	waitsForClient bool       // the stream waits for a resume, or for the result of a client tool
	runKnown       bool       // the server accepted an earlier request to start a run with the same id
	isFirstRead    bool       // the request is the first for the stream of a new run; see [exchangeTracker.isFirstRead]
	acceptedBefore bool       // a request with the same key was accepted before; see [runOperationOf]
	knownUser      bool       // the operation accepted an earlier request of the same user; only in test runs
	isOwn          bool       // the request names a thread and a run of the user; see [exchangeTracker.isOwn]
	runActive      bool       // the run that the request names was active; see [exchangeTracker.isActiveDuring]
	// idle is how long the thread had been idle when the request was sent: the time since the end
	// of the last response to a request of the same user that was accepted in the thread. It is 0
	// if there was none, and in recordings without times.
	idle time.Duration
}

// status returns the status of the response, or 0 if there was none.
func (x exchange) status() int { return x.response.StatusCode }

// isAccepted reports whether the server accepted the request, that is, whether the status is 2xx
// and the stream, if there is one, has no refusal event.
func (x exchange) isAccepted() bool { return x.status()/100 == 2 && !x.refusedInBand }

// isCancel reports whether the request asks to cancel a run.
func (x exchange) isCancel() bool { return x.request.Facts().Reply == spec.CancelAccepted }

// isComplete reports whether the server accepted the request and the transfer of the response was
// not cut off; see isCutOff. A body that the client stopped reading counts as complete.
func (x exchange) isComplete() bool { return x.isAccepted() && !x.isCutOff() }

// isCutOff reports whether the transfer of the response was cut off before the stream had a
// terminal event or an in-band terminator such as "[DONE]". It returns false if there was no
// response.
func (x exchange) isCutOff() bool {
	failed := isBrokenTransfer(x.bodyEnd) || errors.Is(x.bodyEnd.Err, spec.ErrNotHTTP)
	return x.status() != 0 && !x.runEnded && !x.streamDone && failed
}

// String returns a description of the response for a finding, such as "got status 422 BAD_INPUT".
// The description of an error contains the beginning of its message, if it has one. If there was no
// response, String returns the reason, such as "got no response in time".
func (x exchange) String() string {
	switch {
	case x.refusedInBand || x.runRejected:
		return fmt.Sprintf("got status %d with an event stream that reports an error", x.status())
	case x.status() >= 400 && x.response.IsStream():
		return fmt.Sprintf("got status %d with an event stream", x.status())
	case x.status() != 0:
		text := strings.TrimSpace(fmt.Sprintf("got status %d %.60s", x.status(), x.reply.Code))
		if x.status() >= 400 && x.reply.Text != "" {
			message := x.reply.Text
			_ = json.Unmarshal([]byte(x.reply.Text), &message) // in some dialects, the text is a JSON string
			text += fmt.Sprintf(" (%.80q)", message)
		}
		return text
	case errors.Is(x.response.Err, spec.ErrIdleTimeout) || errors.Is(x.response.Err, spec.ErrLimitExceeded):
		return "got no response in time"
	case errors.Is(x.response.Err, spec.ErrReset):
		return "server reset the connection without a response"
	case errors.Is(x.response.Err, spec.ErrNotHTTP):
		return "response is not HTTP"
	}
	return "server closed the connection without a response"
}

// requiresCompleteBody reports whether a response that is cut off certainly violates a requirement
// on the operation. In general, an agent may cut off the transfer to report a failure. The result
// is true if the protocol has no terminal event, the request asks for a stream with a test prompt
// that does not ask for a failure, and the OpenAPI document assigns a requirement to the operation.
// Otherwise, it is false.
func (x exchange) requiresCompleteBody() bool {
	prompt, _ := x.request.Prompt()
	isTestPrompt := strings.HasPrefix(prompt, "conformance:") && !IsFailurePrompt(prompt)
	return isTestPrompt && x.request.Requirement != "" && x.request.IsStream() && !x.request.Facts().Promised.HasEndEvent
}

// satisfies reports whether the response meets the requirement d. Usually, it must be an error
// response with one of the required statuses and error codes, and with the required text. If
// d.Plain is true, it must not be an event stream.
//
// If d.InBand is true, an event stream that refuses the request satisfies d as well: it has a
// refusal event, a terminal event with the status "rejected", or an event that reports a failure
// before any content. If d.Accept is true, any 2xx response without a refusal event satisfies d.
func (x exchange) satisfies(d spec.RefusalRequirement) bool {
	if x.refusedInBand || x.runRejected && d.InBand {
		return d.InBand
	}
	if d.Accept && x.status()/100 == 2 {
		return true
	}
	fits := func(want string) bool { return matchesStatus(want, x.status()) }
	if len(d.Status) > 0 && !slices.ContainsFunc(d.Status, fits) {
		return false
	}
	if x.status() < 400 || d.Plain && x.response.IsStream() {
		return false
	}
	return (len(d.Code) == 0 || slices.Contains(d.Code, x.reply.Code)) &&
		(d.Text == "" || bodyContains(x.reply.Raw, d.Text))
}

// mayBeRefusedInBand reports whether the document lets the stream refuse the invalid request.
func (x exchange) mayBeRefusedInBand() bool {
	return slices.ContainsFunc(x.request.Violations, func(v spec.Violation) bool {
		return slices.ContainsFunc(v.Refusals, func(d spec.RefusalRequirement) bool { return d.InBand })
	})
}

// bodyContains reports whether body contains text. If body is JSON, it also returns true if one of
// the decoded strings in body contains text.
func bodyContains(body []byte, text string) bool {
	if bytes.Contains(body, []byte(text)) {
		return true
	}
	var v any
	return json.Unmarshal(body, &v) == nil &&
		hasStringLike(v, func(s string) bool { return strings.Contains(s, text) })
}

// matchesStatus reports whether status matches want, which is a status code such as "422" or a
// class of status codes such as "4XX".
func matchesStatus(want string, status int) bool {
	if class, ok := strings.CutSuffix(strings.ToUpper(want), "XX"); ok {
		return class == strconv.Itoa(status/100)
	}
	return want == strconv.Itoa(status)
}

// namedStatuses returns the given status codes and classes of status codes, such as "422" and
// "4XX", for the message of a finding. If a code such as "422" precedes its class, the class is
// written as "another 4XX".
func namedStatuses(statuses []string) (names []string) {
	for i, status := range statuses {
		isInClass := func(code string) bool { return strings.HasSuffix(status, "XX") && code[:1] == status[:1] }
		if slices.ContainsFunc(statuses[:i], isInClass) {
			status = "another " + status
		}
		names = append(names, status)
	}
	return names
}

// DescribeRefusal returns a description of the refusal that d requires, for the message of a
// finding, such as "status 422 or 400, code BAD_INPUT".
func DescribeRefusal(d spec.RefusalRequirement) string {
	want := []string{}
	if len(d.Status) > 0 {
		want = append(want, "status "+strings.Join(namedStatuses(d.Status), " or "))
	}
	if len(d.Code) > 0 {
		want = append(want, "code "+strings.Join(d.Code, " or "))
	}
	if d.Text != "" {
		want = append(want, fmt.Sprintf("the text %q", d.Text))
	}
	switch {
	case d.Plain:
		want = append(want, "an error response that is not an event stream")
	case len(want) == 0:
		want = append(want, "status 4XX or 5XX")
	}
	if d.InBand {
		want = append(want, "or an event stream that reports the error")
	}
	if d.Accept {
		want = append(want, "or a success")
	}
	return strings.Join(want, ", ")
}

// RefusesAsDocumented judges whether invalid requests are refused as the OpenAPI document of the
// protocol requires, for example with certain statuses and error codes.
var RefusesAsDocumented = &spec.Check{
	ID: "refuse.as-documented", ReadsDocument: true,
	Doc: `an invalid request is refused as documented

A server that refuses everything would pass by accident. A refusal therefore counts only if the server
accepted a valid request for the same operation, and if it did not refuse the last valid request
before the invalid one. If a request violates several constraints, the refusal must be right for one
of them.

Responses that may have nothing to do with the violation are not judged: the statuses 401, 429 and
503, the status 409 while another run of the thread is active, and a missing response to a request
of more than one MiB or to a request that the client gave up. Nor is a stream without content that the
client left, if the document lets the stream report the refusal. A wrong refusal with status 403, 404,
409 or 410 counts only if the server accepted a valid request for the same thread before.`,
	Watch: eachExchange(func(p *spec.Pass) func(exchange) {
		operations := map[string]*operationResponses{}
		return func(x exchange) {
			unverifiable := x.unverifiable || x.threadBusy && !x.isAccepted()
			if x.request.Valid() && (x.request.Operation == "" || unverifiable) {
				return
			}
			d := operations[x.request.Operation]
			if d == nil {
				d = &operationResponses{acceptedThreads: map[string]bool{}}
				operations[x.request.Operation] = d
			}
			d.observe(p, x)
		}
	}),
}

// An operationResponses records how the server has responded to the requests for one operation. It
// also keeps judgements that depend on later requests.
type operationResponses struct {
	hasAccepted     bool            // a valid request was accepted
	acceptedThreads map[string]bool // the threads of accepted valid requests
	lastValid       *exchange       // the last exchange whose request was valid; nil if there was none
	pending         []func()        // record judgements that count only after a valid request has been accepted
}

// observe updates d with x, the next exchange of the operation. If the request of x is invalid,
// observe judges the response. It does not judge a response that may have another cause than the
// violation, such as status 429; see also judgeOrDefer.
func (d *operationResponses) observe(p *spec.Pass, x exchange) {
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
	unrelated := isRequestIndependentStatus(x.status()) || x.status() == 409 && x.threadBusy ||
		x.status() == 0 && (len(x.request.Raw) > largeRequestBytes || isAbandoned(x.bodyEnd)) ||
		isAbandoned(x.bodyEnd) && !x.hasContent && x.mayBeRefusedInBand()
	switch {
	case unrelated:
		return
	case len(x.request.Violations) > 1:
		d.judgeCombined(p, x)
		return
	}
	if d.refusedLastValid(x) {
		return // judged by accept.as-documented
	}
	violation := x.request.Violations[0]
	for _, refusal := range violation.Refusals {
		request := x.request
		request.Requirement = refusal.Requirement
		judge := func() {
			p.Judge(request, x.satisfies(refusal), "invalid request (%v): %v; expected %s",
				violation, x, DescribeRefusal(refusal))
		}
		d.judgeOrDefer(x, x.satisfies(refusal), judge)
	}
}

// judgeOrDefer calls judge, which must record a judgement on the response of x, as soon as that
// judgement counts. The argument satisfied reports whether the response is the required refusal.
//
// A required refusal counts only after the operation has accepted a valid request; until then,
// judge is added to d.pending. Any other response counts immediately or not at all: if its status
// depends on the state of the server, such as 404, it counts only if a valid request for the same
// thread was accepted before.
func (d *operationResponses) judgeOrDefer(x exchange, satisfied bool, judge func()) {
	switch {
	case satisfied && !d.hasAccepted:
		d.pending = append(d.pending, judge)
	case satisfied || !isStateDependentStatus(x.status()) || d.acceptedThreads[x.request.Thread]:
		judge()
	}
}

// judgeCombined judges the response to a request with several violations. The response must be the
// right refusal for at least one of them. If it is right for none, the finding counts against the
// requirement for which a failure has the least severe verdict. If the OpenAPI document does not
// specify the refusal for one of the violations, judgeCombined judges nothing.
func (d *operationResponses) judgeCombined(p *spec.Pass, x exchange) {
	evidence, satisfied, least := x.request, false, spec.Error
	for _, violation := range x.request.Violations {
		if len(violation.Refusals) == 0 {
			return // the document does not specify this refusal
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
		return // reported for the requests with one violation
	}
	d.judgeOrDefer(x, satisfied, func() {
		p.Judge(evidence, satisfied, "invalid request (%s): %v, which is right for none of these faults; expected %s",
			joinViolations(x.request.Violations), x, describeRefusals(x.request.Violations))
	})
}

// joinViolations returns the descriptions of the violations of one request, joined by ", and ".
func joinViolations(violations []spec.Violation) string {
	texts := make([]string, 0, len(violations))
	for _, b := range violations {
		texts = append(texts, b.String())
	}
	return strings.Join(texts, ", and ")
}

// describeRefusals returns the descriptions of all refusals that the violations require, joined by
// ", or " and without duplicates.
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

// largeRequestBytes is the size in bytes above which a request without a response is not judged. A
// server may respond and close the connection before it has read all of a large request. The client
// then often loses the response.
const largeRequestBytes = 1 << 20

// isRequestIndependentStatus reports whether status is one that a server may return before it has
// read the request: 401, 429 or 503.
func isRequestIndependentStatus(status int) bool {
	return status == 401 || status == 429 || status == 503
}

// isExcused reports whether the server may return the status of x for a valid request, because the
// status depends on the identity of the client or on the state of the server. The caller must make
// sure that the thread is not busy; see [openRuns.mayRefuse].
//
// The statuses 403, 404, 409 and 410 are not excused in these cases:
//   - The request starts or continues a run whose id is new (see exchange.runKnown), and its thread
//     has been idle: for conflictSettleTime if the status is 409, or else for any time.
//   - It is a first read; see exchange.isFirstRead.
//   - It asks neither for a run nor for a stream, a request with the same key was accepted
//     before, and its thread has been idle for conflictSettleTime. Requests that name no thread and
//     cancel requests need no idle thread. A run that was canceled before may be over or unknown,
//     so that the statuses 404, 409 and 410 are excused for another request to cancel it.
//
// Status 413 is excused for a run request of more than unlimitedBytes.
//
// A request to cancel a run that is certainly active is not excused; see
// [exchangeTracker.isActiveDuring]. Status 403 is not excused in a test run if the server accepted
// an earlier request of the same user for the same operation, and the thread and the run are the
// user's; see [exchangeTracker.isOwn].
//
// Status 401 is not excused in a test run if the server has accepted an earlier request of the same
// user for the same operation. The credentials are then valid.
func (x exchange) isExcused() bool {
	switch {
	case x.status() == 401 && x.knownUser, x.status() == 403 && x.knownUser && x.isOwn:
		return false
	case x.isCancel() && x.runActive && !isRequestIndependentStatus(x.status()):
		return false
	}
	if x.status() == 413 {
		return isRunRequest(x.request) && len(x.request.Raw) > unlimitedBytes
	}
	isJudged := false
	switch {
	case isRunRequest(x.request): // one that names a known run may be refused as a duplicate
		isJudged = !x.runKnown && (x.idle >= conflictSettleTime || x.idle > 0 && x.status() != 409)
	case x.isCancel():
		isJudged = x.acceptedBefore && x.status() == 403
	case !x.request.IsStream():
		isJudged = x.acceptedBefore && (x.request.Thread == "" || x.idle >= conflictSettleTime)
	}
	return x.hasExcusedStatus() && (!isJudged || isRequestIndependentStatus(x.status()))
}

// hasExcusedStatus reports whether the status of x depends on the identity of the client or on the
// state of the server. For a first read (see exchange.isFirstRead), the result is true only if
// isRequestIndependentStatus returns true for the status.
func (x exchange) hasExcusedStatus() bool {
	return isStateDependentStatus(x.status()) && (!x.isFirstRead || isRequestIndependentStatus(x.status()))
}

// conflictSettleTime is how long a thread may refuse the next run after the server has reported the
// end of a run.
const conflictSettleTime = 200 * time.Millisecond

// unlimitedBytes is the size in bytes up to which a server must accept the body of a run request.
// No document states a limit; servers commonly accept no more than 64 KiB, 100 KB or 1 MiB.
const unlimitedBytes = 64 << 10

// refusedLastValid reports whether the last valid request before x was refused, although the
// operation had accepted a valid request earlier. If so, the server may refuse the request of x for
// another reason than its violations. An excused refusal does not count; see [exchange.isExcused].
func (d *operationResponses) refusedLastValid(x exchange) bool {
	valid := d.lastValid
	return d.hasAccepted && valid != nil && !valid.isAccepted() && !valid.isExcused() &&
		valid.status() >= 400 && x.request.Operation == valid.request.Operation
}
