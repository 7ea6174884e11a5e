package rules

import (
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var contentChecks = []*spec.Check{DeltasJoin, ContentIsComplete, ContentsAllEnd, ContentEndsOnce, IndexDense}

// A contentKey is one content of one message.
type contentKey struct{ message, index string }

// contentStates lets a rule hear of each content of a stream: what its deltas joined to
// so far, and whether it has ended.
type contentStates map[contentKey]*contentState

type contentState struct {
	firstEvent *spec.Event // of those that [ContentsAllEnd] judges
	text       strings.Builder
	completed  bool // it has had its content.end
}

func (s contentStates) get(e spec.Event) *contentState {
	key := contentKey{e.Message, e.Index}
	if s[key] == nil {
		s[key] = &contentState{}
	}
	return s[key]
}

func isDelta(e spec.Event) bool { return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta }

// DeltasJoin judges deltas against the completed text.
var DeltasJoin = &spec.Check{
	ID:    "delta.joins-to-whole",
	Doc:   "the deltas of a content join to its completed text",
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		return func(e spec.Event) {
			switch {
			case isDelta(e):
				states.get(e).text.WriteString(e.Text)
			case e.Kind == spec.ContentEnd && e.Text != "":
				if joined := states.get(e).text.String(); joined != "" {
					p.Judge(e, joined == e.Text, "the deltas join to %q, the completed text is %q", joined, e.Text)
				}
			}
		}
	}),
}

// ContentIsComplete judges completed contents.
var ContentIsComplete = &spec.Check{
	ID:    "content.is-whole",
	Doc:   "a completed content carries the whole value",
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		return func(e spec.Event) {
			switch {
			case isDelta(e):
				states.get(e).text.WriteString(e.Text)
			case e.Kind == spec.ContentEnd:
				joined := states.get(e).text.String()
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
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		status := map[string]string{} // message → how it ended
		keep := keeper(p)
		var order []*contentState
		return func(e spec.Event) {
			switch {
			case isMessageStatus(e) && e.Kind.Phase() == "end":
				status[e.Message] = e.Status
			case isDelta(e):
				if c := states.get(e); c.firstEvent == nil && !c.completed {
					c.firstEvent = keep(e)
					order = append(order, c)
				}
			case e.Kind == spec.ContentEnd:
				states.get(e).completed = true
			case e.Kind == spec.RunEnd:
				for _, c := range order {
					if s := status[c.firstEvent.Message]; s != "" && e.Status != "" && s != e.Status {
						continue
					}
					p.Judge(*c.firstEvent, c.completed, "content %s of message %q was never completed", c.firstEvent.Index, c.firstEvent.Message)
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
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		return func(e spec.Event) {
			if !isMessageContent(e) || e.Index == "" {
				return
			}
			c := states.get(e)
			if c.completed || e.Kind == spec.ContentEnd {
				p.Judge(e, !c.completed, "%s comes for content %s of message %q, which was completed", e.DisplayName(), e.Index, e.Message)
			}
			c.completed = c.completed || e.Kind == spec.ContentEnd
		}
	}),
}

// IndexDense judges the places of contents.
var IndexDense = &spec.Check{
	ID:    "content.index-dense",
	Doc:   "the contents of a message open at 0, 1, 2 and so on, without a gap",
	Needs: []spec.Kind{spec.SlotIndex},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		opened := map[string]int{}
		seen := map[contentKey]bool{}
		return func(e spec.Event) {
			n, err := strconv.Atoi(e.Index)
			if !isMessageContent(e) || err != nil || seen[contentKey{e.Message, e.Index}] {
				return
			}
			seen[contentKey{e.Message, e.Index}] = true
			p.Judge(e, n == opened[e.Message], "content %d of message %q opens where %d was next", n, e.Message, opened[e.Message])
			opened[e.Message]++
		}
	}),
}
