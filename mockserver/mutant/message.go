package mutant

import (
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// What a message has to be, requirement by requirement, as the catalogues call it.
var (
	lawsAnnounced = []string{"agentscope-java.msg.created", "agentscope-java.content.msgid", "agentscope-java.content.in-message", "agentscope.message-announced"}
	lawsOpenTill  = []string{"agentscope-java.content.in-message", "agentscope.message-closed"}
	lawsMessageID = []string{"agentscope-java.msg.id", "agentscope.message-id"}
	lawsAllEnd    = []string{"agentscope-java.msg.completed", "agentscope.message-completed"}
	lawsRepeated  = []string{"agentscope-java.msg.content-equal", "agentscope.message-content"}
)

var messageMutants = []*Mutant{
	{
		Name: "message-unannounced", Doc: "the event that opens a message is not told",
		Fault:  "message-not-started",
		Breaks: lawsAnnounced,
		Kills:  map[string]string{"message.announced": "content.end message.delta tool.call", "message.starts-first": "message.end"},
		Also:   []string{"message.known", "script.reasoning", "script.reasoning-apart"}, // the start says of what kind it is; of one that fails nothing else is told
	}, {
		Name: "message-under-way-first", Doc: "what is told of a message first is that it is under way",
		Play:   everyEvent(fault.Of(spec.MessageStart), func(e *spec.Event) { e.Kind = spec.MessageProgress }),
		Breaks: []string{"agentscope-java.msg.created"},
		Kills:  map[string]string{"message.starts-first": "message.progress"},
	}, {
		Name: "message-announced-late", Doc: "a message is opened after the first piece of it",
		Play:   once(fault.Of(spec.MessageStart), swapping),
		Breaks: lawsAnnounced,
		Kills:  map[string]string{"message.announced": "message.delta tool.call"},
		Also:   []string{"script.reasoning", "script.reasoning-apart"}, // the start says of what kind it is
	}, {
		Name: "piece-of-nothing", Doc: "a piece of a text names a message that was never opened",
		Fault:  "unknown-message",
		Breaks: slices.Concat(lawsAnnounced, []string{"agentscope.msg-id"}),
		Kills:  map[string]string{"message.announced": "message.delta", "message.known": "message.delta"},
		Also:   []string{"script.*", "content.all-end", "delta.joins-to-whole", "content.is-whole", "message.content-equals", "history.tells-the-answer"}, // the piece is missing in its message, and is one of another
	}, {
		Name: "pieces-misaddressed", Doc: "all pieces of texts name a message whose id has one letter too many",
		Play:   everyEvent(fault.Of(spec.MessageDelta, spec.ContentEnd), func(e *spec.Event) { e.Message += "x" }),
		Breaks: slices.Concat(lawsAnnounced, []string{"agentscope.msg-id"}),
		Kills:  map[string]string{"message.announced": "content.end message.delta", "message.known": "content.end message.delta"},
		Also:   []string{"script.*", "content.all-end", "delta.joins-to-whole", "message.content-equals", "history.tells-the-answer"}, // they are missing in their message, and are those of another
	}, {
		Name: "late-piece", Doc: "the last piece of a message is told again when the message has ended",
		Fault:  "late-delta",
		Breaks: lawsOpenTill,
		Kills:  map[string]string{"message.closed": "message.delta reasoning.delta"},
		Also:   []string{"script.*", "content.ends-once", "history.tells-the-answer"}, // it was not asked to say that, and its content was completed
	}, {
		Name: "whole-when-over", Doc: "a text is completed after its message has ended",
		Play:   swapping(fault.Of(spec.ContentEnd)),
		Breaks: lawsOpenTill,
		Kills:  map[string]string{"message.closed": "content.end"},
		Also:   []string{"message.content-equals", "content.*", "delta.*"}, // what comes too late was not repeated
	}, {
		Name: "piece-without-address", Doc: "pieces of texts name no message, and the message is opened after them",
		Play:   unaddressed(true),
		Breaks: []string{"agentscope.msg-id"},
		Kills:  map[string]string{"message.unambiguous": "content.end message.delta", "wire.matches-schema": "/msg_id"},
		Also:   []string{"script.*", "message.*", "content.*", "delta.joins-to-whole", "run.output-matches"}, // nobody knows whose they are
	}, {
		Name: "piece-of-either", Doc: "pieces of texts name no message while two are open",
		Play:   unaddressed(false),
		Breaks: []string{"agentscope.msg-id"},
		Kills:  map[string]string{"message.unambiguous": "content.end message.delta", "wire.matches-schema": "/msg_id"},
		Also:   []string{"script.*", "message.*", "content.*", "delta.joins-to-whole", "run.output-is-complete", "run.output-matches"}, // as above, and the second message is never listed
	}, {
		Name: "message-left-open", Doc: "the event that ends a message is not told",
		Fault:  "message-not-ended",
		Breaks: slices.Concat(lawsAllEnd, lawsListed),
		Kills:  map[string]string{"message.all-end": "message.start reasoning.start", "run.output-is-complete": "run.end"},
		Also:   []string{"run.output-matches", "script.tool", "script.tools", "tool.result-after-call"}, // what is listed was never told, nor a call that only the end of its message tells
	}, {
		Name: "messages-left-open", Doc: "no message is ever said to have ended, nor listed",
		Play:   openMessages,
		Not:    []string{"agentscope-java@1.0"}, // there a message is told whole, in one event: none is left open
		Breaks: lawsAllEnd,
		Kills:  map[string]string{"message.all-end": "message.start reasoning.start"},
	}, {
		Name: "message-begun", Doc: "a message is said to be in progress at the beginning, and never again",
		Play: adding(fault.Of(spec.RunStart), func(e *spec.Event) []spec.Event {
			m := spec.Event{Kind: spec.MessageProgress, Thread: e.Thread, Run: e.Run, Message: e.Run + "-begun", Type: "message", Role: "assistant", Status: "in_progress"}
			return []spec.Event{m}
		}),
		Not:    []string{"agentscope-java@0.1"}, // there messages are announced: message-left-open shows the same
		Breaks: []string{"agentscope-java.msg.completed"},
		Kills:  map[string]string{"message.all-end": "message.progress"},
	}, {
		Name: "id-used-again", Doc: "after a message has ended another is told under its id",
		Fault:  "reused-message-id",
		Breaks: lawsMessageID,
		Kills:  map[string]string{"message.ids-unique": "message.end message.start"},
		Also:   []string{"run.output-is-complete", "run.status-moves-forward"}, // the second message is not listed, and the first begins again
	}, {
		Name: "one-id-for-all", Doc: "all messages of a run have one id",
		Play: everyEvent(anything, func(e *spec.Event) {
			within(e, func(p *spec.Event) {
				if p.Message != "" {
					p.Message = "the-message"
				}
			})
		}),
		Breaks: lawsMessageID,
		Kills:  map[string]string{"message.ids-unique": "message.end message.start reasoning.end"},
		Also:   []string{"script.*", "content.ends-once", "delta.joins-to-whole", "message.*", "run.output-matches", "run.status-moves-forward", "tool.*"}, // all messages are one, told again and again
	}, {
		Name: "repeated-otherwise", Doc: "the end of a message repeats other words than were told",
		Fault:  "wrong-message",
		Breaks: slices.Concat(lawsRepeated, lawsListedSo),
		Kills:  map[string]string{"message.content-equals": "message.end reasoning.end", "run.output-matches": "run.end"},
		Also:   []string{"script.tool", "script.client-tool*", "tool.arguments-are-json"}, // what is repeated is what a call says
	}, {
		Name: "repeated-in-part", Doc: "the end of a message repeats its first content only",
		Play: everyEvent(anything, func(e *spec.Event) {
			within(e, func(p *spec.Event) {
				if n := len(p.Parts); n > 1 && p.Kind != spec.RunEnd {
					p.Parts = p.Parts[:1]
				}
			})
		}),
		Breaks: lawsRepeated,
		Kills:  map[string]string{"message.content-equals": "message.end"},
		Also:   []string{"run.output-matches"}, // the end of the run lists it whole
	},
}

func anything(*spec.Event) bool { return true }

// unaddressed takes their message from pieces of texts. If late, the message is opened
// when they are told; if not, one more is open all the time.
func unaddressed(late bool) play {
	return retold(func() func(e *spec.Event, tell func(*spec.Event)) {
		var start *spec.Event
		return func(e *spec.Event, tell func(*spec.Event)) {
			switch {
			case e.Kind == spec.MessageStart && late:
				kept := *e
				start = &kept
				return
			case e.Kind == spec.MessageStart:
				tell(e)
				second := changed(e, func(o *spec.Event) { o.Message += "-too" })
				tell(&second)
				return
			case e.Kind == spec.MessageDelta || e.Kind == spec.ContentEnd && e.Type == "text":
				nameless := changed(e, func(o *spec.Event) { o.Message = "" })
				tell(&nameless)
				return
			case start != nil && (e.Kind == spec.MessageEnd || e.Kind == spec.RunError):
				tell(start)
				start = nil
			case e.Kind == spec.MessageEnd && !late:
				second := changed(e, func(o *spec.Event) { o.Message += "-too" })
				tell(&second)
			}
			tell(e)
		}
	})
}

// openMessages leaves out every end of a message, and the list of messages at the end.
func openMessages(a fault.Args) fault.Effect {
	return retold(func() func(e *spec.Event, tell func(*spec.Event)) {
		return func(e *spec.Event, tell func(*spec.Event)) {
			if e.Kind == spec.MessageEnd || e.Kind == spec.ReasoningEnd {
				return
			}
			bare := *e
			if e.Kind == spec.RunEnd && e.Parts != nil {
				bare.Parts = []spec.Event{}
			}
			tell(&bare)
		}
	})(a)
}
