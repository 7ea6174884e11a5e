// Package spec defines the model that all other packages share: what went over the wire
// ([Trace]), its decoded form ([Event]), a rule ([Check]), a clause of a protocol
// ([Requirement]), and how they are applied to each other ([Run]). It does not depend on
// any dialect, HTTP client or test framework.
package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Kind is the type of an [Event], such as "message.delta". The kinds are the same in all
// dialects.
type Kind string

// Subject returns the part of the kind before the dot, such as "message" for "message.delta". It
// returns the whole kind if there is no dot.
func (k Kind) Subject() string { t, _, _ := strings.Cut(string(k), "."); return t }

// Phase returns the part of the kind after the dot, such as "delta" for "message.delta". It returns
// "" if there is no dot.
func (k Kind) Phase() string { _, p, _ := strings.Cut(string(k), "."); return p }

// InRun reports whether events of kind k describe a run and can occur in its stream. It
// returns false for comments, [Usage], and the kinds that only requests and replies have.
func (k Kind) InRun() bool {
	switch k.Subject() {
	case "step", "message", "reasoning", "content", "tool", "interrupt", "done", "state", "history":
		return true
	case "run":
		return k != RunAccepted
	}
	return false
}

// The kinds of events and of their parts, and the features of a dialect (SlotSeq and following).
// In a dialect's document, the x-kind of a schema is the kind of the events that match the schema.
const (
	HTTPRequest  Kind = "http.request"  // a request was sent
	HTTPResponse Kind = "http.response" // the status line and the header arrived
	BodyEnd      Kind = "http.close"    // the body ended; Err says how
	Comment      Kind = "comment"       // a comment line of a stream; Text is what follows the colon
	Incomplete   Kind = "rest"          // a frame that was incomplete when the stream ended
	// Undecodable is the kind of a frame or body that cannot be decoded, and of a frame that
	// matches no schema of the document. The field Err of the event is the reason.
	Undecodable Kind = "?"
	// Unrecognized is the kind of a frame or part whose schema does not state another kind with
	// x-kind. It is also the kind of a body that the document does not describe.
	Unrecognized Kind = "other"

	RunAccepted Kind = "run.accepted" // a reply: the run was accepted; another request streams it
	RunStart    Kind = "run.start"    // the run started
	RunProgress Kind = "run.progress" // the run continues; may be repeated
	RunEnd      Kind = "run.end"      // the run finished
	RunError    Kind = "run.error"    // the run failed, was cancelled or was rejected
	RunRefused  Kind = "run.refused"  // a frame in place of a run: the request was refused

	StepStart Kind = "step.start" // a step started; steps may be nested and may overlap
	StepEnd   Kind = "step.end"

	MessageStart    Kind = "message.start"
	MessageProgress Kind = "message.progress" // announces a message, or repeats that it is open
	MessageDelta    Kind = "message.delta"    // Text is appended to the message
	MessageEnd      Kind = "message.end"      // Parts are its content parts, if the frame repeats them
	ReasoningStart  Kind = "reasoning.start"  // like MessageStart, for reasoning
	ReasoningDelta  Kind = "reasoning.delta"  // like MessageDelta, for reasoning
	ReasoningEnd    Kind = "reasoning.end"    // like MessageEnd, for reasoning
	ContentPart     Kind = "content.part"     // a content part of a message so far; replaces its earlier state
	ContentEnd      Kind = "content.end"      // a complete content part of a message

	ToolStart  Kind = "tool.start"
	ToolDelta  Kind = "tool.delta" // Text is a piece of the arguments
	ToolEnd    Kind = "tool.end"
	ToolCall   Kind = "tool.call"   // a call in one frame; Text is the arguments so far, Status whether they are complete
	ToolResult Kind = "tool.result" // Text is the result

	StateSnapshot Kind = "state.snapshot" // Text is the state of the agent as JSON; "" is null
	StateDelta    Kind = "state.delta"    // Text is a JSON Patch (RFC 6902) for that state

	Interrupt Kind = "interrupt" // Text is the payload as compact JSON
	Usage     Kind = "usage"     // the numbers of tokens of the run; may follow its terminal event
	Done      Kind = "done"      // an in-band terminator such as [DONE]

	Problem        Kind = "problem"         // a reply: why a request was refused
	CancelAccepted Kind = "cancel.accepted" // a reply
	Health         Kind = "health"          // a reply
	History        Kind = "history"         // a reply, or a frame: the messages of a thread, as Parts

	// AttachmentStored is the kind of the reply to an upload. In the event, Name is the bucket of
	// the file, ID its path, Type its media type and Text a link to it.
	AttachmentStored Kind = "attachment.stored"
	// AttachmentSigned is the kind of a reply with a new link to a stored file.
	AttachmentSigned  Kind = "attachment.signed"
	AttachmentContent Kind = "attachment"  // the response for a link: Type is the media type, Text the bytes
	Transcription     Kind = "transcribed" // a reply: Text is the transcription
	Reply             Kind = "reply"       // any other documented reply

	// HistoryUser and the following kinds are those of the parts of a History.

	HistoryUser      Kind = "told.user"      // a user's message: Text
	HistoryAssistant Kind = "told.assistant" // the assistant's answer: Text
	HistoryTool      Kind = "told.tool"      // a tool result: Text, and Call if the history has it
	HistoryImage     Kind = "told.image"     // an image within a HistoryUser: Type is its media type, Text a link

	// InputSystem and the following kinds are those of the parts of a request.

	InputSystem     Kind = "ask.system"    // a system message: Text
	InputUser       Kind = "ask.user"      // the user's message: Text
	InputAssistant  Kind = "ask.assistant" // an earlier answer, repeated by the client
	InputToolResult Kind = "ask.tool"      // the result of a client tool: Call, Text
	InputResume     Kind = "ask.resume"    // the reply to an interrupt: ID, Text
	InputTool       Kind = "ask.tool-spec" // a client tool: Name, Description, and in Text the schema of its arguments
	InputImage      Kind = "ask.image"     // an image within an InputUser: Type is its media type, Text its URL
	InputFile       Kind = "ask.file"      // an uploaded file: Name, Type its media type, Text its bytes

	// SlotSeq and the following kinds are not those of events. They denote features of a dialect.

	SlotSeq     Kind = "slot.seq"     // events carry sequence numbers
	SlotIndex   Kind = "slot.index"   // content parts carry their position in the message
	SlotCursor  Kind = "slot.cursor"  // a stream can be requested from a cursor on
	SlotMessage Kind = "slot.message" // deltas name their message
	SlotRun     Kind = "slot.run"     // events name their run
	SlotThread  Kind = "slot.thread"  // events name their thread
	SlotChunk   Kind = "slot.chunk"   // deltas may be chunks, which imply the start and the end of what they belong to
)

// EventStream is the media type of an event stream.
const EventStream = "text/event-stream"

// An Event is one item of a decoded conversation, such as a request, a response or a frame, with
// the bytes from which it was decoded. If only certain events have a field, the comment on the
// field names their kinds or what they are about: "HTTPRequest: …", "of a tool".
//
// The fields from Thread to Lane, and AnswerSchema, are called slots. The document of a dialect
// states which member of a frame, request or reply fills which slot (x-slot). A slot holds a string
// unchanged, a number in canonical form, and any other value as compact JSON. It is "" if the value
// is absent or null.
type Event struct {
	Kind      Kind
	Exchange  int       // which exchange of the conversation, from 0
	Operation string    // the requested operation; opaque to checks, which only compare it
	Principal Principal // who sent the request

	Thread      string // id of the thread
	User        string // HTTPRequest: the thread's owner, if the body names one
	Run         string // id of the run
	Message     string // id of the message, or of the one it belongs to
	Call        string // id of the tool call, or of the one it belongs to
	ID          string // id of anything else: a task, an interrupt
	Name        string // of a tool, a file or a step of a run; of a request without a JSON body: its template
	Role        string // of a message
	Type        string // of a message or content part; of a step of a run: what the events within it are about
	Status      string // of a run, message or content part
	Index       string // of a content part: its position in the message, from 0
	Text        string // the prompt, delta, content part, arguments, result, payload or error message
	Seq         string // sequence number of a frame in its stream, or of a message in a history
	Cursor      string // where the stream can be resumed; HTTPRequest: where to resume it
	Code        string // error code of a refusal or of a failed run
	Created     string // time stamp of the start of what the event is about
	Completed   string // time stamp of the end of what the event is about
	PollLimit   string // the number of polls without an event after which a stream ends
	Day         string // day of the messages of a history (2026-01-31); HTTPRequest: the history must be of an earlier day
	HasMore     string // of a history: "true" if an earlier day has messages, otherwise "false"
	Description string // of a tool
	State       string // HTTPRequest: the state of the agent that the client sends, as JSON
	Lane        string // of an event in a run: run id of the subagent that it is about; "" for the agent itself
	WireName    string // of a frame: its name on the wire, such as "response (status completed)"

	AnswerSchema string // of an interrupt: the JSON Schema that the answer must match, as JSON; "" if any may

	Texts []string // of a message in a request with a list of parts: the texts of the parts, which make up Text
	Parts []Event  // content parts of a message, messages of a request or history; nil if there is no list of them

	StatusCode int    // HTTPResponse: received; HTTPRequest: documented for success, 0 for any 2xx
	MediaType  string // HTTPResponse: received; HTTPRequest: documented for success
	JSONLines  bool   // HTTPResponse: the body is a stream of JSON lines, which the document allows
	Header     Header // HTTPRequest, HTTPResponse

	Request *RequestFacts // HTTPRequest: what is known about it besides its content; see Facts

	Violations  []Violation    // the constraints of the document that the event violates
	Exercised   []string       // ids of the requirements that the event exercises and meets
	Requirement string         // id of the requirement for which the event is evidence; "" if unknown
	Flaws       []EncodingFlaw // defects of the bytes themselves
	Fields      []string       // of a frame: the names of its SSE fields, in order

	// Implied is true if no frame represents the event, but another frame implies it. For example,
	// the first chunk of a message implies the start of the message.
	Implied bool
	IsChunk bool // of a delta: its frame may imply the start and the end of what it belongs to

	At     time.Duration // time since the start of the conversation
	Frame  int           // index of the frame in its exchange, from 0; -1 if the event is not a frame
	Line   int           // line of the body where the event begins, from 1
	Offset int           // byte offset in the body where the event begins, from 0
	Raw    []byte        // the bytes as received, without the blank line after a frame; nil if there are none
	// EndsWithCR is true if the last line of a comment, or the blank line after a frame, ends with
	// CR or CRLF.
	EndsWithCR bool
	// Err depends on the kind. Undecodable: why decoding failed. BodyEnd: why the body is
	// incomplete, or nil (see [Response].End). HTTPRequest: [ErrRequestNotRecorded] or nil.
	// HTTPResponse: why no status line was received, or nil.
	Err error
}

// RequestFacts holds what is known about a request besides its content: its request line, what the
// document and the user's options specify for the request and its response, and what a mock server
// did with it.
type RequestFacts struct {
	Method, Target string // the method and the target in the request line

	Scripted    bool                    // the tested server understands the test prompts, so its answers can be judged
	Lacked      bool                    // the prompt of the request is one of [TargetFacts.LackedCapabilities]
	HasTimes    bool                    // the arrival times of the parts of the response's body are known
	StreamLimit int                     // number of concurrent streams that a user may have; 0: unknown
	WireNames   map[Kind]string         // names of the response's frames on the wire, by kind
	Denials     DenialRequirements      // how the request must be refused if its sender lacks permission
	Promised    StreamRequirements      // requirements on a streamed response
	Reply       Kind                    // kind of a successful response that is not streamed; "" if none is documented
	Features    func() []RequestFeature // returns the features of the request; nil if they are unknown

	// Omitted contains the ids of the requirements that the request exercises by omitting a
	// parameter or member whose absence has a documented meaning (x-absent).
	Omitted []string

	Rule      string // mock only: the name of the script's rule that matched; "" if none did
	Unmatched string // mock only: why no rule of the script matched; "" if one did or none was needed
	Faulty    bool   // mock only: a fault changed the response
}

// A RequestFeature is a feature of a valid request that other valid requests may lack, such as null
// for an optional member.
type RequestFeature struct {
	Name        string // such as "with null for /seed"
	Requirement string // id of the requirement that is exercised if the request is accepted, or ""

	// IsUsual is true for a feature that many valid requests have: an optional member is present,
	// or a member has a certain value of its enumeration.
	IsUsual bool

	// IsValue is true for a feature that states the value of a member, such as "with 5 for /n". The
	// value may differ in each request.
	IsValue bool
}

// Facts returns the facts about the request e. It returns the zero value if e is not an
// HTTPRequest.
func (e Event) Facts() RequestFacts {
	if e.Request == nil {
		return RequestFacts{}
	}
	return *e.Request
}

// IsStream reports whether e.MediaType is that of an event stream. For an HTTPResponse, this is the
// media type of the response, whatever its status; a stream of JSON lines counts as an event stream
// if the document allows it. For an HTTPRequest, it is the media type that the document specifies
// for a successful response. IsStream must not be used for other kinds.
func (e Event) IsStream() bool { return e.MediaType == EventStream || e.JSONLines }

// IsFrame reports whether the event was decoded from a complete frame of an event stream. Comments
// do not count as frames.
func (e Event) IsFrame() bool { return e.Frame >= 0 && e.Kind != Comment && e.Kind != Incomplete }

// Valid reports whether the event violates no constraint of the document. A valid request must not
// be refused because of its content.
func (e Event) Valid() bool { return len(e.Violations) == 0 }

// MayBeAccepted reports whether the document permits a server to accept the request e. A valid
// request may always be accepted. An invalid request may be accepted if the document specifies
// refusals for each of its violations and none of these refusals is mandatory. A refusal is
// mandatory unless its level is [May] or its field Accept is true.
func (e Event) MayBeAccepted() bool {
	isMandatory := func(d RefusalRequirement) bool { return d.Level != May && !d.Accept }
	return !slices.ContainsFunc(e.Violations, func(b Violation) bool {
		return len(b.Refusals) == 0 || slices.ContainsFunc(b.Refusals, isMandatory)
	})
}

// DisplayName returns the name of the event for messages. That is the name on the wire or, if the
// event has none, a description such as "a comment".
func (e Event) DisplayName() string {
	switch {
	case e.WireName != "":
		return e.WireName
	case e.Kind == Undecodable && e.Err != nil:
		return "an event that cannot be read (" + e.Err.Error() + ")"
	case e.Kind == Undecodable:
		return "an event that cannot be read"
	case e.Kind == Unrecognized:
		return "an unknown event"
	case e.Kind == Comment:
		return "a comment"
	}
	return "an event of the kind " + string(e.Kind)
}

// KindName returns the name on the wire of frames of kind k in the response to the request e. If
// the dialect has no name for such frames, KindName returns fallback, a description such as "the
// end of the run".
func (e Event) KindName(k Kind, fallback string) string {
	if text := e.Facts().WireNames[k]; text != "" {
		return text
	}
	return fallback
}

// PartsOf returns the parts of e that have kind k, such as the user messages of a history, in their
// order in e. It returns nil if there are none.
func (e Event) PartsOf(k Kind) (parts []Event) {
	for _, p := range e.Parts {
		if p.Kind == k {
			parts = append(parts, p)
		}
	}
	return parts
}

// Last returns the last part of e that has kind k, and true. If there is no such part, it returns
// the zero Event and false.
func (e Event) Last(k Kind) (part Event, ok bool) {
	for _, p := range e.Parts {
		if p.Kind == k {
			part, ok = p, true
		}
	}
	return part, ok
}

// Prompt returns the text of the last user message of the request e, and true. It returns "" and
// false if the request has no user message, or if a tool result or a reply to an interrupt follows
// the last one. In the latter case, the server answers that result or reply instead of the message.
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

// A Violation states which constraint of the document a request, frame or reply violates, and
// where.
type Violation struct {
	Location    string               // such as "body /runId" in a request, or "/runId" in a frame or reply
	Pointer     string               // JSON pointer to the value; "" if it is not inside a body or frame
	Message     string               // what was found and what is expected, as a sentence
	Requirement string               // id of the violated requirement; "" if the document names none
	SchemaPath  string               // JSON pointer to the constraint's keyword in the document
	Refusals    []RefusalRequirement // of a request: how it must be refused; empty if unspecified
}

// String returns the message of the violation.
func (b Violation) String() string { return b.Message }

// A RefusalRequirement states what one requirement demands of the refusal of a request. If several
// requirements apply to a refusal, each of them is judged separately.
type RefusalRequirement struct {
	Requirement string   // id of the requirement
	Level       Level    // level of the requirement; set only in [Violation.Refusals]
	Status      []string // the accepted statuses, such as "422" or "4XX"; any from 400 on if empty
	Code        []string // the accepted error codes; any if empty
	Text        string   // text that the body must contain; "" if there is none
	Plain       bool     // the response must not be an event stream
	InBand      bool     // a refusal in a stream, such as a [RunRefused] frame, is accepted too
	Accept      bool     // a successful response is accepted too
	Comment     string   // explanation for the reader of a finding
}

// DenialRequirements maps each reason for which a valid request may be refused because of its
// principal to the requirements on that refusal. A reason for which the document has no
// requirements is absent.
type DenialRequirements map[DenialReason][]RefusalRequirement

// StreamRequirements holds what the document states about a streamed response. Status, MediaType
// and ContentCoding are ids of requirements on these properties of the response; they are "" if the
// document has no such requirement.
type StreamRequirements struct {
	Status        string   // requires that the status be 200
	MediaType     string   // requires that the body be an event stream
	ContentCoding string   // forbids content codings that the client did not accept
	JSONLines     []string // media types of JSON lines, one for each event, that are allowed in place of an event stream
	HasEndEvent   bool     // the document describes an event that ends the run
	KeepAlive     string   // the text, after the colon, of the comments on an idle stream; "": any text
	Fields        []string // names of the SSE fields, besides data, that frames may have
	FailureStatus []string // statuses of the response to a run that fails before it has a stream, such as "5XX"
	MayReorder    bool     // the server may send events in another order than the agent produced them
}

// A DenialReason is a reason to refuse a valid request because of who sent it.
type DenialReason string

// The reasons for which a request of a principal may be denied.
const (
	DeniedAnonymous   DenialReason = "nobody"   // the request has no credentials
	DeniedUnknownUser DenialReason = "stranger" // its credentials were never issued
	DeniedOtherUser   DenialReason = "other"    // what it asks for belongs to another user
	DeniedStreamLimit DenialReason = "crowd"    // the user has reached the limit of concurrent streams
)

// An EncodingFlaw is a defect of the bytes of a frame or body, such as invalid UTF-8.
type EncodingFlaw struct {
	Kind   EncodingFlawKind
	Detail string // what is wrong, for messages; may be ""
}

// An EncodingFlawKind is the type of a [EncodingFlaw].
type EncodingFlawKind string

// The kinds of flaws that the bytes of a frame or body can have.
const (
	FlawUTF8         EncodingFlawKind = "utf-8"        // not valid UTF-8
	FlawUnterminated EncodingFlawKind = "unterminated" // no blank line follows the last frame of a stream
	FlawJSON         EncodingFlawKind = "json"         // not JSON
	FlawTooLarge     EncodingFlawKind = "too-large"    // larger than the decoder's limit
)

// String returns the kind and the detail of the flaw, such as "json: unexpected end".
func (f EncodingFlaw) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s", f.Kind, f.Detail))
}
