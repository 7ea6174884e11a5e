package rules

import (
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var contents = []*spec.Check{DeltasJoin, ContentIsWhole, ContentsAllEnd, ContentEndsOnce, IndexDense}

// A slot is one content of one message.
type slot struct{ message, index string }

// slots lets a rule hear of each content of a stream: what its deltas joined to
// so far, and whether it has ended.
type slots map[slot]*content

type content struct {
	first *spec.Event // of those that [ContentsAllEnd] judges
	text  strings.Builder
	whole bool // it has had its content.end
}

func (s slots) of(e spec.Event) *content {
	key := slot{e.Message, e.Index}
	if s[key] == nil {
		s[key] = &content{}
	}
	return s[key]
}

func isDelta(e spec.Event) bool { return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta }

// DeltasJoin judges deltas against the completed text.
var DeltasJoin = &spec.Check{
	ID:    "delta.joins-to-whole",
	Doc:   "the deltas of a content join to its completed text",
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
	Watch: placed(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		told := slots{}
		return func(e spec.Event) {
			switch {
			case isDelta(e):
				told.of(e).text.WriteString(e.Text)
			case e.Kind == spec.ContentEnd && e.Text != "":
				if joined := told.of(e).text.String(); joined != "" {
					p.Judge(e, joined == e.Text, "the deltas join to %q, the completed text is %q", joined, e.Text)
				}
			}
		}
	}),
}

// ContentIsWhole judges completed contents.
var ContentIsWhole = &spec.Check{
	ID:    "content.is-whole",
	Doc:   "a completed content carries the whole value",
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: placed(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		told := slots{}
		return func(e spec.Event) {
			switch {
			case isDelta(e):
				told.of(e).text.WriteString(e.Text)
			case e.Kind == spec.ContentEnd:
				joined := told.of(e).text.String()
				p.Judge(e, joined == "" || e.Text != "", "the deltas join to %q, the completed content has no value", joined)
			}
		}
	}),
}

// ContentsAllEnd judges whether contents are completed.
var ContentsAllEnd = &spec.Check{
	ID: "content.all-end",
	Doc: `in a run that ends well every text that came in deltas is completed

Not so one of a message that ended otherwise than its run, because it failed.`,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd, spec.RunEnd},
	Watch: placed(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		told := slots{}
		status := map[string]string{} // message → how it ended
		keep := keeper(p)
		var order []*content
		return func(e spec.Event) {
			switch {
			case aboutMessage(e) && e.Kind.Phase() == "end":
				status[e.Message] = e.Status
			case isDelta(e):
				if c := told.of(e); c.first == nil && !c.whole {
					c.first = keep(e)
					order = append(order, c)
				}
			case e.Kind == spec.ContentEnd:
				told.of(e).whole = true
			case e.Kind == spec.RunEnd:
				for _, c := range order {
					if s := status[c.first.Message]; s != "" && e.Status != "" && s != e.Status {
						continue
					}
					p.Judge(*c.first, c.whole, "content %s of message %q was never completed", c.first.Index, c.first.Message)
				}
				order = nil
			}
		}
	}),
}

// ContentEndsOnce judges what comes for a completed content.
var ContentEndsOnce = &spec.Check{
	ID:    "content.ends-once",
	Doc:   "a content is completed once, and nothing comes for it afterwards",
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: placed(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		told := slots{}
		return func(e spec.Event) {
			if !ofMessage(e) || e.Index == "" {
				return
			}
			c := told.of(e)
			if c.whole || e.Kind == spec.ContentEnd {
				p.Judge(e, !c.whole, "%s comes for content %s of message %q, which was completed", e.DisplayName(), e.Index, e.Message)
			}
			c.whole = c.whole || e.Kind == spec.ContentEnd
		}
	}),
}

// IndexDense judges the places of contents.
var IndexDense = &spec.Check{
	ID:    "content.index-dense",
	Doc:   "the contents of a message open at 0, 1, 2 and so on, without a gap",
	Needs: []spec.Kind{spec.SlotIndex},
	Watch: placed(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		opened := map[string]int{}
		seen := map[slot]bool{}
		return func(e spec.Event) {
			n, err := strconv.Atoi(e.Index)
			if !ofMessage(e) || err != nil || seen[slot{e.Message, e.Index}] {
				return
			}
			seen[slot{e.Message, e.Index}] = true
			p.Judge(e, n == opened[e.Message], "content %d of message %q opens where %d was next", n, e.Message, opened[e.Message])
			opened[e.Message]++
		}
	}),
}
