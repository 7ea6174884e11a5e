package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// An assembledRun is one run as its stream shows it. Its messages, tool calls, interrupts and end
// are assembled from the events of the stream.
type assembledRun struct {
	request           spec.Event    // the request that started the run
	streamedBy        spec.Event    // the request whose response is the stream
	previousPrompt    string        // the prompt before that of request in the same thread
	previousTexts     []string      // the texts of the parts of previousPrompt, if request repeats that prompt in parts
	hasPreviousPrompt bool          // whether previousPrompt is known
	possiblePrompts   []string      // other prompts that the server may consider the previous one
	continuedPrompt   string        // the prompt of the run that request continues with a tool result or a resume
	hasOtherThreads   bool          // earlier runs were in other threads, and the thread of request is new
	otherStates       []string      // if hasOtherThreads: the states at the start and end of earlier runs, as JSON
	madeThread        bool          // request names no thread, and the response names one that is new
	skipsPendingInput bool          // the thread was waiting for input that request does not contain
	threadBusy        bool          // the end of an earlier run of the thread was not seen
	ended             bool          // the end of the run was seen
	succeeded         bool          // the run ended and was a success
	endedAt           time.Duration // when the run ended, since the start of the conversation
	refused           bool          // the stream is a refusal of request
	failedEarly       bool          // the response is no stream; its status reports the failure of the run
	tracker           messageTracker
	messages          []*assembledMessage          // in order of their start
	messagesByID      map[string]*assembledMessage // "" is the key of a message without an id
	pieceCount        int                          // number of pieces of text in all messages, kept or not
	toolCalls         []*assembledCall             // in order of their start
	callIndex         toolCallIndex                // finds the calls in toolCalls
	subagents         subagentOutput               // the output of subagents, which is left out
	withSubagents     *assembledRun                // the content since the first output of a subagent, or nil
	interrupts        []spec.Event                 // in order
	stateEvents       []spec.Event                 // the first snapshots and deltas of the state; see maxMarks
	subagentStates    []spec.Event                 // like stateEvents, of the states of subagents
	steps             []stepBoundary               // the first starts and ends of steps that have a name; see maxMarks
	silence           eventGapTracker              // the longest silence before the first text
	hasSpoken         bool                         // a text of a message, other than an empty one, was seen
	hasSpokenSince    bool                         // like hasSpoken, but reset by the first result of each tool call
	failure           spec.Event                   // the event that reports a failure; zero if there is none
	cancelled         bool                         // the event that ends the run reports that it was cancelled
	endUnknown        bool                         // the last frame could not be decoded, and may be a terminal event
	unreadable        int                          // number of events for which isUnreadable returned true
	bodyEnd           spec.Event                   // the end of the body of the stream
	keep              func(spec.Event) *spec.Event // copies an event that is retained; see keeper
}

// An assembledMessage is one message, or one section of reasoning, of an assembledRun.
type assembledMessage struct {
	id            string
	isReasoning   bool
	isError       bool            // the message has the type "error": it reports a problem and is not an answer
	role          *spec.Event     // the event that introduced its current role; nil if no event names a role
	text          strings.Builder // the text so far
	pieces        []textFragment  // the first pieces of text, in order; see maxPieces
	deltaIndexes  map[string]bool // indexes of the content parts whose text has been added to text
	otherContents []spec.Event    // content parts that are not text
	// contradiction is the event that completes the only text part, if its text differs from the
	// deltas, and nil otherwise.
	contradiction *spec.Event
	repeatedLen   int // number of bytes at the start of text that repeatsUnnamedText has matched
}

// A textFragment is the piece of the text of a message that one event contributed.
type textFragment struct {
	end   int // byte offset in the text at which the piece ends
	event *spec.Event
}

// maxPieces is the maximum number of pieces of text that are kept for each run. It limits the
// memory that a run with very many deltas takes.
const maxPieces = 4096

// An assembledCall is one tool call of an assembledRun, with its result if the stream has one.
type assembledCall struct {
	id, name string
	// arguments is JSON text: the joined deltas or, if the call came in one event, the text of that
	// event.
	arguments   strings.Builder
	result      string
	hasResult   bool
	inSnapshot  bool        // a snapshot of the messages has the result
	callEvent   *spec.Event // the first event of the call
	argsEvent   *spec.Event // the last event with arguments; nil if there is none
	endEvent    *spec.Event // the end of the call; nil if it has no event of its own
	resultEvent contentKey  // the message and the index of the event with the result
}

// text returns the joined text of all messages, without the reasoning and the errors.
func (a *assembledRun) text() string { return strings.Join(a.texts(false), "") }

// texts returns the text of each message of the answer or, if reasoning is true, of each section of
// reasoning. The texts are in the order in which the messages or sections started. Empty texts are
// left out.
func (a *assembledRun) texts(reasoning bool) (all []string) {
	for _, s := range a.messages {
		if s.is(reasoning) && s.text.Len() > 0 {
			all = append(all, s.text.String())
		}
	}
	return all
}

// firstPiece returns the first event with text of the earliest message that has text. If reasoning
// is true, sections of reasoning are searched instead of messages. If none has text, the result is
// nil.
func (a *assembledRun) firstPiece(reasoning bool) *spec.Event {
	for _, s := range a.messages {
		if s.is(reasoning) && len(s.pieces) > 0 {
			return s.pieces[0].event
		}
	}
	return nil
}

// startOfText returns the first event with text of the message with index n. The index starts at 0
// and counts only messages of the answer that have text. If that event is not known,
// startOfText returns the result of endEvent.
func (a *assembledRun) startOfText(n int) spec.Event {
	for _, s := range a.messages {
		if !s.is(false) || s.text.Len() == 0 {
			continue
		}
		if n == 0 && len(s.pieces) > 0 {
			return *s.pieces[0].event
		}
		n--
	}
	return a.endEvent()
}

// firstDifference returns the first event whose piece of text differs from want, the expected text
// of all messages. If reasoning is true, want is the expected text of all sections of reasoning
// instead. If there is no such event, or if it was not kept because of maxPieces, firstDifference
// returns the result of endEvent.
func (a *assembledRun) firstDifference(want string, reasoning bool) spec.Event {
	for _, s := range a.messages {
		if !s.is(reasoning) {
			continue
		}
		text := s.text.String()
		n := commonPrefixLen(text, want)
		i := slices.IndexFunc(s.pieces, func(piece textFragment) bool { return piece.end > n })
		switch {
		case i >= 0:
			return *s.pieces[i].event
		case n < len(text): // the piece was not kept
			return a.endEvent()
		}
		want = want[n:]
	}
	return a.endEvent()
}

// endEvent returns the event that reports the failure of the run or, if the run did not fail, the
// event for the end of the body. It is the evidence for a finding that something is missing from
// the run.
func (a *assembledRun) endEvent() spec.Event {
	if a.failure.Kind != "" {
		return a.failure
	}
	return a.bodyEnd
}

// observe adds e, the next event of the stream, to the run. It adds the output of subagents only to
// a.withSubagents.
func (a *assembledRun) observe(e spec.Event) {
	a.endUnknown = e.Kind == spec.Undecodable
	if isUnreadable(e) {
		a.unreadable++
	}
	a.refused = a.refused || e.Kind == spec.RunRefused && a.failure.Kind == "" && e.Frame == 0
	isSubagents := a.subagents.contains(e)
	if isSubagents && a.withSubagents == nil {
		a.withSubagents = &assembledRun{keep: a.keep, steps: slices.Clone(a.steps)}
	}
	if a.withSubagents != nil {
		a.withSubagents.addOutput(e)
	}
	if !isSubagents {
		a.addOutput(e)
	}
}

// addOutput adds e to the content of the run.
func (a *assembledRun) addOutput(e spec.Event) {
	if !a.hasSpoken {
		a.silence.observe(e, a.keep)
	}
	switch e = a.tracker.resolve(e); e.Kind {
	case spec.MessageStart, spec.MessageProgress, spec.ReasoningStart:
		a.messageFor(e).noteRoleAndType(e, a.keep)
	case spec.MessageDelta, spec.ReasoningDelta:
		s := a.messageFor(e)
		s.deltaIndexes[e.Index] = true
		a.addText(s, e, e.Text)
	case spec.ContentPart, spec.ContentEnd:
		a.addContent(a.messageFor(e), e)
	case spec.MessageEnd, spec.ReasoningEnd:
		if s := a.messagesByID[e.Message]; s != nil {
			s.noteRoleAndType(e, a.keep)
			if s.text.Len() == 0 && e.Text != "" { // the text is sent only in the last event
				a.addText(s, e, e.Text)
			}
		}
		a.endMessage(e)
	case spec.ToolStart, spec.ToolDelta, spec.ToolCall, spec.ToolResult:
		a.addToolEvent(e)
	case spec.ToolEnd:
		if call := a.callIndex.find(e); call != nil {
			call.endEvent = a.keep(e)
		}
	case spec.StateSnapshot, spec.StateDelta, spec.StepStart, spec.StepEnd:
		a.addMark(e)
	case spec.History: // a snapshot of the messages
		for _, result := range e.PartsOf(spec.HistoryTool) {
			if u := a.callIndex.byID[result.Call]; u != nil {
				u.inSnapshot = true
			}
		}
	case spec.Interrupt:
		if n := len(a.interrupts); n > 0 && a.interrupts[n-1].ID == "" && e.ID != "" {
			a.interrupts[n-1] = e // the same interrupt, for clients of another version
		} else {
			a.interrupts = append(a.interrupts, e)
		}
	case spec.RunError, spec.RunRefused:
		a.failure = e
	case spec.RunEnd:
		a.cancelled = e.Status == "cancelled"
	}
}

// messageFor returns the message to which e belongs. If the run does not have that message yet,
// messageFor adds it.
func (a *assembledRun) messageFor(e spec.Event) *assembledMessage {
	if s := a.messagesByID[e.Message]; s != nil {
		return s
	}
	s := &assembledMessage{id: e.Message, isReasoning: e.Kind.Subject() == "reasoning", deltaIndexes: map[string]bool{}}
	if a.messagesByID == nil {
		a.messagesByID = map[string]*assembledMessage{}
	}
	a.messages, a.messagesByID[e.Message] = append(a.messages, s), s
	return s
}

// is reports whether s is a section of reasoning (if reasoning is true) or a message of the answer
// (if reasoning is false). Messages that report an error are neither.
func (s *assembledMessage) is(reasoning bool) bool { return s.isReasoning == reasoning && !s.isError }

// noteRoleAndType sets s.role to a copy of e, made by keep, if e names a role and it is not the
// current role of the message. It also updates s.isError. The event e must be one for which
// isMessageStatus returns true.
func (s *assembledMessage) noteRoleAndType(e spec.Event, keep func(spec.Event) *spec.Event) {
	s.isError = s.isError || e.Type == "error"
	if e.Role != "" && (s.role == nil || s.role.Role != e.Role) {
		s.role = keep(e)
	}
}

// addContent adds e, a content part, to the message s. It ignores a text part that is not complete
// yet. It does not add the text of a part whose deltas have already been added. If such a part is
// the only text part of the message, and its text differs from the joined deltas, addContent sets
// s.contradiction.
func (a *assembledRun) addContent(s *assembledMessage, e spec.Event) {
	switch {
	case e.Type != "" && e.Type != "text":
		s.otherContents = append(s.otherContents, e)
	case e.Kind == spec.ContentEnd && !s.deltaIndexes[e.Index]:
		s.deltaIndexes[e.Index] = true
		a.addText(s, e, e.Text)
	case e.Kind == spec.ContentEnd && e.Text != "" && len(s.deltaIndexes) == 1 && e.Text != s.text.String():
		s.contradiction = a.keep(e)
	}
}

// addText appends text to the text of the message s. Unless the run already has maxPieces pieces,
// it also keeps e, the event that contains text.
func (a *assembledRun) addText(s *assembledMessage, e spec.Event, text string) {
	s.text.WriteString(text)
	if text != "" && s.is(false) {
		a.hasSpoken, a.hasSpokenSince = true, true
	}
	if a.pieceCount++; a.pieceCount <= maxPieces {
		s.pieces = append(s.pieces, textFragment{s.text.Len(), a.keep(e)})
	}
}

// endMessage adds the content parts that e, the end of a message, lists. It leaves out parts that
// the run already has.
func (a *assembledRun) endMessage(e spec.Event) {
	for i, part := range e.Parts {
		part = inheritContext(part, e)
		part.Index = strconv.Itoa(i) // the contents are in order of their index
		switch {
		case part.Kind == spec.ToolCall || part.Kind == spec.ToolResult:
			a.addToolEvent(part)
		case part.Type != "" && part.Type != "text":
			if s := a.messageFor(e); len(s.otherContents) == 0 {
				s.otherContents = append(s.otherContents, part)
			}
		case part.Text != "" && !a.repeatsUnnamedText(e, part.Text):
			if s := a.messageFor(e); len(s.deltaIndexes) == 0 {
				a.addText(s, part, part.Text)
			}
		}
	}
}

// repeatsUnnamedText reports whether text has already been received in deltas without a message id.
// The argument text is the text of one part of the message that end completes.
//
// Successive calls match successive pieces of these deltas: a piece that one call has matched is
// not considered by later calls. The result is false if the run has another event with the id of
// the message.
func (a *assembledRun) repeatsUnnamedText(end spec.Event, text string) bool {
	unnamed := a.messagesByID[""]
	if unnamed == nil || end.Message == "" || a.messagesByID[end.Message] != nil {
		return false
	}
	repeated := strings.HasPrefix(unnamed.text.String()[unnamed.repeatedLen:], text)
	if repeated {
		unnamed.repeatedLen += len(text)
	}
	return repeated
}

// addToolEvent adds e to the tool call to which it belongs. The event e must be the start of a
// call, a delta of the arguments, a complete call or a result.
func (a *assembledRun) addToolEvent(e spec.Event) {
	call := a.toolCallFor(e)
	switch e.Kind {
	case spec.ToolStart:
		call.name = e.Name
	case spec.ToolDelta:
		call.arguments.WriteString(e.Text)
		call.argsEvent = a.keep(e)
	case spec.ToolCall:
		call.name = e.Name
		call.arguments.Reset()
		call.arguments.WriteString(e.Text)
		call.argsEvent = a.keep(e)
	case spec.ToolResult:
		a.hasSpokenSince = a.hasSpokenSince && call.hasResult
		call.result, call.hasResult, call.resultEvent = e.Text, true, positionOf(e)
		byResult := a.callIndex.byResultPosition
		byResult[call.resultEvent] = byResult[call.resultEvent].with(call)
	}
}
