// Package rules is the protocol, one rule to a value. It imports spec and nothing
// else, so no rule can ask which dialect it is looking at.
package rules

import (
	"errors"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// All lists every rule, in reading order. To add one: write it in the file of its
// section, name it here, name it in the requirements that demand it, and give it a
// transcript that provokes each of its complaints.
var All = slices.Concat(wireChecks, lifecycleChecks, messageChecks, contentChecks, toolChecks, sequenceChecks, echoChecks, refusalChecks, accessChecks, resumeChecks, concurrencyChecks, acceptedRunChecks, historyContentChecks, historyPageChecks, attachmentChecks, errorChecks, scriptChecks)

// ByID finds a rule.
func ByID(id string) (*spec.Check, bool) {
	i := slices.IndexFunc(All, func(c *spec.Check) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	return All[i], true
}

// A watchFunc is what a check does with one conversation.
type watchFunc = func(*spec.Pass) func(spec.Event)

// eachStream lets a rule about one stream hear each telling of a run as if it were
// the only thing that happened: a stream asked for from its start, with a request
// that has no fault, or none that has to be refused. What comes after a cursor is the
// business of the rules of resuming, what any other broken request brought that of the
// rules of refusing. That the
// client left does not end a telling: the rule hears of the end only if it was the
// server's.
func eachStream(w func(p *spec.Pass, request spec.Event) func(spec.Event)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		var request spec.Event
		var observe func(spec.Event)
		prompts := map[string]string{} // run → what it was asked, where another request tells it
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				if request, observe = e, nil; e.Text != "" && e.Run != "" {
					prompts[runKey(e)] = e.Text
				} else if e.Text == "" {
					request.Text = prompts[runKey(e)]
				}
			case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 && request.Cursor == "" && request.MayBeAccepted():
				observe = w(p, request)
			case observe == nil || errors.Is(e.Err, spec.ErrClientLeft):
			case e.IsFrame() || e.Kind == spec.BodyEnd || e.Kind == spec.Comment || e.Kind == spec.Incomplete:
				observe(e)
			}
		}
	}
}

// isCleanEnd says that a stream ended the way HTTP wants streams to end.
func isCleanEnd(closed spec.Event) bool { return closed.Kind == spec.BodyEnd && closed.Err == nil }

// isBrokenTransfer says that the server, or the network, broke the transfer off.
func isBrokenTransfer(closed spec.Event) bool {
	return errors.Is(closed.Err, spec.ErrTruncated) || errors.Is(closed.Err, spec.ErrReset)
}

// isTerminal says that an event ends its run.
func isTerminal(e spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.RunRefused
}

// isStateDependentStatus says that a status speaks of who asks, or of the state of things, and
// not of the request itself: whoever sent a request without fault may get it.
func isStateDependentStatus(status int) bool {
	return slices.Contains([]int{401, 403, 404, 409, 410, 429, 503}, status)
}

// runKey tells the runs of a conversation apart.
func runKey(e spec.Event) string { return e.Thread + "\x00" + e.Run }

// walkParts is an event and everything that stands inside it, outermost first.
func walkParts(e spec.Event, visit func(spec.Event)) {
	visit(e)
	for _, part := range e.Parts {
		walkParts(inheritContext(part, e), visit)
	}
}

// inheritContext is a part with what it has of the event that it stands in: its evidence, and
// its message.
func inheritContext(part, e spec.Event) spec.Event {
	if part.Message == "" {
		part.Message = e.Message
	}
	part.Exchange, part.Frame, part.Line, part.Offset, part.Raw, part.At = e.Exchange, e.Frame, e.Line, e.Offset, e.Raw, e.At
	return part
}
