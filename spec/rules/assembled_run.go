package rules

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An assembledRun is what a run said to a prompt, put together from its events.
type assembledRun struct {
	request           spec.Event    // the request that opened the run
	streamedBy        spec.Event    // the request whose stream tells it
	previousPrompt    string        // what the user said before it in the same conversation
	hasPreviousPrompt bool          // there is such a thing
	possiblePrompts   []string      // what else may have been said before it
	continuedPrompt   string        // the prompt that a result or a resume belongs to
	hasOtherThreads   bool          // other conversations were led before
	skipsPendingInput bool          // the conversation was waiting for a resume or a tool's result, and this is none
	threadBusy        bool          // the end of the run before it had not been heard
	ended             bool          // its end was heard
	succeeded         bool          // and it was a good one
	endedAt           time.Duration // when
	refused           bool          // a refusal came in place of a run
	tracker           messageTracker
	messages          []*assembledMessage // messages, in the order in which they began
	messagesByID      map[string]*assembledMessage
	toolCalls         []*toolCall
	callIndex         toolCallIndex
	interrupts        []spec.Event
	failure           spec.Event // the event that says the run failed
	bodyEnd           spec.Event
	keep              func(spec.Event) *spec.Event
}

// A assembledMessage is one message, or one stretch of reasoning.
type assembledMessage struct {
	id            string
	isReasoning   bool
	text          strings.Builder
	deltaIndexes  map[string]bool // slots that came in pieces
	otherContents []spec.Event    // contents that are not text
	repeatedLen   int             // how much of the text messages without pieces have repeated
}

// A toolCall is one call of a tool and what came of it.
type toolCall struct {
	id, name    string
	arguments   strings.Builder // of the arguments
	result      string
	hasResult   bool
	callEvent   *spec.Event // the call
	resultEvent contentKey  // where its result stands
}

func (u *toolCall) args() string { return u.arguments.String() }

// text is everything the assistant said, reasoning aside.
func (a *assembledRun) text() string {
	var b strings.Builder
	for _, s := range a.messages {
		if !s.isReasoning {
			b.WriteString(s.text.String())
		}
	}
	return b.String()
}

// messageTexts are the messages with any text in them.
func (a *assembledRun) messageTexts() (all []string) {
	for _, s := range a.messages {
		if !s.isReasoning && s.text.Len() > 0 {
			all = append(all, s.text.String())
		}
	}
	return all
}

func (a *assembledRun) reasoningText() string {
	var b strings.Builder
	for _, s := range a.messages {
		if s.isReasoning {
			b.WriteString(s.text.String())
		}
	}
	return b.String()
}

// hasMessageIDs says that the dialect tells messages apart.
func (a *assembledRun) hasMessageIDs() bool {
	for _, s := range a.messages {
		if s.id != "" {
			return true
		}
	}
	return false
}

func (a *assembledRun) observe(e spec.Event) {
	a.refused = a.refused || e.Kind == spec.RunRefused && a.failure.Kind == "" && e.Frame == 0
	switch e = a.tracker.resolve(e); e.Kind {
	case spec.MessageStart, spec.MessageProgress, spec.ReasoningStart:
		a.messageFor(e)
	case spec.MessageDelta, spec.ReasoningDelta:
		s := a.messageFor(e)
		s.deltaIndexes[e.Index] = true
		s.text.WriteString(e.Text)
	case spec.ContentPart, spec.ContentEnd:
		a.addContent(a.messageFor(e), e)
	case spec.MessageEnd, spec.ReasoningEnd:
		a.endMessage(e)
	case spec.ToolStart, spec.ToolDelta, spec.ToolCall, spec.ToolResult:
		a.addToolEvent(e)
	case spec.Interrupt:
		a.interrupts = append(a.interrupts, e)
	case spec.RunError, spec.RunRefused:
		a.failure = e
	}
}

// messageByID is the message of an id, if anything was heard of it.
func (a *assembledRun) messageByID(id string) *assembledMessage { return a.messagesByID[id] }

// messageFor is the message that e belongs to.
func (a *assembledRun) messageFor(e spec.Event) *assembledMessage {
	if s := a.messageByID(e.Message); s != nil {
		return s
	}
	s := &assembledMessage{id: e.Message, isReasoning: e.Kind.Subject() == "reasoning", deltaIndexes: map[string]bool{}}
	if a.messagesByID == nil {
		a.messagesByID = map[string]*assembledMessage{}
	}
	a.messages, a.messagesByID[e.Message] = append(a.messages, s), s
	return s
}

// addContent takes a whole content: text that did not come in pieces, or what is not
// text.
func (a *assembledRun) addContent(s *assembledMessage, e spec.Event) {
	switch {
	case e.Type != "" && e.Type != "text":
		s.otherContents = append(s.otherContents, e)
	case e.Kind == spec.ContentEnd && !s.deltaIndexes[e.Index]:
		s.deltaIndexes[e.Index] = true
		s.text.WriteString(e.Text)
	}
}

// endMessage takes what the end of a message repeats, as far as it was not told before.
func (a *assembledRun) endMessage(e spec.Event) {
	for i, part := range e.Parts {
		part = inheritContext(part, e)
		part.Index = strconv.Itoa(i) // contents are repeated in order
		switch {
		case part.Kind == spec.ToolCall || part.Kind == spec.ToolResult:
			a.addToolEvent(part)
		case part.Type != "" && part.Type != "text":
			if s := a.messageFor(e); len(s.otherContents) == 0 {
				s.otherContents = append(s.otherContents, part)
			}
		case part.Text != "" && !a.repeatsUnnamedText(e, part.Text):
			if s := a.messageFor(e); len(s.deltaIndexes) == 0 {
				s.text.WriteString(part.Text)
			}
		}
	}
}

// repeatsUnnamedText says that a message of which nothing else was heard repeats what pieces that
// name no message have said.
func (a *assembledRun) repeatsUnnamedText(end spec.Event, text string) bool {
	unnamed := a.messageByID("")
	if unnamed == nil || end.Message == "" || a.messageByID(end.Message) != nil {
		return false
	}
	repeated := strings.HasPrefix(unnamed.text.String()[unnamed.repeatedLen:], text)
	if repeated {
		unnamed.repeatedLen += len(text)
	}
	return repeated
}

func (a *assembledRun) addToolEvent(e spec.Event) {
	call := a.toolCallFor(e)
	switch e.Kind {
	case spec.ToolStart:
		call.name = e.Name
	case spec.ToolDelta:
		call.arguments.WriteString(e.Text)
	case spec.ToolCall:
		call.name = e.Name
		call.arguments.Reset()
		call.arguments.WriteString(e.Text)
	case spec.ToolResult:
		call.result, call.hasResult, call.resultEvent = e.Text, true, positionOf(e)
		a.callIndex.addResult(call)
	}
}
