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
	Watch: outputs(func(p *spec.Pass, e spec.Event, told []spec.Event, listed []spec.Event) {
		optional := map[string]bool{}
		for _, t := range told {
			optional[t.Message] = t.Status != "" && e.Status != "" && t.Status != e.Status
		}
		owed := func(list []spec.Event) string {
			return ids(slices.DeleteFunc(slices.Clone(list), func(m spec.Event) bool { return optional[m.Message] || !aboutMessage(m) }))
		}
		want, got := owed(told), owed(listed)
		p.Judge(e, want == got, "the messages %s were completed, the run lists %s", want, got)
	}),
}

// OutputMatches judges the messages in the summary.
var OutputMatches = &spec.Check{
	ID: "run.output-matches",
	Doc: `the messages that the end of a run lists are the ones that were told

What only one of the two tells cannot differ.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: outputs(func(p *spec.Pass, e spec.Event, told []spec.Event, listed []spec.Event) {
		named := map[string][]spec.Event{}
		for _, t := range told {
			if t.Message != "" && len(named[t.Message]) < maxTellings {
				named[t.Message] = append(named[t.Message], t)
			}
		}
		for _, l := range listed {
			for _, t := range named[l.Message] {
				p.Judge(e, agree(t, l), "message %s was told as %s, and is listed as %s", t.Message, describe(t), describe(l))
			}
		}
	}),
}

// maxTellings bounds how often a message that is told again and again, which it may not
// be, is compared with what the end of the run lists.
const maxTellings = 4

// agree says that two tellings of a message do not contradict each other.
func agree(a, b spec.Event) bool {
	either := func(x, y string) bool { return x == y || x == "" || y == "" }
	return either(a.Role, b.Role) && either(a.Type, b.Type) &&
		(len(a.Parts) == 0 || len(b.Parts) == 0 || slices.EqualFunc(partValues(a.Parts), partValues(b.Parts), sameValue))
}

// outputs lets a rule see what was completed in a run and what its end lists. The
// end of a message may leave out what its start said. A run ends once: what a second end
// lists is not looked at.
func outputs(judge func(p *spec.Pass, end spec.Event, told, listed []spec.Event)) watch {
	return tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var told []spec.Event
		opened := map[string][2]string{} // role and type
		ended := false
		return func(e spec.Event) {
			switch {
			case ended:
			case aboutMessage(e) && e.Kind.Phase() == "end":
				e.Role, e.Type = cmp.Or(e.Role, opened[e.Message][0]), cmp.Or(e.Type, opened[e.Message][1])
				told = append(told, e)
			case aboutMessage(e):
				opened[e.Message] = [2]string{e.Role, e.Type}
			case e.Kind == spec.RunEnd:
				if ended = true; len(e.Parts) > 0 || len(told) > 0 {
					judge(p, e, told, e.Parts)
				}
			}
		}
	})
}
