package spec

// DocumentKinds lists the kinds that a document may give to a schema with the extension x-kind: the
// kinds of frames and replies, of the parts of both, and of the parts of requests.
var DocumentKinds = []Kind{
	Unrecognized,
	RunAccepted, RunStart, RunProgress, RunEnd, RunError, RunRefused,
	StepStart, StepEnd,
	MessageStart, MessageProgress, MessageDelta, MessageEnd,
	ReasoningStart, ReasoningDelta, ReasoningEnd, ContentPart, ContentEnd,
	ToolStart, ToolDelta, ToolEnd, ToolCall, ToolResult,
	StateSnapshot, StateDelta,
	Interrupt, Usage,
	Problem, CancelAccepted, Health, History,
	AttachmentStored, AttachmentSigned, AttachmentContent, Transcription, Reply,
	HistoryUser, HistoryAssistant, HistoryTool, HistoryImage,
	InputSystem, InputUser, InputAssistant, InputToolResult, InputResume, InputTool, InputImage, InputFile,
}
