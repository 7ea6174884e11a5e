// Package rules defines the conformance checks of all protocols. Each check is a [spec.Check]. Of
// the packages of this module, rules imports only spec, so that no check can depend on the dialect
// to which it is applied.
package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// All lists every check, in the order in which the documentation shows them. It joins the lists
// that the files of this package declare. A new check must be added to the list of its file and
// must be named by the requirements that it judges. For each message that its findings can have,
// the directory testdata must contain a transcript that provokes that message.
var All = slices.Concat(
	wireChecks, wireLineChecks, lifecycleChecks, messageChecks, inTurnChecks, chunkChecks, stateChecks, snapshotChecks,
	contentChecks, toolChecks, toolResultChecks, continueChecks, sequenceChecks, echoChecks, refusalChecks,
	refusalFormChecks, accessChecks, resumeChecks, concurrencyChecks, acceptedRunChecks, historyContentChecks,
	historyPageChecks, historyUnsentChecks, attachmentChecks, errorChecks, scriptChecks, clientChecks,
)

// About returns a new slice of the checks that judge the given party, in the order of All.
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

// A newWatcherFunc is a function for the field Watch of a [spec.Check]. It is called once per
// conversation, with the pass in which the check records its judgements. It returns a function that
// is then called with each event of the conversation, in order.
type newWatcherFunc = func(*spec.Pass) func(spec.Event)

// judgeAtEnd returns a newWatcherFunc that calls judge once, at the end of a conversation. The
// function collect is called before the first event, and its result is the argument collected of
// judge. The result is usually shared by all checks (see [spec.Shared]), so judge must not modify
// it.
func judgeAtEnd[T any](collect func(*spec.Pass) T, judge func(p *spec.Pass, collected T)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		collected := collect(p)
		p.AtEnd(func() { judge(p, collected) })
		return func(spec.Event) {}
	}
}

// An eventLabel is the name of an event, as the message of a finding shows it. It is a separate
// type, and not a string, so that the name is formatted only if a message is needed.
type eventLabel struct {
	text   string // from [spec.Event.DisplayName] or [spec.Event.KindName], or a description
	onWire bool   // whether text is the name on the wire, and not a description
}

// isUnreadable reports whether e is a frame whose data begins like a JSON object but is not valid
// JSON or not valid UTF-8. Such a frame may stand for any event, such as the terminal one.
func isUnreadable(e spec.Event) bool {
	return e.Kind == spec.Undecodable && len(e.Flaws) > 0 && strings.HasPrefix(strings.TrimSpace(frameData(e.Raw)), "{")
}

// displayName returns the name of e for use in the message of a finding.
func displayName(e spec.Event) eventLabel { return eventLabel{e.DisplayName(), e.WireName != ""} }

// kindName returns the name that events of kind k have on the wire in the response to request. If
// such events have no name on the wire, kindName returns words, a description such as "the start of
// the run".
func kindName(request spec.Event, k spec.Kind, words string) eventLabel {
	return eventLabel{request.KindName(k, words), request.Facts().WireNames[k] != ""}
}

// String returns the label for use in a sentence. For a name on the wire, that is the word "event"
// and the result of quoted, such as
//
//	event "RUN_FINISHED"
//	event response (status completed)
//
// A description is returned unchanged.
func (n eventLabel) String() string {
	if n.onWire {
		return "event " + n.quoted()
	}
	return n.text
}

// quoted returns the name in quotation marks if it is a single value on the wire. A name composed
// of several values, such as "response (status completed)", and a description are returned
// unchanged.
func (n eventLabel) quoted() string {
	if n.onWire && !strings.HasSuffix(n.text, ")") {
		return strconv.Quote(n.text)
	}
	return n.text
}

// isCleanEnd reports whether closed is the event for the end of a body and the client received the
// whole run. Either the body was transferred completely, or the client stopped reading it after the
// run had ended. In the second case, it is unknown how the server would have ended the body.
func isCleanEnd(closed spec.Event) bool {
	over := errors.Is(closed.Err, spec.ErrLeftAfterEnd) || errors.Is(closed.Err, spec.ErrStillOpen)
	return closed.Kind == spec.BodyEnd && (closed.Err == nil || over)
}

// isAbandoned reports whether e says that the client stopped reading too early: before the end of
// the run or, if the body is not a stream, before the end of the body.
func isAbandoned(e spec.Event) bool {
	return errors.Is(e.Err, spec.ErrClientLeft) && !errors.Is(e.Err, spec.ErrLeftAfterEnd)
}

// isBrokenTransfer reports whether closed is the event for the end of a body whose transfer was cut
// off by the server or by the network.
func isBrokenTransfer(closed spec.Event) bool {
	return errors.Is(closed.Err, spec.ErrTruncated) || errors.Is(closed.Err, spec.ErrReset)
}

// isTerminal reports whether e is a terminal event: one that says that its run finished, failed,
// was canceled or was refused.
func isTerminal(e spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.RunRefused
}

// isStateDependentStatus reports whether status depends on the identity of the client or on the
// state of the server, so that a server may return it even for a valid request: 401, 403, 404, 409,
// 410, 429 or 503.
func isStateDependentStatus(status int) bool {
	return slices.Contains([]int{401, 403, 404, 409, 410, 429, 503}, status)
}

// runKey returns a map key for the run that e names. It is made of the thread id and the run id.
func runKey(e spec.Event) string { return e.Thread + "\x00" + e.Run }

// walkParts calls visit with e and then with a copy of each part of e, at any depth. The copy of a
// part comes before the copies of its own parts. The copies are made by inheritContext.
func walkParts(e spec.Event, visit func(spec.Event)) {
	visit(e)
	for _, part := range e.Parts {
		walkParts(inheritContext(part, e), visit)
	}
}

// inheritContext returns a copy of part, one of the parts of e. The copy has the position, the
// bytes and the time of e, so that it can serve as evidence for a finding. If part has no message
// id, the copy has that of e.
func inheritContext(part, e spec.Event) spec.Event {
	if part.Message == "" {
		part.Message = e.Message
	}
	part.Exchange, part.Frame, part.Line, part.Offset = e.Exchange, e.Frame, e.Line, e.Offset
	part.Raw, part.At = e.Raw, e.At
	return part
}
