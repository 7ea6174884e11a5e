package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// storageActions are the deeds about what is kept beside runs.
var storageActions = []actionType{
	{
		name: "remember", doc: "ask for the history of conversation %", weight: 4,
		isSupported: hasReplyOfKind("history", spec.History).unlessLacking("history"), subjects: inConversation,
		perform: func(a *sequencePlayer, s action) {
			if a.Thread = a.threads[s.subject]; a.hasRun(a.Thread) {
				a.completeHistory()
			} else {
				a.fetchHistory(spec.Event{})
			}
		},
	}, {
		name: "upload", doc: "upload an image in conversation %", weight: 3,
		isSupported: hasTemplates("attach").unlessLacking("attachments"), subjects: inConversation, recordEffect: addUpload,
		perform: func(a *sequencePlayer, s action) {
			a.Thread = a.threads[s.subject]
			if a.sendTemplate("attach") {
				a.uploads[s.number] = uploadedFile{a.Thread, a.LastEvent(spec.AttachmentStored)}
			}
		},
	}, {
		name: "sign", doc: "have the image of step % signed again", weight: 2,
		isSupported: hasTemplates("attach", "sign").unlessLacking("attachments"), subjects: onUploadedFile,
		perform: func(a *sequencePlayer, s action) {
			if kept := a.uploads[s.subject]; kept.ID != "" {
				a.Thread = kept.thread
				a.send(a.BuildRequest("sign", spec.Event{Name: kept.Name, ID: kept.ID}), wire.StopWhen{})
				if link := a.LastEvent(spec.AttachmentSigned).Text; link != "" {
					kept.Text = link
					a.uploads[s.subject] = kept
				}
			}
		},
	}, {
		name: "send", doc: "send the image of step %, and hear the answer", weight: 3,
		isSupported: hasTemplates("attach", "uploaded").unlessLacking("attachments"), subjects: onUploadedFile, recordEffect: addObservedRun,
		perform: func(a *sequencePlayer, s action) {
			kept := a.uploads[s.subject]
			if kept.Text == "" {
				return
			}
			i := slices.Index(a.threads[:], kept.thread)
			e := a.PromptEvent("text", "an image")
			e.ID = kept.Text
			a.startAndReadRun(action{number: s.number, subject: i}, "uploaded", e)
		},
	}, {
		name: "health", doc: "ask whether the server is well", weight: 1,
		isSupported: hasTemplates("health").unlessLacking("health"), subjects: withoutSubject, perform: func(a *sequencePlayer, _ action) { a.sendTemplate("health") },
	},
}

// hostileActions are the deeds that must not change anything.
var hostileActions = []actionType{
	{
		name: "break", doc: "ask for something in conversation % with a fault in the request", weight: 4,
		isSupported: hasTemplates("prompt").unlessLacking("refusals"), subjects: inConversation,
		perform: func(a *sequencePlayer, s action) {
			a.Thread, a.Run = a.threads[s.subject], a.newID()
			a.sendInvalid("prompt", a.PromptEvent("text", "refused"), s.choice)
		},
	}, {
		name: "break-run", doc: "ask for something about the run of step % with a fault in the request", weight: 3,
		isSupported: hasTemplates("listen").unlessLacking("refusals"), subjects: onOpenedRun,
		perform: func(a *sequencePlayer, s action) {
			if phrases := a.runTemplates(); a.selectRun(s.subject) {
				a.sendInvalid(phrases[s.choice%uint64(len(phrases))], spec.Event{}, s.choice>>8)
			}
		},
	}, {
		name: "intrude", doc: "let another user ask for something about the run of step %", weight: 4,
		isSupported: hasTemplates("listen").andDenies(spec.DeniedOtherUser), subjects: onOpenedRun,
		perform: func(a *sequencePlayer, s action) { a.sendAsIntruder(s, spec.DeniedOtherUser, spec.OtherUser) },
	}, {
		name: "intrude-unknown", doc: "let somebody without credentials ask for something about the run of step %", weight: 2,
		isSupported: hasTemplates("listen").andDenies(spec.DeniedAnonymous), subjects: onOpenedRun,
		perform: func(a *sequencePlayer, s action) { a.sendAsIntruder(s, spec.DeniedAnonymous, spec.Anonymous) },
	},
}

// runTemplates are the phrases that ask for something about a run, or its conversation.
func (a *sequencePlayer) runTemplates() (all []string) {
	for _, phrase := range []string{"listen", "cancel", "history"} {
		if o, ok := a.dialect.TemplateOperation(phrase); ok && !o.StartsRun && !a.target.lacksCapability(phrase) {
			all = append(all, phrase)
		}
	}
	return all
}

// sendInvalid asks for something with one fault in the request.
func (a *sequencePlayer) sendInvalid(phrase string, e spec.Event, luck uint64) {
	faults := a.target.faultNames[phrase]
	if len(faults) == 0 {
		return
	}
	e.Name = "paint"
	if m, ok := a.dialect.InvalidRequestByName(a.BuildRequest(phrase, e), faults[luck%uint64(len(faults))]); ok && a.send(m.Request, wire.StopWhen{}) && phrase == "prompt" {
		a.dropPendingReplies(a.Thread)
	}
}

// maxInvalidBody bounds the bytes of a request with a fault: what is too large is refused
// by scenarios.
const maxInvalidBody = 1 << 16

// collectFaults names the faults that a request of each phrase can have. That takes too long
// to be done while others are being timed.
func (t *Target) collectFaults(talk *Conversation) {
	t.faultNames = map[string][]string{}
	talk.Run = talk.newID()
	for _, phrase := range []string{"prompt", "listen", "cancel", "history"} {
		if !talk.hasTemplate(phrase) {
			continue
		}
		e := talk.PromptEvent("text", "refused")
		e.Name = "paint"
		for _, m := range t.Dialect.InvalidRequests(talk.BuildRequest(phrase, e)) {
			if len(m.Request.Body) <= maxInvalidBody {
				t.faultNames[phrase] = append(t.faultNames[phrase], m.Name)
			}
		}
	}
}

// sendAsIntruder asks for what the document keeps from somebody.
func (a *sequencePlayer) sendAsIntruder(s action, why spec.DenialReason, who spec.Principal) {
	if !a.selectRun(s.subject) {
		return
	}
	var kept []spec.Request
	for _, phrase := range append(a.runTemplates(), "prompt") {
		e := spec.Event{}
		if phrase == "prompt" {
			e = a.PromptEvent("text", "from somebody else")
			a.Run = a.newID()
		}
		if r := a.BuildRequest(phrase, e); len(a.dialect.ParseRequest(r).Denials[why]) > 0 {
			kept = append(kept, r)
		}
	}
	if len(kept) > 0 {
		a.sendAs(who, kept[s.choice%uint64(len(kept))])
	}
}
