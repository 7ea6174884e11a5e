package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// OutputIsComplete judges whether the event that ends a run lists all completed messages of the
// run, in the order in which they were completed.
var OutputIsComplete = &spec.Check{
	ID: "run.output-is-complete",
	Doc: `the output of a finished run lists its completed messages in order of completion

The output may leave out messages whose final status, such as failed, differs from that of the run.
It may also have entries that are not messages of the answer, such as heartbeats.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: eachRunSummary(func(p *spec.Pass, e spec.Event, completed []completedMessage, listed []spec.Event) {
		optional := map[string]bool{}
		for _, c := range completed {
			optional[c.id] = c.status != "" && e.Status != "" && c.status != e.Status
		}
		var want, got []string
		for _, c := range completed {
			if !optional[c.id] {
				want = append(want, c.id)
			}
		}
		for _, l := range listed {
			if !optional[l.Message] && isMessageStatus(l) {
				got = append(got, l.Message)
			}
		}
		// A message that is completed twice, which another check reports, may be listed once.
		if slices.Equal(want, got) || slices.Equal(uniqueIDs(want), got) {
			p.Judge(e, true, "")
		} else {
			p.Judge(e, false, "output %s; expected exactly the messages completed in this run, in order of completion",
				compareMessageIDs(got, want))
		}
	}),
}

// uniqueIDs returns ids without repetitions, in the order of first appearance.
func uniqueIDs(ids []string) (unique []string) {
	seen := map[string]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			unique = append(unique, id)
		}
	}
	return unique
}

// compareMessageIDs describes how the message ids in the output of a run differ from the ids of the
// completed messages. The caller must make sure that the two lists differ. The result is used after
// the word "output" in the message of a finding, for example "lists no messages, but 1 message was
// completed".
func compareMessageIDs(listed, completed []string) string {
	if slices.Equal(slices.Sorted(slices.Values(listed)), slices.Sorted(slices.Values(completed))) {
		return fmt.Sprintf("lists the messages in the order %s, but they were completed in the order %s",
			describeMessageIDs(listed), describeMessageIDs(completed))
	}
	text := "lists " + pluralize(len(listed), "message")
	if len(listed) > 0 {
		text += " (" + describeMessageIDs(listed) + ")"
	}
	were := "were"
	if len(completed) == 1 {
		were = "was"
	}
	text += fmt.Sprintf(", but %s %s completed", pluralize(len(completed), "message"), were)
	if len(completed) > 0 {
		text += ": " + describeMessageIDs(completed)
	}
	return text
}

// OutputMatches judges whether the messages in the output of a finished run equal the streamed
// ones.
var OutputMatches = &spec.Check{
	ID: "run.output-matches",
	Doc: `the messages in the output of a finished run equal the streamed ones

Members that only one of the two has are not compared.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: eachRunSummary(func(p *spec.Pass, e spec.Event, completed []completedMessage, listed []spec.Event) {
		byID := map[string][]completedMessage{}
		for _, c := range completed {
			if c.id != "" && len(byID[c.id]) < maxCompletions {
				byID[c.id] = append(byID[c.id], c)
			}
		}
		for _, l := range listed {
			for _, c := range byID[l.Message] {
				got, want := quotePairs(contentValues(l.Parts), contentValues(c.parts))
				p.Judge(e, c.agreesWith(l), "output has message %s as %s; expected %s, as it was streamed",
					c.id, describeMessage(l.Role, l.Type, got), describeMessage(c.role, c.kind, want))
				if l.Status != "" && c.status != "" {
					p.Judge(e, l.Status == c.status, "output has message %s with status %s; expected %s, as it was streamed",
						c.id, l.Status, c.status)
				}
			}
		}
	}),
}

// maxCompletions is the maximum number of completed messages with the same id that are compared
// with the output. It limits the time of the comparison if a server completes very many messages
// with the same id, which another check reports.
const maxCompletions = 4

// A completedMessage is a message that was completed in a stream. It has only the fields that are
// compared with the output of the run, because a run may have very many messages.
type completedMessage struct {
	id, status, role string
	kind             string       // the type of the message
	parts            []spec.Event // the content parts
}

// agreesWith reports whether listed, an entry in the output of the run, has the same role, type
// and content parts as the message. A value that is missing from one of the two is not compared.
func (c completedMessage) agreesWith(listed spec.Event) bool {
	either := func(x, y string) bool { return x == y || x == "" || y == "" }
	if !either(c.role, listed.Role) || !either(c.kind, listed.Type) {
		return false
	}
	return len(c.parts) == 0 || listed.Parts == nil ||
		slices.EqualFunc(contentValues(c.parts), contentValues(listed.Parts), sameValue)
}

// eachRunSummary returns a newWatcherFunc that calls judge at most once per stream, at its end. The
// argument end is the last event that reports that the run finished (run.end), and listed has the
// entries in its output. The argument completed lists the messages that were completed in the
// stream, each with its last role and type. If there are neither completed messages nor entries,
// judge is not called.
//
// Messages that are completed after the end of the run are included, because a released server may
// send the final state of the run early (agentscope-java.md:190). Other checks judge the order of
// the events.
func eachRunSummary(
	judge func(p *spec.Pass, end spec.Event, completed []completedMessage, listed []spec.Event),
) newWatcherFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var completed []completedMessage
		var end spec.Event               // the last end of the run; its Kind is "" before one was received
		opened := map[string][2]string{} // role and type
		return func(e spec.Event) {
			switch {
			case isMessageStatus(e) && e.Kind.Phase() == "end":
				start := opened[e.Message]
				completed = append(completed, completedMessage{
					id: e.Message, status: e.Status, parts: e.Parts,
					role: cmp.Or(e.Role, start[0]), kind: cmp.Or(e.Type, start[1]),
				})
			case isMessageStatus(e):
				known := opened[e.Message]
				opened[e.Message] = [2]string{cmp.Or(e.Role, known[0]), cmp.Or(e.Type, known[1])}
			case e.Kind == spec.RunEnd:
				end = e
			case e.Kind == spec.BodyEnd && end.Kind != "" && (len(end.Parts) > 0 || len(completed) > 0):
				judge(p, end, completed, end.Parts)
			}
		}
	})
}
