package rules

import (
	"cmp"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// OutputIsComplete judges the summary at the end of a run.
var OutputIsComplete = &spec.Check{
	ID: "run.output-is-complete",
	Doc: `the end of a run lists the messages that were completed, in the order in which they were

A message that ended otherwise than its run, because it failed, may be listed or not, and so
may what is no message of the answer, such as a sign of life.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: eachRunSummary(func(p *spec.Pass, e spec.Event, completed []spec.Event, listed []spec.Event) {
		optional := map[string]bool{}
		for _, t := range completed {
			optional[t.Message] = t.Status != "" && e.Status != "" && t.Status != e.Status
		}
		requiredIDs := func(list []spec.Event) string {
			return messageIDs(slices.DeleteFunc(slices.Clone(list), func(m spec.Event) bool { return optional[m.Message] || !isMessageStatus(m) }))
		}
		want, got := requiredIDs(completed), requiredIDs(listed)
		p.Judge(e, want == got, "the messages %s were completed, the run lists %s", want, got)
	}),
}

// OutputMatches judges the messages in the summary.
var OutputMatches = &spec.Check{
	ID: "run.output-matches",
	Doc: `the messages that the end of a run lists are the ones that were told

What only one of the two tells cannot differ.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: eachRunSummary(func(p *spec.Pass, e spec.Event, completed []spec.Event, listed []spec.Event) {
		for _, l := range listed {
			for _, t := range completed {
				if t.Message != l.Message || t.Message == "" {
					continue
				}
				p.Judge(e, messagesAgree(t, l), "message %s was told as %s, and is listed as %s", t.Message, describeMessage(t), describeMessage(l))
			}
		}
	}),
}

// messagesAgree says that two tellings of a message do not contradict each other.
func messagesAgree(a, b spec.Event) bool {
	either := func(x, y string) bool { return x == y || x == "" || y == "" }
	return either(a.Role, b.Role) && either(a.Type, b.Type) &&
		(len(a.Parts) == 0 || len(b.Parts) == 0 || slices.EqualFunc(contentValues(a.Parts), contentValues(b.Parts), sameValue))
}

// eachRunSummary lets a rule see what was completed in a run and what its end lists. The
// end of a message may leave out what its start said.
func eachRunSummary(judge func(p *spec.Pass, end spec.Event, completed, listed []spec.Event)) watchFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var completed []spec.Event
		opened := map[string][2]string{} // role and type
		return func(e spec.Event) {
			switch {
			case isMessageStatus(e) && e.Kind.Phase() == "end":
				e.Role, e.Type = cmp.Or(e.Role, opened[e.Message][0]), cmp.Or(e.Type, opened[e.Message][1])
				completed = append(completed, e)
			case isMessageStatus(e):
				opened[e.Message] = [2]string{e.Role, e.Type}
			case e.Kind == spec.RunEnd && (len(e.Parts) > 0 || len(completed) > 0):
				judge(p, e, completed, e.Parts)
			}
		}
	})
}
