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
	Watch: outputs(func(p *spec.Pass, e spec.Event, told []completed, listed []spec.Event) {
		optional := map[string]bool{}
		for _, t := range told {
			optional[t.message] = t.status != "" && e.Status != "" && t.status != e.Status
		}
		var wanted, got []string
		for _, t := range told {
			if !optional[t.message] {
				wanted = append(wanted, t.message)
			}
		}
		for _, l := range listed {
			if !optional[l.Message] && aboutMessage(l) {
				got = append(got, l.Message)
			}
		}
		p.Judge(e, slices.Equal(wanted, got), "the messages %s were completed, the run lists %s", ids(wanted), ids(got))
	}),
}

// OutputMatches judges the messages in the summary.
var OutputMatches = &spec.Check{
	ID: "run.output-matches",
	Doc: `the messages that the end of a run lists are the ones that were told

What only one of the two tells cannot differ.`,
	Needs: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Watch: outputs(func(p *spec.Pass, e spec.Event, told []completed, listed []spec.Event) {
		named := map[string][]completed{}
		for _, t := range told {
			if t.message != "" && len(named[t.message]) < maxTellings {
				named[t.message] = append(named[t.message], t)
			}
		}
		for _, l := range listed {
			for _, t := range named[l.Message] {
				p.Judge(e, t.agrees(l), "message %s was told as %s, and is listed as %s", t.message, t, describe(l))
			}
		}
	}),
}

// maxTellings bounds how often a message that is told again and again, which it may not
// be, is compared with what the end of the run lists.
const maxTellings = 4

// A completed is a message that has ended: of an event, no more than the rules compare.
type completed struct {
	message, status, role, kind string
	parts                       []spec.Event
}

// agrees says that a message does not contradict what is listed of it.
func (c completed) agrees(l spec.Event) bool {
	either := func(x, y string) bool { return x == y || x == "" || y == "" }
	return either(c.role, l.Role) && either(c.kind, l.Type) &&
		(len(c.parts) == 0 || len(l.Parts) == 0 || slices.EqualFunc(partValues(c.parts), partValues(l.Parts), sameValue))
}

// String is what the message was told as.
func (c completed) String() string {
	return describe(spec.Event{Role: c.role, Type: c.kind, Parts: c.parts})
}

// outputs lets a rule see what was completed in a run and what its end lists. The
// end of a message may leave out what its start said. A run ends once: what a second end
// lists is not looked at.
func outputs(judge func(p *spec.Pass, end spec.Event, told []completed, listed []spec.Event)) watch {
	return tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var told []completed
		opened := map[string][2]string{} // role and type
		ended := false
		return func(e spec.Event) {
			switch {
			case ended:
			case aboutMessage(e) && e.Kind.Phase() == "end":
				was := opened[e.Message]
				told = append(told, completed{e.Message, e.Status, cmp.Or(e.Role, was[0]), cmp.Or(e.Type, was[1]), e.Parts})
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
