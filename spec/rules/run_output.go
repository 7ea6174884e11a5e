package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// OutputIsComplete judges whether the event that ends a run lists all completed messages of the
// run.
var OutputIsComplete = &spec.Check{
	ID: "run.output-is-complete",
	Doc: `the output of a finished run lists its completed messages in order of completion

Optional are messages whose final status differs from that of the run, such as failed ones,
and entries that are not messages of the answer, such as heartbeats.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: eachRunSummary(func(p *spec.Pass, e spec.Event, completed []spec.Event, listed []spec.Event) {
		optional := map[string]bool{}
		for _, t := range completed {
			optional[t.Message] = t.Status != "" && e.Status != "" && t.Status != e.Status
		}
		requiredIDs := func(list []spec.Event) (ids []string) {
			for _, m := range list {
				if !optional[m.Message] && isMessageStatus(m) {
					ids = append(ids, m.Message)
				}
			}
			return ids
		}
		want, got := requiredIDs(completed), requiredIDs(listed)
		if slices.Equal(want, got) {
			p.Judge(e, true, "")
		} else {
			p.Judge(e, false, "output %s; expected all completed messages, in order of completion",
				compareMessageIDs(got, want))
		}
	}),
}

// compareMessageIDs returns the predicate of a message whose subject is "output": how the listed
// message ids differ from the completed ones, by their order or by their number.
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

// OutputMatches judges whether the messages that the event that ends a run lists equal the streamed
// ones.
var OutputMatches = &spec.Check{
	ID: "run.output-matches",
	Doc: `the messages in the output of a finished run equal the streamed ones

Members that only one of the two has are not compared.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: eachRunSummary(func(p *spec.Pass, e spec.Event, completed []spec.Event, listed []spec.Event) {
		byID := map[string][]spec.Event{}
		for _, t := range completed {
			if t.Message != "" && len(byID[t.Message]) < maxCompletions {
				byID[t.Message] = append(byID[t.Message], t)
			}
		}
		for _, l := range listed {
			for _, t := range byID[l.Message] {
				p.Judge(e, messagesAgree(t, l), "output has message %s as %s; expected %s, as it was streamed",
					t.Message, describeMessage(l), describeMessage(t))
			}
		}
	}),
}

// maxCompletions is the maximum number of completed messages with the same id that are compared
// with the output. Ids must be unique, so more than one is a defect that another check reports;
// without the limit, comparing many would take quadratic time.
const maxCompletions = 4

// messagesAgree reports whether two copies of a message have the same role, type and content parts.
// A member that only one of them has is ignored.
func messagesAgree(a, b spec.Event) bool {
	either := func(x, y string) bool { return x == y || x == "" || y == "" }
	if !either(a.Role, b.Role) || !either(a.Type, b.Type) {
		return false
	}
	return len(a.Parts) == 0 || len(b.Parts) == 0 ||
		slices.EqualFunc(contentValues(a.Parts), contentValues(b.Parts), sameValue)
}

// eachRunSummary returns a watchFunc that calls judge for each run that finishes: with the event
// that ends it, the messages that were completed in the stream, and the messages that the event
// lists. If the end of a message names no role or type, its start provides them. Only the first end
// of a run is judged.
func eachRunSummary(judge func(p *spec.Pass, end spec.Event, completed, listed []spec.Event)) watchFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var completed []spec.Event
		ended := false
		opened := map[string][2]string{} // role and type
		return func(e spec.Event) {
			switch {
			case ended:
			case isMessageStatus(e) && e.Kind.Phase() == "end":
				e.Role, e.Type = cmp.Or(e.Role, opened[e.Message][0]), cmp.Or(e.Type, opened[e.Message][1])
				completed = append(completed, e)
			case isMessageStatus(e):
				opened[e.Message] = [2]string{e.Role, e.Type}
			case e.Kind == spec.RunEnd:
				if ended = true; len(e.Parts) > 0 || len(completed) > 0 {
					judge(p, e, completed, e.Parts)
				}
			}
		}
	})
}
