package rules

import (
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var contentChecks = []*spec.Check{
	DeltasJoin, ContentIsComplete, ContentsAllEnd, ContentPartsAllEnd, ContentEndsOnce, IndexDense,
}

// A contentKey identifies one content part by the id of its message and its index in that message.
type contentKey struct{ message, index string }

// positionOf returns the key of the content part to which e belongs. The message and the index in
// the key are "" if e does not name them.
func positionOf(e spec.Event) contentKey { return contentKey{e.Message, e.Index} }

// isDelta reports whether e is a delta of a message or of reasoning.
func isDelta(e spec.Event) bool { return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta }

// eachContentEnd returns a newWatcherFunc that calls judge with each event e that completes a
// content part. The argument joined is the joined text of the earlier deltas of that part, and value
// is the value of its latest content.part event. Either is "" if there were none.
func eachContentEnd(judge func(p *spec.Pass, e spec.Event, joined, value string)) newWatcherFunc {
	return eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		deltas := map[contentKey]*strings.Builder{}
		values := map[contentKey]string{}
		return func(e spec.Event) {
			text := deltas[positionOf(e)]
			switch {
			case isDelta(e):
				if text == nil {
					text = &strings.Builder{}
					deltas[positionOf(e)] = text
				}
				text.WriteString(e.Text)
			case e.Kind == spec.ContentPart:
				values[positionOf(e)] = e.Text
			case e.Kind == spec.ContentEnd && text != nil:
				judge(p, e, text.String(), values[positionOf(e)])
			case e.Kind == spec.ContentEnd:
				judge(p, e, "", values[positionOf(e)])
			}
		}
	})
}

// DeltasJoin judges whether the joined deltas of a content part equal its completed text.
var DeltasJoin = &spec.Check{
	ID:    "delta.joins-to-whole",
	Doc:   "the joined deltas of a content part equal its completed text",
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
	Watch: eachContentEnd(func(p *spec.Pass, e spec.Event, joined, _ string) {
		switch {
		case joined == "" || e.Text == "":
		case joined == e.Text:
			p.Judge(e, true, "")
		case e.Type != "" && e.Type != "text":
			p.Judge(e, false,
				"text deltas join to %s, but the part is completed with the type %q; expected a completed text that equals the deltas",
				quoteStart(joined), e.Type)
		default:
			deltas, completed := quotePair(joined, e.Text)
			p.Judge(e, false,
				"deltas join to %s, but the completed text is %s; expected them to be equal", deltas, completed)
		}
	}),
}

// ContentIsComplete judges whether the event that completes a content part has the full value of
// the part.
var ContentIsComplete = &spec.Check{
	ID: "content.is-whole",
	Doc: `the event that completes a content part repeats the full value

If a part was streamed in text deltas, the event must contain a text, and not only a piece of the
joined deltas, such as the last delta. Other differences are judged by delta.joins-to-whole. If a part
of another type, such as an image, had a value while it was in progress, the event must have a value, too.`,
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: eachContentEnd(func(p *spec.Pass, e spec.Event, joined, value string) {
		switch isPart := e.Text != joined && strings.Contains(joined, e.Text); {
		case joined != "" && e.Type != "" && e.Type != "text":
			p.Judge(e, false,
				"text deltas join to %s, but the content is completed with the type %q; expected the type text, with that text",
				quoteStart(joined), e.Type)
		case joined != "" && e.Text == "":
			p.Judge(e, false, "deltas join to %s, but the completed content has no value; expected them to be equal",
				quoteStart(joined))
		case value != "" && e.Text == "":
			p.Judge(e, false, "content in progress has the value %s, but the completed content has none; expected its value",
				quoteStart(value))
		case isPart:
			deltas, completed := quotePair(joined, e.Text)
			p.Judge(e, false,
				"deltas join to %s, but the completed content is %s, only a part of that; expected them to be equal",
				deltas, completed)
		default:
			p.Judge(e, true, "")
		}
	}),
}

// ContentsAllEnd judges whether each content part that is streamed in deltas is completed before
// its run finishes.
var ContentsAllEnd = &spec.Check{
	ID: "content.all-end",
	Doc: `every text that is streamed in deltas is completed before its run finishes

The texts of a message are not judged if the final status of the message, such as failed, differs
from that of the run.`,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd, spec.RunEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		status := map[string]string{} // by message: its final status
		begun, completed := map[contentKey]bool{}, map[contentKey]bool{}
		var order []contentKey // of begun
		return func(e spec.Event) {
			key := positionOf(e)
			switch {
			case isMessageStatus(e) && e.Kind.Phase() == "end":
				status[e.Message] = e.Status
			case isDelta(e):
				if !begun[key] && !completed[key] {
					begun[key], order = true, append(order, key)
				}
			case e.Kind == spec.ContentEnd:
				completed[key] = true
			case e.Kind == spec.RunEnd:
				for _, key := range order {
					if s := status[key.message]; s == "" || e.Status == "" || s == e.Status {
						p.Judge(e, completed[key],
							"run finished, but content %s of message %q was not completed; expected an event of its own that completes it",
							key.index, key.message)
					}
				}
				order = nil
			}
		}
	}),
}

// ContentPartsAllEnd judges whether each content part is completed before its run finishes. Texts
// that are streamed in deltas are left to ContentsAllEnd.
var ContentPartsAllEnd = &spec.Check{
	ID: "content.parts-all-end",
	Doc: `every content part is completed before its run finishes, whatever its type

Images, data, tool calls and tool results must be completed by an event with the whole part. Every part
that the end of a message lists must also have come in an event of its own. Texts in deltas are judged
by content.all-end. The parts of a message that was not completed are not judged.`,
	Needs: []spec.Kind{spec.ContentPart, spec.ContentEnd, spec.RunEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		slots := map[string]map[string]*contentPartState{} // by message and by index
		var order []*contentPartState
		return func(e spec.Event) {
			switch {
			case isMessageContent(e) && e.Index != "":
				if slots[e.Message] == nil {
					slots[e.Message] = map[string]*contentPartState{}
				}
				s := slots[e.Message][e.Index]
				if s == nil {
					s = &contentPartState{message: e.Message, index: e.Index}
					slots[e.Message][e.Index], order = s, append(order, s)
				}
				s.isText, s.completed = s.isText || isDelta(e), s.completed || isContentEnd(e)
			case isMessageStatus(e) && e.Kind.Phase() == "end" && e.Status == "completed":
				n := len(slots[e.Message])
				p.Judge(e, len(e.Parts) <= n,
					"message %q lists %s, but content events were sent for %d; expected an event that completes each part",
					e.Message, pluralize(len(e.Parts), "content part"), n)
				for _, s := range slots[e.Message] {
					s.judged = true
				}
			case e.Kind == spec.RunEnd && e.Status == "completed":
				for _, s := range order {
					if s.judged && !s.isText {
						p.Judge(e, s.completed,
							"run finished without completing content %s of message %q; expected an event with the whole content",
							s.index, s.message)
					}
				}
			}
		}
	}),
}

// A contentPartState is the state of one content part of a message after the events observed so
// far.
type contentPartState struct {
	message   string // id of the message
	index     string // position of the part in the message, from 0, as the events state it
	isText    bool   // the part has deltas of text
	completed bool   // the part was completed
	judged    bool   // the message was completed, so the part is to be judged
}

// isContentEnd reports whether e completes a content part of a message, which may also be a tool
// call or a tool result. The event e must be one for which isMessageContent returns true.
func isContentEnd(e spec.Event) bool { return e.Kind == spec.ContentEnd || e.Status == "completed" }

// ContentEndsOnce judges whether each content part is completed only once and has no events after
// its completion.
var ContentEndsOnce = &spec.Check{
	ID:    "content.ends-once",
	Doc:   "a content part is completed once and has no events afterwards",
	Needs: []spec.Kind{spec.ContentEnd},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		completed := map[contentKey]bool{}
		return func(e spec.Event) {
			key := positionOf(e)
			if !isMessageContent(e) || e.Index == "" || !isContentEnd(e) && !completed[key] {
				return
			}
			p.Judge(e, !completed[key], "%s comes after content %s of message %q was completed; expected no further event of it",
				displayName(e), e.Index, e.Message)
			completed[key] = true
		}
	}),
}

// IndexDense judges whether the content parts of a message have the indexes 0, 1, 2 and so on, in
// the order in which they first appear.
var IndexDense = &spec.Check{
	ID:    "content.index-dense",
	Doc:   "the content parts of a message have the indexes 0, 1, 2 and so on without gaps",
	Needs: []spec.Kind{spec.SlotIndex},
	Watch: eachResolvedStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		opened := map[string]int{}
		seen := map[contentKey]bool{}
		return func(e spec.Event) {
			n, err := strconv.Atoi(e.Index)
			if !isMessageContent(e) || err != nil || seen[positionOf(e)] {
				return
			}
			seen[positionOf(e)] = true
			p.Judge(e, n == opened[e.Message],
				"got new content %d of message %q; expected index %d", n, e.Message, opened[e.Message])
			opened[e.Message]++
		}
	}),
}
