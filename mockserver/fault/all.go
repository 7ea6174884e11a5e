package fault

// All lists all faults, ordered by category.
var All = []*Fault{
	HTTPError, TooMany, HTML, Empty, Redirect, WrongStatus, WrongContentType, SlowHead,

	FirstMissing, StartLate, DoubleStart, ProgressMissing, EndMissing, DoubleEnd,
	EventAfterEnd, EndAfterError, ErrorAfterEnd, RunFails, FailureMissing, StackTrace,
	WrongRun, WrongThread, CreatedChanges, CompletedEarly, WrongSummary, SummaryShort,
	UnknownMessage, MessageNotStarted, MessageNotEnded, MessageOpenedTwice, LateDelta, ReusedMessageID, WrongMessage,
	WrongText, EmptyDelta, ContentNotEnded, ContentEndedTwice, ContentEmpty, WrongIndex,
	CallNotStarted, CallNotEnded, ReusedCallID, UnknownCall, ArgumentsBroken,
	ResultMissing, ResultTwice, UnknownResult, ResultEarly, InterruptNotLast,
	SeqSkipped, SeqRepeated, SeqFalls, Duplicated, Reordered, Lost,
	SentinelMissing, SentinelTwice,
	Malformed, BadUTF8, OtherFields, MissingMember, WrongType, WrongValue, UnknownEvent,

	ResumeLost, ResumeRepeated, ResumeFromStart, ResumeExpired, ResumeNewer, CursorMissing, CursorRepeated,

	CleanEnd, AbortEnd, AbortLate, ResetEnd, TornEnd, TornUTF8, StallEnd, Drip, Split, Together, Gathered, NoLastBlankLine,
	Garbage, Oversize, Gzip, Linger, NoKeepAlive, OtherKeepAlive, DifferentOnReplay,
}
