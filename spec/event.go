// Package spec holds the words every part of this project speaks: what goes over
// the wire ([Trace]), what happens there ([Event]), what must hold ([Check]), who
// demands it ([Requirement]) and how they meet ([Run]). It knows no dialect, no
// HTTP client and no test framework.
package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Kind names what happened, in the words of no dialect: "message.delta".
type Kind string

// Subject is the part before the dot: "message".
func (k Kind) Subject() string { t, _, _ := strings.Cut(string(k), "."); return t }

// Phase is the part after the dot: "delta".
func (k Kind) Phase() string { _, p, _ := strings.Cut(string(k), "."); return p }

// The kinds. A dialect's document says with x-kind which of its schemas means
// which of these.
const (
	HTTPRequest  Kind = "http.request"  // the client asked for something
	HTTPResponse Kind = "http.response" // status line and headers arrived
	BodyEnd      Kind = "http.close"    // the body ended; Err says how
	Comment      Kind = "comment"       // a comment line of a stream; Text is what follows the colon
	Incomplete   Kind = "rest"          // what stands after the last blank line of a stream: an unfinished frame
	Undecodable  Kind = "?"             // a frame or body that cannot be read; Err says why
	Unrecognized Kind = "other"         // a frame that can be read and means nothing to us

	RunAccepted Kind = "run.accepted" // a reply: the run will be told elsewhere
	RunStart    Kind = "run.start"
	RunProgress Kind = "run.progress" // the run goes on; may be repeated
	RunEnd      Kind = "run.end"      // it ended well
	RunError    Kind = "run.error"    // it failed, was canceled or rejected
	RunRefused  Kind = "run.refused"  // a frame instead of a run: the request was turned down

	StepStart Kind = "step.start"
	StepEnd   Kind = "step.end"

	MessageStart    Kind = "message.start"
	MessageProgress Kind = "message.progress" // announces a message, or says again that it is open
	MessageDelta    Kind = "message.delta"    // Text is to be appended
	MessageEnd      Kind = "message.end"      // Parts: its contents, where the frame repeats them
	ReasoningStart  Kind = "reasoning.start"  // as message.*, for what is not the answer
	ReasoningDelta  Kind = "reasoning.delta"
	ReasoningEnd    Kind = "reasoning.end"
	ContentPart     Kind = "content.part" // a content of a message, or its state so far: replaces what was there
	ContentEnd      Kind = "content.end"  // a content of a message, whole

	ToolStart  Kind = "tool.start"
	ToolDelta  Kind = "tool.delta" // Text is a piece of the arguments
	ToolEnd    Kind = "tool.end"
	ToolCall   Kind = "tool.call"   // a call in one piece; Text is the arguments so far, Status says whether whole
	ToolResult Kind = "tool.result" // Text is the result

	Interrupt Kind = "interrupt" // Text is the payload as compact JSON
	Done      Kind = "done"      // an in-band terminator such as [DONE]

	Problem           Kind = "problem"           // a reply: why a request was refused
	CancelAccepted    Kind = "cancel.accepted"   // a reply
	Health            Kind = "health"            // a reply
	History           Kind = "history"           // a reply: what was said in a conversation; Parts
	AttachmentStored  Kind = "attachment.stored" // a reply to an upload: Name is its bucket, ID its path, Type its media type, Text a link to it
	AttachmentSigned  Kind = "attachment.signed" // a reply: a new link to what was uploaded; likewise
	AttachmentContent Kind = "attachment"        // what a link leads to: Type is its media type, Text its bytes
	Transcription     Kind = "transcribed"       // a reply: Text is what was said
	Reply             Kind = "reply"             // any other documented reply

	// Parts of a history.
	HistoryUser      Kind = "told.user"      // Text is what the user said
	HistoryAssistant Kind = "told.assistant" // what was answered
	HistoryTool      Kind = "told.tool"      // what a tool gave
	HistoryImage     Kind = "told.image"     // part of told.user: Type is its media type, Text a link to it

	// Parts of requests.
	InputSystem     Kind = "ask.system"
	InputUser       Kind = "ask.user"      // Text is what the user says
	InputAssistant  Kind = "ask.assistant" // repeated history
	InputToolResult Kind = "ask.tool"      // a client tool's result: Call, Text
	InputResume     Kind = "ask.resume"    // an answer to an interrupt: ID, Text
	InputTool       Kind = "ask.tool-spec" // a tool that the client offers: Name, About, and Text, the schema of its arguments
	InputImage      Kind = "ask.image"     // part of ask.user: an image: Type is its media type, Text its address
	InputFile       Kind = "ask.file"      // a file that is uploaded: Name is the client's, Type its media type, Text its bytes

	// Not events, but words all the same: what events and requests can carry.
	SlotSeq     Kind = "slot.seq"     // events carry sequence numbers
	SlotIndex   Kind = "slot.index"   // contents carry their place in the message
	SlotCursor  Kind = "slot.cursor"  // a stream can be asked for from a cursor on
	SlotMessage Kind = "slot.message" // deltas name their message
	SlotRun     Kind = "slot.run"     // events name their run
	SlotThread  Kind = "slot.thread"  // events name their thread
)

// EventStream is the media type of a stream.
const EventStream = "text/event-stream"

// An Event is one thing that happened, with the bytes that prove it. The slots
// are strings as JSON spells the value (numbers in canonical form); "" is absent
// or null.
type Event struct {
	Kind      Kind
	Exchange  int       // which exchange of the conversation, from 0
	Operation string    // the operation asked for; rules compare it, they never read it
	Principal Principal // who asked

	Thread      string // which conversation
	User        string // Asked: whose conversation it is, where the body says so
	Run         string // whose run
	Message     string // which message it is, or belongs to
	Call        string // which tool call it is, or belongs to
	ID          string // what else has an id: a task, an interrupt
	Name        string // of a tool, a step; of a request without a body, or with a file, the phrase it says
	Role        string // of a message
	Type        string // of a message or content
	Status      string // of a run, message or content
	Index       string // place in the message
	Text        string // prompt, delta, content, arguments, result, payload, error message
	Seq         string // sequence number
	Cursor      string // where the stream can be, or is to be, taken up again
	Code        string // why a request was refused or a run failed
	Created     string // a time stamp: when it began
	Completed   string // likewise: when it ended
	PollLimit   string // how many silent polls a stream may have before it is ended
	Day         string // a day: of a history, or before which one is asked for
	HasMore     string // of a history: whether an earlier day has any
	Description string // what a tool is for
	WireName    string // of a frame: what it is called on the wire: RUN_FINISHED, "response completed"

	Parts []Event // what stands inside: contents of a message, messages of a request

	StatusCode int    // Answered: the status code. Asked: the one the document promises; 0: any success
	MediaType  string // likewise, the media type
	Header     Header // Asked, Answered

	WireNames map[Kind]string // Asked: what the frames of the answer are called on the wire, by kind

	Scripted    bool               // Asked: the target can be held to the content of its answer
	StreamLimit int                // Asked: how many streams at once the target allows a user; 0: nobody said
	Denials     DenialRequirements // Asked: how the document wants those refused who may not ask
	Violations  []Violation        // where it breaks the document
	Exercised   []string           // the requirements that the document sees exercised and kept in it
	Omitted     []string           // Asked: the requirements on what it means that something was left out
	Promised    StreamRequirements // Asked: the requirements on the answer, if it is to be a stream
	Requirement string             // the requirement that this is evidence for, if it is known
	Flaws       []Flaw             // what is wrong with the bytes themselves
	Fields      []string           // of a frame: the names of its SSE fields, in order

	At     time.Duration // since the conversation began
	Frame  int           // which frame of its exchange, from 0; -1: no frame
	Line   int           // where in the body it began, from 1
	Offset int           // likewise in bytes, from 0
	Raw    []byte        // exactly what arrived; nil for what has no body
	Err    error         // Unknown: why it cannot be read. Closed: how the body ended. Asked: [ErrUnrecorded] or nil
}

// IsStream says that a response is, or is promised to be, a stream.
func (e Event) IsStream() bool { return e.MediaType == EventStream }

// IsFrame says that the event came as a frame of a stream.
func (e Event) IsFrame() bool { return e.Frame >= 0 && e.Kind != Comment && e.Kind != Incomplete }

// Valid says that a request has no fault that the document knows.
func (e Event) Valid() bool { return len(e.Violations) == 0 }

// MayBeAccepted reports whether a request may be answered like one without fault: the document
// permits that each of its faults is refused, and demands it of none.
func (e Event) MayBeAccepted() bool {
	demanded := func(d RefusalRequirement) bool { return d.Level != May }
	return !slices.ContainsFunc(e.Violations, func(b Violation) bool { return len(b.Refusals) == 0 || slices.ContainsFunc(b.Refusals, demanded) })
}

// DisplayName is what an event is called in a message: as its dialect spells it, where it does.
func (e Event) DisplayName() string {
	switch {
	case e.WireName != "":
		return e.WireName
	case e.Kind == Undecodable:
		return "an event that cannot be read"
	case e.Kind == Unrecognized:
		return "an unknown event"
	case e.Kind == Comment:
		return "a comment"
	}
	return "an event of the kind " + string(e.Kind)
}

// KindName is what frames of a kind are called in the answer to a request, or else, in words.
func (e Event) KindName(k Kind, words string) string {
	if text := e.WireNames[k]; text != "" {
		return text
	}
	return words
}

// Last is the last part of a kind, and whether there is one.
func (e Event) Last(k Kind) (part Event, ok bool) {
	for _, p := range e.Parts {
		if p.Kind == k {
			part, ok = p, true
		}
	}
	return part, ok
}

// Prompt is the text of the last user message of a request, unless something
// after it (a tool's result, a resume) is what is to be answered.
func (e Event) Prompt() (text string, ok bool) {
	for _, p := range e.Parts {
		switch p.Kind {
		case InputUser:
			text, ok = p.Text, true
		case InputToolResult, InputResume:
			text, ok = "", false
		}
	}
	return text, ok
}

// A Violation is one constraint of the document that a request, frame or reply
// breaks.
type Violation struct {
	Location    string               // "body /runId", "query runId"
	Pointer     string               // into the body, where it is about the body
	Message     string               // what was found there and what would be right, a whole sentence
	Requirement string               // the requirement behind it, if the document names one
	SchemaPath  string               // the constraint itself: a pointer into the document that ends with the keyword
	Refusals    []RefusalRequirement // of a request: how it is to be refused; none: the document does not say
}

func (b Violation) String() string { return b.Message }

// A RefusalRequirement is one thing that the document wants of a refusal. Each demand is a
// judgement of its own, for its own requirement.
type RefusalRequirement struct {
	Requirement string   // the requirement behind it
	Level       Level    // how much that matters
	Status      []string // any of these fits: "422", "4XX"; none: any status from 400 on
	Code        []string // any of these, none: any
	Text        string   // the body must contain this, "": need not
	Plain       bool     // it must not be an event stream
	InBand      bool     // a stream of one [RunRefused] frame fits as well
	Comment     string   // why, for the reader of a finding
}

// DenialRequirements are the demands on a refusal that has nothing to do with what is asked, by
// the reason for it.
type DenialRequirements map[DenialReason][]RefusalRequirement

// StreamRequirements are the requirements on the head of the answer to a request for a stream, by
// what they are about; "" where none is about it alone.
type StreamRequirements struct {
	Status        string // that it is 200
	MediaType     string // that it is an event stream
	ContentCoding string // that it has no content coding which was not asked for
	HasEndEvent   bool   // an event is to tell its end
}

// A DenialReason is why somebody may not ask what another may.
type DenialReason string

// The denials.
const (
	DeniedAnonymous   DenialReason = "nobody"   // there are no credentials
	DeniedUnknownUser DenialReason = "stranger" // there are, and nobody handed them out
	DeniedOtherUser   DenialReason = "other"    // what is asked about is somebody else's
	DeniedStreamLimit DenialReason = "crowd"    // the user has as many streams open as are allowed
)

// A Flaw is something wrong with the bytes of a frame or body themselves.
type Flaw struct {
	Kind   FlawKind
	Detail string
}

// A FlawKind says what sort of flaw it is.
type FlawKind string

// The flaws.
const (
	FlawUTF8         FlawKind = "utf-8"        // not valid UTF-8
	FlawUnterminated FlawKind = "unterminated" // a stream's last frame has no blank line after it
	FlawJSON         FlawKind = "json"         // not JSON
	FlawTooLarge     FlawKind = "too-large"    // more than the reader was willing to hold
)

func (f Flaw) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s", f.Kind, f.Detail))
}
