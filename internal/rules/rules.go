// Package rules holds the checks of all protocols, each a [spec.Check]. It imports only package
// spec, so no check can depend on the dialect to which the check is applied.
package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// All lists every check, in the order of the documentation. A new check must be in the list of its
// file, which All includes. Its requirements must name it, and a transcript in testdata must
// provoke each of its messages.
var All = slices.Concat(
	wireChecks, wireLineChecks, lifecycleChecks, messageChecks, inTurnChecks, chunkChecks, stateChecks, snapshotChecks,
	contentChecks, toolChecks, toolResultChecks, continueChecks, sequenceChecks, echoChecks, refusalChecks,
	refusalFormChecks, accessChecks, resumeChecks, concurrencyChecks, acceptedRunChecks, historyContentChecks,
	historyPageChecks, historyUnsentChecks, attachmentChecks, errorChecks, scriptChecks, clientChecks,
)

// About returns the checks that judge the given party, in the order of All.
func About(party spec.Party) []*spec.Check {
	return slices.DeleteFunc(slices.Clone(All), func(c *spec.Check) bool { return c.Of != party })
}

// ByID returns the check with the given id and true, or nil and false if there is none.
func ByID(id string) (*spec.Check, bool) {
	i := slices.IndexFunc(All, func(c *spec.Check) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	return All[i], true
}

// A watchFunc is the Watch function of a check: called once per conversation, it returns the
// function that observes the events, as documented at [spec.Check].
type watchFunc = func(*spec.Pass) func(spec.Event)

// An eventName is the name of an event in the messages of findings. It has a type of its own so
// that the name is formatted only if the message is needed.
type eventName struct {
	text   string // as returned by [spec.Event.DisplayName]
	onWire bool
}

// displayName returns the name of e for the message of a finding.
func displayName(e spec.Event) eventName { return eventName{e.DisplayName(), e.WireName != ""} }

// kindName returns the name on the wire of events of kind k in the response to a request. If such
// events have no name, kindName returns words, a description such as "the start of the run".
func kindName(request spec.Event, k spec.Kind, words string) eventName {
	return eventName{request.KindName(k, words), request.Facts().WireNames[k] != ""}
}

// String returns the name for use in a sentence, such as event "RUN_FINISHED" or event response
// (status completed). A description is unchanged.
func (n eventName) String() string {
	if n.onWire {
		return "event " + n.quoted()
	}
	return n.text
}

// quoted returns, in quotes, a name that is literally on the wire. A description, or a name that
// was composed from several members, is returned unchanged.
func (n eventName) quoted() string {
	if n.onWire && !strings.HasSuffix(n.text, ")") {
		return strconv.Quote(n.text)
	}
	return n.text
}

// isTransferred reports whether an event is the end of a body that was transferred completely.
func isTransferred(closed spec.Event) bool { return closed.Kind == spec.BodyEnd && closed.Err == nil }

// isCleanEnd reports whether an event is the end of a body that was transferred completely, or that
// the client stopped reading after the end of its run. Such a body has all of the run, but says
// nothing about the end of the body.
func isCleanEnd(closed spec.Event) bool {
	over := errors.Is(closed.Err, spec.ErrLeftAfterEnd) || errors.Is(closed.Err, spec.ErrStillOpen)
	return closed.Kind == spec.BodyEnd && (closed.Err == nil || over)
}

// isAbandoned reports whether the client stopped reading before the end of the run, or of the body
// if it is not a stream.
func isAbandoned(e spec.Event) bool {
	return errors.Is(e.Err, spec.ErrClientLeft) && !errors.Is(e.Err, spec.ErrLeftAfterEnd)
}

// isBrokenTransfer reports whether an event is the end of a body whose transfer the server or the
// network cut off.
func isBrokenTransfer(closed spec.Event) bool {
	return errors.Is(closed.Err, spec.ErrTruncated) || errors.Is(closed.Err, spec.ErrReset)
}

// isTerminal reports whether an event ends its run: finished, failed, canceled or refused.
func isTerminal(e spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.RunRefused
}

// isStateDependentStatus reports whether a status may depend on the caller's identity or on
// the state of the server, so that even a valid request may get it.
func isStateDependentStatus(status int) bool {
	return slices.Contains([]int{401, 403, 404, 409, 410, 429, 503}, status)
}

// runKey returns a map key for the run that an event names, made of its thread id and run id.
func runKey(e spec.Event) string { return e.Thread + "\x00" + e.Run }

// walkParts calls visit with e and then, recursively, with each of its parts. The parts are
// completed by inheritContext.
func walkParts(e spec.Event, visit func(spec.Event)) {
	visit(e)
	for _, part := range e.Parts {
		walkParts(inheritContext(part, e), visit)
	}
}

// inheritContext returns a copy of part, which is one of the parts of e, with the position, bytes
// and time of e, so that the copy can serve as evidence. If part names no message, the copy has the
// message id of e.
func inheritContext(part, e spec.Event) spec.Event {
	if part.Message == "" {
		part.Message = e.Message
	}
	part.Exchange, part.Frame, part.Line, part.Offset = e.Exchange, e.Frame, e.Line, e.Offset
	part.Raw, part.At = e.Raw, e.At
	return part
}
