package suites

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// storageActions are the types of actions that request histories or the health of the server, and
// those that upload files, request new signed URLs for them, or send them in messages.
var storageActions = []actionType{
	{
		name: "remember", doc: "request the history of thread %", weight: 4,
		needs:    Scenario{Templates: []string{"history"}, Kinds: []spec.Kind{spec.History}, Capability: "history"},
		subjects: inConversation,
		perform: func(a *sequencePlayer, s action) {
			if a.Thread = a.threads[s.subject]; a.hasRun(a.Thread) {
				a.completeHistory()
			} else {
				a.fetchHistory(spec.Event{})
			}
		},
	}, {
		name: "upload", doc: "upload an image on thread %", weight: 3,
		needs:    Scenario{Templates: []string{"attach"}, Capability: "attachments"},
		subjects: inConversation, recordEffect: addUpload,
		perform: func(a *sequencePlayer, s action) {
			a.Thread = a.threads[s.subject]
			if a.SendTemplate("attach", spec.Event{}) {
				sign, _ := a.replyEvent("sign")
				message, _ := a.replyEvent("uploaded")
				a.uploads[s.number] = uploadedFile{a.Thread, sign, message}
			}
		},
	}, {
		name: "sign", doc: "request a new signed URL for the image of action %", weight: 2,
		needs: Scenario{Templates: []string{"attach", "sign"}, Capability: "attachments"}, subjects: onUploadedFile,
		perform: func(a *sequencePlayer, s action) {
			if kept := a.uploads[s.subject]; kept.sign.ID != "" {
				a.Thread = kept.thread
				a.SendTemplate("sign", kept.sign)
				if link := a.LastEvent(spec.AttachmentSigned).Text; link != "" {
					kept.message.ID = link
					a.uploads[s.subject] = kept
				}
			}
		},
	}, {
		name: "send", doc: "send the image of action %, and read the reply", weight: 3,
		needs:    Scenario{Templates: []string{"attach", "uploaded"}, Capability: "attachments"},
		subjects: onUploadedFile, recordEffect: addObservedRun,
		perform: func(a *sequencePlayer, s action) {
			if kept := a.uploads[s.subject]; kept.message.ID != "" {
				i := slices.Index(a.threads[:], kept.thread)
				a.startAndReadRun(action{number: s.number, subject: i}, "uploaded", kept.message)
			}
		},
	}, {
		name: "health", doc: "request the health of the server", weight: 1,
		needs:    Scenario{Templates: []string{"health"}, Capability: "health"},
		subjects: withoutSubject, perform: func(a *sequencePlayer, _ action) { a.SendTemplate("health", spec.Event{}) },
	},
}

// hostileActions are the types of actions whose requests the server must refuse without changing
// its state.
var hostileActions = []actionType{
	{
		name: "break", doc: "send an invalid request on thread %", weight: 4,
		needs: Scenario{Templates: promptTemplates, Capability: "refusals"}, subjects: inConversation,
		perform: func(a *sequencePlayer, s action) {
			a.Thread, a.Run = a.threads[s.subject], a.NewID()
			a.sendInvalid("prompt", a.PromptEvent("text", "refused "+s.word()), s.choice)
		},
	}, {
		name: "break-run", doc: "send an invalid request about the run of action %", weight: 3,
		needs: Scenario{Templates: []string{"listen"}, Capability: "refusals"}, subjects: onOpenedRun,
		perform: func(a *sequencePlayer, s action) {
			if templates := a.runTemplates(); a.selectRun(s.subject) {
				a.sendInvalid(templates[s.choice%uint64(len(templates))], spec.Event{}, s.choice>>8)
			}
		},
	}, {
		name: "intrude", doc: "send a request about the run of action % as another user", weight: 4,
		needs:    Scenario{Templates: []string{"listen"}, Denial: spec.DeniedOtherUser, Capability: "second-user"},
		subjects: onOpenedRun,
		perform:  func(a *sequencePlayer, s action) { a.sendAsIntruder(s, spec.DeniedOtherUser, spec.OtherUser) },
	}, {
		name: "intrude-unknown", doc: "send a request about the run of action % without credentials", weight: 2,
		needs:    Scenario{Templates: []string{"listen"}, Denial: spec.DeniedAnonymous, Capability: "credentials"},
		subjects: onOpenedRun,
		perform:  func(a *sequencePlayer, s action) { a.sendAsIntruder(s, spec.DeniedAnonymous, spec.Anonymous) },
	},
}

// runTemplates returns the names of the templates that the target supports and whose requests refer
// to an existing run or its thread.
func (a *sequencePlayer) runTemplates() (all []string) {
	for _, template := range []string{"listen", "cancel", "history"} {
		if o, ok := a.dialect.TemplateOperation(template); ok && !o.StartsRun && a.canSend(template) {
			all = append(all, template)
		}
	}
	return all
}

// sendInvalid sends an invalid variant of the request that is built from the template with the
// given name and from e. The argument choice, modulo the number of variants in a.target.faultNames,
// selects one of them. If there are none, or if the request does not have the selected variant,
// sendInvalid sends nothing.
func (a *sequencePlayer) sendInvalid(template string, e spec.Event, choice uint64) {
	faults := a.target.faultNames[template]
	if len(faults) == 0 {
		return
	}
	e.Name = "paint"
	m, ok := a.dialect.InvalidRequestByName(a.BuildRequest(template, e), faults[choice%uint64(len(faults))])
	if ok {
		a.Send(m.Request)
	}
}

// maxInvalidBody is the maximum size, in bytes, of the body of an invalid request in a sequence.
// Only the refusals scenario sends larger ones.
const maxInvalidBody = 1 << 16

// collectFaults sets t.faultNames to the names of the invalid requests (see
// [dialect.InvalidRequest]) that sequences may send, by template. It omits those with bodies larger
// than [maxInvalidBody]. It builds the requests in conversation conv, but sends none. Call it
// before the first sequence is played: it uses so much processor time that timing checks could
// fail.
func (t *Target) collectFaults(conv *Conversation) {
	t.faultNames = map[string][]string{}
	conv.Run = conv.NewID()
	for _, template := range []string{"prompt", "listen", "cancel", "history"} {
		if !conv.HasTemplate(template) {
			continue
		}
		e := conv.PromptEvent("text", "refused")
		e.Name = "paint"
		for _, m := range t.Dialect.InvalidRequests(conv.BuildRequest(template, e)) {
			if len(m.Request.Body) <= maxInvalidBody {
				t.faultNames[template] = append(t.faultNames[template], m.Name)
			}
		}
	}
}

// sendAsIntruder sends a request about the run that is the subject of s, or about its thread, as
// the given principal. s.choice selects one of the requests that the server must deny for the given
// reason. If there are none, or if the run was not started, sendAsIntruder sends nothing.
func (a *sequencePlayer) sendAsIntruder(s action, reason spec.DenialReason, who spec.Principal) {
	if !a.selectRun(s.subject) {
		return
	}
	var kept []spec.Request
	for _, template := range append(a.runTemplates(), "prompt") {
		e := spec.Event{}
		if template == "prompt" {
			e = a.PromptEvent("text", "from somebody else "+s.word())
			a.Run = a.NewID()
		}
		if r := a.BuildRequest(template, e); len(a.dialect.ParseRequest(r).Facts().Denials[reason]) > 0 {
			kept = append(kept, r)
		}
	}
	if len(kept) > 0 {
		a.sendAs(who, kept[s.choice%uint64(len(kept))])
	}
}
