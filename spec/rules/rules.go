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
var All = slices.Concat(wire, lifecycle, messages, contents, tools, sequences, echoes, refusals, admission, resumption, neighbours, acceptances, retellings, pagings, uploads, failures, scripts)

// ByID finds a rule.
func ByID(id string) (*spec.Check, bool) {
	i := slices.IndexFunc(All, func(c *spec.Check) bool { return c.ID == id })
	if i < 0 {
		return nil, false
	}
	return All[i], true
}

// A watch is what a check does with one conversation.
type watch = func(*spec.Pass) func(spec.Event)

// tellings lets a rule about one stream hear each telling of a run as if it were
// the only thing that happened: a stream asked for from its start, with a request
// that has no fault, or none that has to be refused. What comes after a cursor is the
// business of the rules of resuming, what any other broken request brought that of the
// rules of refusing. That the
// client left does not end a telling: the rule hears of the end only if it was the
// server's.
func tellings(w func(p *spec.Pass, ask spec.Event) func(spec.Event)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		var ask spec.Event
		var hear func(spec.Event)
		prompts := map[string]string{} // run → what it was asked, where another request tells it
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				if ask, hear = e, nil; e.Text != "" && e.Run != "" {
					prompts[run(e)] = e.Text
				} else if e.Text == "" {
					ask.Text = prompts[run(e)]
				}
			case e.Kind == spec.HTTPResponse && e.IsStream() && e.StatusCode/100 == 2 && ask.Cursor == "" && ask.MayBeAccepted():
				hear = w(p, ask)
			case hear == nil || errors.Is(e.Err, spec.ErrClientLeft):
			case e.IsFrame() || e.Kind == spec.BodyEnd || e.Kind == spec.Comment || e.Kind == spec.Incomplete:
				hear(e)
			}
		}
	}
}

// whole says that a stream ended the way HTTP wants streams to end.
func whole(closed spec.Event) bool { return closed.Kind == spec.BodyEnd && closed.Err == nil }

// broke says that the server, or the network, broke the transfer off.
func broke(closed spec.Event) bool {
	return errors.Is(closed.Err, spec.ErrTruncated) || errors.Is(closed.Err, spec.ErrReset)
}

// terminal says that an event ends its run.
func terminal(e spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.RunRefused
}

// stateful says that a status speaks of who asks, or of the state of things, and
// not of the request itself: whoever sent a request without fault may get it.
func stateful(status int) bool {
	return slices.Contains([]int{401, 403, 404, 409, 410, 429, 503}, status)
}

// run tells the runs of a conversation apart.
func run(e spec.Event) string { return e.Thread + "\x00" + e.Run }

// inside is an event and everything that stands inside it, outermost first.
func inside(e spec.Event, f func(spec.Event)) {
	f(e)
	for _, part := range e.Parts {
		inside(standing(part, e), f)
	}
}

// standing is a part with what it has of the event that it stands in: its evidence, and
// its message.
func standing(part, e spec.Event) spec.Event {
	if part.Message == "" {
		part.Message = e.Message
	}
	part.Exchange, part.Frame, part.Line, part.Offset, part.Raw, part.At = e.Exchange, e.Frame, e.Line, e.Offset, e.Raw, e.At
	return part
}
