package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// keeping are the deeds about what is kept beside runs.
var keeping = []deed{
	{
		name: "remember", doc: "ask for the history of conversation %", often: 4,
		can: asksFor("history", spec.History).unless("history"), on: inTalk,
		do: func(a *actor, s step) {
			if a.Thread = a.talks[s.on]; a.opened(a.Thread) {
				a.remembered()
			} else {
				a.read(spec.Event{})
			}
		},
	}, {
		name: "upload", doc: "upload an image in conversation %", often: 3,
		can: says("attach").unless("attachments"), on: inTalk, then: uploads,
		do: func(a *actor, s step) {
			a.Thread = a.talks[s.on]
			if a.ask("attach") {
				a.stored[s.n] = upload{a.Thread, a.Heard(spec.AttachmentStored)}
			}
		},
	}, {
		name: "sign", doc: "have the image of step % signed again", often: 2,
		can: says("attach", "sign").unless("attachments"), on: onUpload,
		do: func(a *actor, s step) {
			if kept := a.stored[s.on]; kept.ID != "" {
				a.Thread = kept.talk
				a.send(a.Request("sign", spec.Event{Name: kept.Name, ID: kept.ID}), wire.Limit{})
				if link := a.Heard(spec.AttachmentSigned).Text; link != "" {
					kept.Text = link
					a.stored[s.on] = kept
				}
			}
		},
	}, {
		name: "send", doc: "send the image of step %, and hear the answer", often: 3,
		can: says("attach", "uploaded").unless("attachments"), on: onUpload, then: tells,
		do: func(a *actor, s step) {
			kept := a.stored[s.on]
			if kept.Text == "" {
				return
			}
			i := slices.Index(a.talks[:], kept.talk)
			e := a.Prompt("text", "an image")
			e.ID = kept.Text
			a.speak(step{n: s.n, on: i}, "uploaded", e)
		},
	}, {
		name: "health", doc: "ask whether the server is well", often: 1,
		can: says("health").unless("health"), on: once, do: func(a *actor, _ step) { a.ask("health") },
	},
}

// disturbing are the deeds that must not change anything.
var disturbing = []deed{
	{
		name: "break", doc: "ask for something in conversation % with a fault in the request", often: 4,
		can: says("prompt").unless("refusals"), on: inTalk,
		do: func(a *actor, s step) {
			a.Thread, a.Run = a.talks[s.on], a.id()
			a.spoil("prompt", a.Prompt("text", "refused"), s.luck)
		},
	}, {
		name: "break-run", doc: "ask for something about the run of step % with a fault in the request", often: 3,
		can: says("listen").unless("refusals"), on: onRun,
		do: func(a *actor, s step) {
			if phrases := a.about(); a.to(s.on) {
				a.spoil(phrases[s.luck%uint64(len(phrases))], spec.Event{}, s.luck>>8)
			}
		},
	}, {
		name: "intrude", doc: "let another user ask for something about the run of step %", often: 4,
		can: says("listen").denies(spec.DeniedOtherUser), on: onRun,
		do: func(a *actor, s step) { a.intrude(s, spec.DeniedOtherUser, spec.OtherUser) },
	}, {
		name: "intrude-unknown", doc: "let somebody without credentials ask for something about the run of step %", often: 2,
		can: says("listen").denies(spec.DeniedAnonymous), on: onRun,
		do: func(a *actor, s step) { a.intrude(s, spec.DeniedAnonymous, spec.Anonymous) },
	},
}

// about are the phrases that ask for something about a run, or its conversation.
func (a *actor) about() (all []string) {
	for _, phrase := range []string{"listen", "cancel", "history"} {
		if o, ok := a.dialect.Phrase(phrase); ok && !o.Asks && !a.target.lacks(phrase) {
			all = append(all, phrase)
		}
	}
	return all
}

// spoil asks for something with one fault in the request.
func (a *actor) spoil(phrase string, e spec.Event, luck uint64) {
	faults := a.target.faults[phrase]
	if len(faults) == 0 {
		return
	}
	e.Name = "paint"
	if m, ok := a.dialect.Mutant(a.Request(phrase, e), faults[luck%uint64(len(faults))]); ok && a.send(m.Request, wire.Limit{}) && phrase == "prompt" {
		a.moveOn(a.Thread)
	}
}

// mostSpoiled bounds the bytes of a request with a fault: what is too large is refused
// by scenarios.
const mostSpoiled = 1 << 16

// findFaults names the faults that a request of each phrase can have. That takes too long
// to be done while others are being timed.
func (t *Target) findFaults(talk *Talk) {
	t.faults = map[string][]string{}
	talk.Run = talk.id()
	for _, phrase := range []string{"prompt", "listen", "cancel", "history"} {
		if !talk.says(phrase) {
			continue
		}
		e := talk.Prompt("text", "refused")
		e.Name = "paint"
		for _, m := range t.Dialect.Mutate(talk.Request(phrase, e)) {
			if len(m.Request.Body) <= mostSpoiled {
				t.faults[phrase] = append(t.faults[phrase], m.Name)
			}
		}
	}
}

// intrude asks for what the document keeps from somebody.
func (a *actor) intrude(s step, why spec.DenialReason, who spec.Principal) {
	if !a.to(s.on) {
		return
	}
	var kept []spec.Request
	for _, phrase := range append(a.about(), "prompt") {
		e := spec.Event{}
		if phrase == "prompt" {
			e = a.Prompt("text", "from somebody else")
			a.Run = a.id()
		}
		if r := a.Request(phrase, e); len(a.dialect.Hear(r).Denials[why]) > 0 {
			kept = append(kept, r)
		}
	}
	if len(kept) > 0 {
		a.as(who, kept[s.luck%uint64(len(kept))])
	}
}
