package suites

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// An actionType is a type of actions of which sequences consist. The subject of an action is the
// thread or the earlier action to which the action refers. An action is possible only if the target
// supports its type and there is a possible subject.
type actionType struct {
	name         string
	doc          string                             // description; % stands for the subject
	weight       int                                // relative frequency in generated sequences
	needs        Scenario                           // the features that the type requires; see [Target.supports]
	twoStreams   bool                               // the target must allow a user to open two streams
	subjects     func(p *sequenceBuilder) []int     // returns the possible subjects; repeated ones are more likely
	recordEffect func(p *sequenceBuilder, s action) // records in p the effect of s on later actions; nil: it has none
	perform      func(a *sequencePlayer, s action)  // performs s, unless the earlier action to which s refers failed
}

// inConversation returns the subjects that are possible for an action on a thread: the numbers of
// all threads. Thread 1 occurs twice, so that it is selected more often.
func inConversation(*sequenceBuilder) []int { return []int{1, 1, 2} }

// withoutSubject returns 1 as the only subject. It is used for types of actions that refer neither
// to a thread nor to an earlier action.
func withoutSubject(*sequenceBuilder) []int { return []int{1} }

// onOpenedRun returns the numbers of the actions so far that start a run. An action on a run can
// have any of them as its subject.
func onOpenedRun(p *sequenceBuilder) []int { return p.runs }

// onUploadedFile returns the numbers of the actions so far that upload a file. An action on a file
// can have any of them as its subject.
func onUploadedFile(p *sequenceBuilder) []int { return p.uploads }

// onObservedRun returns the subjects that are possible for an action that resumes a run: the
// numbers of the actions that start a run whose stream is read by this or another action of p.
// Without reading a stream, the client has no cursors.
func onObservedRun(p *sequenceBuilder) []int {
	return slices.DeleteFunc(slices.Clone(p.runs), func(n int) bool { return !p.observedRuns[n] })
}

// addRun records in p that action s starts a run.
func addRun(p *sequenceBuilder, s action) { p.runs = append(p.runs, s.number) }

// addObservedRun records in p that action s starts a run and reads its stream.
func addObservedRun(p *sequenceBuilder, s action) { addRun(p, s); p.observedRuns[s.number] = true }

// addServerRequest records in p that action s starts a run, reads its stream, and elicits a tool
// call or an interrupt.
func addServerRequest(p *sequenceBuilder, s action) {
	addObservedRun(p, s)
	p.serverRequests = append(p.serverRequests, s.number)
}

// markObserved records in p that action s reads the stream of the run that is its subject.
func markObserved(p *sequenceBuilder, s action) { p.observedRuns[s.subject] = true }

// addUpload records in p that action s uploads a file.
func addUpload(p *sequenceBuilder, s action) { p.uploads = append(p.uploads, s.number) }

// actionTypes lists all types of actions from which sequences are generated.
var actionTypes = slices.Concat(runActions, streamActions, storageActions, hostileActions)

// runActions are the types of actions that start a run.
var runActions = []actionType{
	{
		name: "say", doc: "send a message on thread %, and read the reply", weight: 6,
		needs:    Scenario{Templates: promptTemplates},
		subjects: inConversation, recordEffect: addObservedRun, perform: (*sequencePlayer).sendPrompt,
	}, {
		name: "recall", doc: "ask on thread % for the message before", weight: 5,
		needs:    Scenario{Templates: promptTemplates, Capability: "recall"},
		subjects: inConversation, recordEffect: addObservedRun,
		perform: func(a *sequencePlayer, s action) { a.startAndReadRun(s, "prompt", a.PromptEvent("recall", "")) },
	}, {
		name: "open", doc: "start a run on thread %, and do not read its stream", weight: 6,
		needs:    Scenario{Templates: []string{"prompt", "listen"}, Capability: "slow"},
		subjects: inConversation, recordEffect: addRun,
		perform: func(a *sequencePlayer, s action) { a.startRun(s, "prompt", a.PromptEvent("slow", slowPromptArgs)) },
	}, {
		name: "hang-up", doc: "send a message on thread %, and disconnect before the end of the reply", weight: 3,
		needs:    Scenario{Templates: promptTemplates, UnlessTemplate: "listen", Capability: "slow"},
		subjects: inConversation, recordEffect: addRun, perform: (*sequencePlayer).disconnect,
	}, {
		name: "together", doc: "two runs at the same time, one on each thread", weight: 3,
		needs: Scenario{Templates: promptTemplates, Capability: "slow"}, twoStreams: true,
		subjects: withoutSubject, perform: (*sequencePlayer).runConcurrently,
	}, {
		name: "offer", doc: "offer a client tool on thread %, and have it called", weight: 3,
		needs:        Scenario{Templates: []string{"tool-offer", "tool-result"}, Capability: "client-tool"},
		subjects:     inConversation,
		recordEffect: addServerRequest, perform: elicitReply("tool-result"),
	}, {
		name: "interrupt", doc: "have the run on thread % interrupted", weight: 3,
		needs:        Scenario{Templates: []string{"prompt", "resume"}, Kinds: []spec.Kind{spec.Interrupt}, Capability: "interrupt"},
		subjects:     inConversation,
		recordEffect: addServerRequest, perform: elicitReply("resume"),
	}, {
		name: "answer", doc: "reply to the tool call or interrupt of action %", weight: 6,
		subjects: func(p *sequenceBuilder) []int { return p.serverRequests },
		recordEffect: func(p *sequenceBuilder, s action) {
			p.serverRequests = slices.DeleteFunc(slices.Clone(p.serverRequests), func(n int) bool { return n == s.subject })
			addObservedRun(p, s)
		},
		perform: (*sequencePlayer).sendPendingReply,
	},
}

// streamActions are the types of actions that read or cancel a run that an earlier action started.
var streamActions = []actionType{
	{
		name: "follow", doc: "read the run of action % from its start to its end", weight: 5,
		needs:    Scenario{Templates: []string{"listen"}},
		subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) { a.readRun(s, "", 0) },
	}, {
		name: "leave", doc: "read the run of action %, and disconnect after a few events", weight: 5,
		needs: Scenario{Templates: []string{"listen"}}, subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) { a.readRun(s, "", 1+int(s.choice%5)) },
	}, {
		name: "return", doc: "resume the run of action % from its last cursor", weight: 7,
		needs:    Scenario{Templates: []string{"listen"}, Kinds: cursorKinds, Capability: "resume"},
		subjects: onObservedRun,
		perform: func(a *sequencePlayer, s action) {
			if cursors := a.seenCursors[s.subject]; len(cursors) > 0 {
				a.readRun(s, cursors[len(cursors)-1-int(s.choice%uint64(min(2, len(cursors))))], 0)
			}
		},
	}, {
		name: "both", doc: "read the run of action % twice at the same time", weight: 2,
		needs: Scenario{Templates: []string{"listen"}}, twoStreams: true,
		subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) {
			if a.selectRun(s.subject) {
				listen := a.BuildRequest("listen", spec.Event{})
				a.DuringStream(listen, 1, func() { a.Send(listen) })
				a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(2)...)
			}
		},
	}, {
		name: "cancel", doc: "cancel the run of action %", weight: 4,
		needs: Scenario{Templates: []string{"prompt", "cancel"}, Capability: "cancel"}, subjects: onOpenedRun,
		perform: func(a *sequencePlayer, s action) {
			if a.selectRun(s.subject) {
				a.SendTemplate("cancel", spec.Event{})
			}
		},
	}, {
		name: "cancel-heard", doc: "cancel the run of action % while reading it", weight: 3,
		needs:    Scenario{Templates: []string{"listen", "cancel"}, Capability: "cancel"},
		subjects: onOpenedRun, recordEffect: markObserved,
		perform: func(a *sequencePlayer, s action) {
			if a.selectRun(s.subject) {
				a.cancelDuringStream(1)
				a.seenCursors[s.subject] = append(a.seenCursors[s.subject], a.resumableCursors(2)...)
			}
		},
	},
}
