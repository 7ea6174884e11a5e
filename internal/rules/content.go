package rules

import (
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var contentChecks = []*spec.Check{DeltasJoin, ContentIsComplete, ContentsAllEnd, ContentEndsOnce, IndexDense}

// A contentKey identifies one content part by its message and its index in that message.
type contentKey struct{ message, index string }

// contentStates holds the state of each content part of a stream at one point of the stream.
type contentStates map[contentKey]*contentState

// A contentState is the state of one content part: what has been streamed of the part so far.
type contentState struct {
	firstEvent *spec.Event     // the first delta; set by ContentsAllEnd only
	text       strings.Builder // the joined deltas
	completed  bool            // a content.end was seen
}

// get returns the state of the content part to which e belongs. If the part has no state yet, get
// adds an empty one.
func (s contentStates) get(e spec.Event) *contentState {
	key := contentKey{e.Message, e.Index}
	if s[key] == nil {
		s[key] = &contentState{}
	}
	return s[key]
}

// isDelta reports whether an event is a delta of a message or of reasoning.
func isDelta(e spec.Event) bool { return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta }

// DeltasJoin judges whether the joined deltas of a content part equal its completed text.
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
					p.Judge(e, joined == e.Text, "deltas join to %q, but the completed text is %q; expected them to be equal",
						joined, e.Text)
				}
			}
		}
	}),
}

// ContentIsComplete judges whether the event that completes a content part contains the value of
// the part.
var ContentIsComplete = &spec.Check{
	ID:    "content.is-whole",
	Doc:   "a completed content repeats its full value",
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		return func(e spec.Event) {
			switch {
			case isDelta(e):
				states.get(e).text.WriteString(e.Text)
			case e.Kind == spec.ContentEnd:
				joined := states.get(e).text.String()
				p.Judge(e, joined == "" || e.Text != "", "completed content has no value; expected the joined deltas, %q", joined)
			}
		}
	}),
}

// ContentsAllEnd judges whether every content part that is streamed in deltas is completed before
// its run finishes.
var ContentsAllEnd = &spec.Check{
	ID: "content.all-end",
	Doc: `every text that is streamed in deltas is completed before its run finishes

Texts of a message whose final status differs from that of the run, such as a failed one,
are not judged.`,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd, spec.RunEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		status := map[string]string{} // by message: its final status
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
					p.Judge(*c.firstEvent, c.completed,
						"run finished without completing content %s of message %q; expected its completed text",
						c.firstEvent.Index, c.firstEvent.Message)
				}
				order = nil
			}
		}
	}),
}

// ContentEndsOnce judges whether a content part is completed only once and gets no event
// afterwards.
var ContentEndsOnce = &spec.Check{
	ID:    "content.ends-once",
	Doc:   "a content is completed once and gets no event afterwards",
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		states := contentStates{}
		return func(e spec.Event) {
			if !isMessageContent(e) || e.Index == "" {
				return
			}
			c := states.get(e)
			if c.completed || e.Kind == spec.ContentEnd {
				p.Judge(e, !c.completed, "%s comes after content %s of message %q was completed; expected no further event of it",
					displayName(e), e.Index, e.Message)
			}
			c.completed = c.completed || e.Kind == spec.ContentEnd
		}
	}),
}

// IndexDense judges whether the content parts of a message have the indexes 0, 1, 2 and so on.
var IndexDense = &spec.Check{
	ID:    "content.index-dense",
	Doc:   "the contents of a message have the indexes 0, 1, 2 and so on without gaps",
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
			p.Judge(e, n == opened[e.Message],
				"got new content %d of message %q; expected index %d", n, e.Message, opened[e.Message])
			opened[e.Message]++
		}
	}),
}
