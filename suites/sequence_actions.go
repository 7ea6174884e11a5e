package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A actionType is a kind of step. Whether a target can be asked for it is read from the
// dialect's document and from what the target was said to lack, and when it can be done
// from what was done before: a deed without something to go on with is not planned.
type actionType struct {
	name         string
	doc          string // in words; % is what it is done to
	weight       int    // how often it is drawn, beside others
	isSupported  precondition
	subjects     func(p *sequencePlan) []int       // what it can be done to now
	recordEffect func(p *sequencePlan, s action)   // what there is to go on with afterwards; nil: no more than before
	perform      func(a *sequencePlayer, s action) // where the server did not play its part, nothing
}

// What deeds are done to.
func inConversation(*sequencePlan) []int   { return []int{1, 1, 2} } // most happens in one of them
func withoutSubject(*sequencePlan) []int   { return []int{1} }
func onOpenedRun(p *sequencePlan) []int    { return p.runs }
func onUploadedFile(p *sequencePlan) []int { return p.uploads }
func onObservedRun(p *sequencePlan) []int {
	return slices.DeleteFunc(slices.Clone(p.runs), func(n int) bool { return !p.observedRuns[n] })
}

// What deeds leave behind.
func addRun(p *sequencePlan, s action)         { p.runs = append(p.runs, s.number) }
func addObservedRun(p *sequencePlan, s action) { addRun(p, s); p.observedRuns[s.number] = true }
func markObserved(p *sequencePlan, s action)   { p.observedRuns[s.subject] = true }
func addUpload(p *sequencePlan, s action)      { p.uploads = append(p.uploads, s.number) }

// actionTypes are all that a sequence is made of.
var actionTypes = slices.Concat(runActions, streamActions, storageActions, hostileActions)

// runActions are the deeds that open runs.
var runActions = []actionType{
	{
		name: "say", doc: "say something in conversation %, and hear the answer", weight: 6,
		isSupported: hasTemplates("prompt"), subjects: inConversation, recordEffect: addObservedRun, perform: (*sequencePlayer).sendPrompt,
	}, {
		name: "recall", doc: "ask in conversation % what was said before", weight: 5,
		isSupported: hasTemplates("prompt").unlessLacking("recall"), subjects: inConversation, recordEffect: addObservedRun,
		perform: func(a *sequencePlayer, s action) { a.startAndReadRun(s, "prompt", a.PromptEvent("recall", "")) },
	}, {
		name: "open", doc: "open a run in conversation %, and do not listen", weight: 6,
		isSupported: hasTemplates("prompt", "listen").unlessLacking("slow"), subjects: inConversation, recordEffect: addRun,
		perform: func(a *sequencePlayer, s action) { a.startRun(s, "prompt", a.PromptEvent("slow", slowPromptArgs)) },
	}, {
		name: "hang-up", doc: "say something in conversation %, and hang up before the end of the answer", weight: 3,
		isSupported: respondsWithStream("prompt").unlessLacking("slow"), subjects: inConversation, recordEffect: addRun, perform: (*sequencePlayer).disconnect,
	}, {
		name: "together", doc: "two runs at the same time, one in each conversation", weight: 3,
		isSupported: needsTwoStreams(hasTemplates("prompt").unlessLacking("slow")), subjects: withoutSubject, perform: (*sequencePlayer).runConcurrently,
	}, {
		name: "offer", doc: "offer a tool in conversation %, and be asked to use it", weight: 3,
		isSupported: hasTemplates("tool-offer", "tool-result").unlessLacking("client-tool"), subjects: inConversation,
		recordEffect: func(p *sequencePlan, s action) {
			addObservedRun(p, s)
			p.serverRequests = append(p.serverRequests, s.number)
		},
		perform: func(a *sequencePlayer, s action) {
			offer := a.PromptEvent("client-tool", `{"color":"blue"}`)
			offer.Name = "paint"
			a.startAndReadRun(s, "tool-offer", offer)
			if id := a.lastToolCall(); id != "" {
				a.addPendingReply(s, pendingReply{"tool-result", spec.Event{Call: id, Name: "paint", Text: "painted it blue"}})
			}
		},
	}, {
		name: "interrupt", doc: "have the server ask for approval in conversation %", weight: 3,
		isSupported: hasTemplates("prompt", "resume").andKind(spec.Interrupt).unlessLacking("interrupt"), subjects: inConversation,
		recordEffect: func(p *sequencePlan, s action) {
			addObservedRun(p, s)
			p.serverRequests = append(p.serverRequests, s.number)
		},
		perform: func(a *sequencePlayer, s action) {
			a.startAndReadRun(s, "prompt", a.PromptEvent("interrupt", `{"question":"Delete 3 files?"}`))
			if asked := a.LastEvent(spec.Interrupt); asked.ID != "" {
				a.addPendingReply(s, pendingReply{"resume", spec.Event{ID: asked.ID, Text: "approved"}})
			}
		},
	}, {
		name: "answer", doc: "answer what the server asked for in step %", weight: 6,
		isSupported: func(*Target) bool { return true },
		subjects:    func(p *sequencePlan) []int { return p.serverRequests },
		recordEffect: func(p *sequencePlan, s action) {
			p.serverRequests = slices.DeleteFunc(slices.Clone(p.serverRequests), func(n int) bool { return n == s.subject })
			addObservedRun(p, s)
		},
		perform: (*sequencePlayer).sendPendingReply,
	},
}

// streamActions are the deeds about a run that was opened before.
var streamActions = []actionType{
	{
		name: "follow", doc: "hear the run of step % from its start to its end", weight: 5,
		isSupported: hasTemplates("listen"), subjects: onOpenedRun, recordEffect: markObserved, perform: func(a *sequencePlayer, s action) { a.readRun(s, "", 0) },
	}, {
		name: "leave", doc: "hear the run of step %, and leave after a few events", weight: 5,
		isSupported: hasTemplates("listen"), subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) { a.readRun(s, "", 1+int(s.choice%5)) },
	}, {
		name: "return", doc: "take the run of step % up again where it was left", weight: 7,
		isSupported: hasTemplates("listen").andKind(spec.SlotCursor).unlessLacking("resume"), subjects: onObservedRun,
		perform: func(a *sequencePlayer, s action) {
			if heard := a.seenCursors[s.subject]; len(heard) > 0 {
				a.readRun(s, heard[len(heard)-1-int(s.choice%uint64(min(2, len(heard))))], 0)
			}
		},
	}, {
		name: "both", doc: "hear the run of step % twice at the same time", weight: 2,
		isSupported: needsTwoStreams(hasTemplates("listen")), subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) {
			if a.selectRun(s.subject) {
				listen := a.BuildRequest("listen", spec.Event{})
				a.DuringStream(listen, 1, func() { a.send(listen, wire.StopWhen{}) })
				a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(2)...)
			}
		},
	}, {
		name: "cancel", doc: "cancel the run of step %", weight: 4,
		isSupported: hasTemplates("prompt", "cancel").unlessLacking("cancel"), subjects: onOpenedRun,
		perform: func(a *sequencePlayer, s action) {
			if a.selectRun(s.subject) {
				a.sendTemplate("cancel")
			}
		},
	}, {
		name: "cancel-heard", doc: "cancel the run of step % while it is heard", weight: 3,
		isSupported: hasTemplates("listen", "cancel").unlessLacking("cancel"), subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) {
			if a.selectRun(s.subject) {
				a.DuringStream(a.BuildRequest("listen", spec.Event{}), 1, func() { a.sendTemplate("cancel") })
				a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(2)...)
			}
		},
	},
}
