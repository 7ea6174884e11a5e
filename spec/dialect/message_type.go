package dialect

import "github.com/streamassay/streamassay/spec"

// messageType returns the type in the last event that stated one for the message with the given id,
// or "" if no event did.
func (t *eventDecoder) messageType(id string) string { return t.messageTypes[id] }

// inheritType records the type of a message that e starts or continues. If e has no type, it sets
// that of an earlier event of the message, and its subject: e repeats the earlier event. It does so
// only for operations with variants that need the types of messages.
func (t *eventDecoder) inheritType(e *spec.Event) {
	isStatus := e.Kind == spec.MessageStart || e.Kind == spec.MessageProgress || e.Kind == spec.ReasoningStart
	switch {
	case !isStatus || !t.operation.needsMessageTypes:
	case e.Type == "":
		e.Type = t.messageTypes[e.Message]
		if subject := t.messageSubjects[e.Message]; subject != "" && e.Message != "" {
			e.Kind = spec.Kind(subject + "." + e.Kind.Phase())
		}
	default:
		if t.messageTypes == nil {
			t.messageTypes = map[string]string{}
		}
		t.messageTypes[e.Message] = e.Type
	}
}

// inheritSubject changes the kind of e, an event of a message, to the corresponding kind for
// reasoning if the message started as reasoning: message.delta becomes reasoning.delta. This is for
// dialects in which reasoning differs from messages only in the event that starts it. In dialects
// that have deltas of reasoning, inheritSubject does nothing.
func (t *eventDecoder) inheritSubject(e *spec.Event) {
	subject, phase := e.Kind.Subject(), e.Kind.Phase()
	switch {
	case subject != "message" && subject != "reasoning" || e.Message == "" || t.reasoningDeltas:
	case phase == "start" || phase == "progress":
		if subject == "reasoning" {
			t.messageSubjects[e.Message] = subject
		} else if phase == "start" { // the id is used again
			delete(t.messageSubjects, e.Message)
		}
	case t.messageSubjects[e.Message] != "":
		e.Kind = spec.Kind(t.messageSubjects[e.Message] + "." + phase)
	}
}
