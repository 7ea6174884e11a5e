package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A deed is a kind of step. Whether a target can be asked for it is read from the
// dialect's document and from what the target was said to lack, and when it can be done
// from what was done before: a deed without something to go on with is not planned.
type deed struct {
	name  string
	doc   string // in words; % is what it is done to
	often int    // how often it is drawn, beside others
	can   offered
	on    func(p *plan) []int    // what it can be done to now
	then  func(p *plan, s step)  // what there is to go on with afterwards; nil: no more than before
	do    func(a *actor, s step) // where the server did not play its part, nothing
}

// What deeds are done to.
func inTalk(*plan) []int     { return []int{1, 1, 2} } // most happens in one of them
func once(*plan) []int       { return []int{1} }
func onRun(p *plan) []int    { return p.runs }
func onUpload(p *plan) []int { return p.stored }
func onHeard(p *plan) []int {
	return slices.DeleteFunc(slices.Clone(p.runs), func(n int) bool { return !p.heard[n] })
}

// What deeds leave behind.
func opens(p *plan, s step)   { p.runs = append(p.runs, s.n) }
func tells(p *plan, s step)   { opens(p, s); p.heard[s.n] = true }
func hears(p *plan, s step)   { p.heard[s.on] = true }
func uploads(p *plan, s step) { p.stored = append(p.stored, s.n) }

// deeds are all that a sequence is made of.
var deeds = slices.Concat(speaking, following, keeping, disturbing)

// speaking are the deeds that open runs.
var speaking = []deed{
	{
		name: "say", doc: "say something in conversation %, and hear the answer", often: 6,
		can: says("prompt"), on: inTalk, then: tells, do: (*actor).say,
	}, {
		name: "recall", doc: "ask in conversation % what was said before", often: 5,
		can: says("prompt").unless("recall"), on: inTalk, then: tells,
		do: func(a *actor, s step) { a.speak(s, "prompt", a.Prompt("recall", "")) },
	}, {
		name: "open", doc: "open a run in conversation %, and do not listen", often: 6,
		can: says("prompt", "listen").unless("slow"), on: inTalk, then: opens,
		do: func(a *actor, s step) { a.open(s, "prompt", a.Prompt("slow", slowly)) },
	}, {
		name: "hang-up", doc: "say something in conversation %, and hang up before the end of the answer", often: 3,
		can: streams("prompt").unless("slow"), on: inTalk, then: opens, do: (*actor).hangUp,
	}, {
		name: "together", doc: "two runs at the same time, one in each conversation", often: 3,
		can: two(says("prompt").unless("slow")), on: once, do: (*actor).together,
	}, {
		name: "offer", doc: "offer a tool in conversation %, and be asked to use it", often: 3,
		can: says("tool-offer", "tool-result").unless("client-tool"), on: inTalk,
		then: func(p *plan, s step) { tells(p, s); p.asks = append(p.asks, s.n) },
		do: func(a *actor, s step) {
			offer := a.Prompt("client-tool", `{"color":"blue"}`)
			offer.Name = "paint"
			a.speak(s, "tool-offer", offer)
			if id := a.called(); id != "" {
				a.owe(s, debt{"tool-result", spec.Event{Call: id, Name: "paint", Text: "painted it blue"}})
			}
		},
	}, {
		name: "interrupt", doc: "have the server ask for approval in conversation %", often: 3,
		can: says("prompt", "resume").knows(spec.Interrupt).unless("interrupt"), on: inTalk,
		then: func(p *plan, s step) { tells(p, s); p.asks = append(p.asks, s.n) },
		do: func(a *actor, s step) {
			a.speak(s, "prompt", a.Prompt("interrupt", `{"question":"Delete 3 files?"}`))
			if asked := a.Heard(spec.Interrupt); asked.ID != "" {
				a.owe(s, debt{"resume", spec.Event{ID: asked.ID, Text: "approved"}})
			}
		},
	}, {
		name: "answer", doc: "answer what the server asked for in step %", often: 6,
		can: func(*Target) bool { return true },
		on:  func(p *plan) []int { return p.asks },
		then: func(p *plan, s step) {
			p.asks = slices.DeleteFunc(slices.Clone(p.asks), func(n int) bool { return n == s.on })
			tells(p, s)
		},
		do: (*actor).answer,
	},
}

// following are the deeds about a run that was opened before.
var following = []deed{
	{
		name: "follow", doc: "hear the run of step % from its start to its end", often: 5,
		can: says("listen"), on: onRun, then: hears, do: func(a *actor, s step) { a.follow(s, "", 0) },
	}, {
		name: "leave", doc: "hear the run of step %, and leave after a few events", often: 5,
		can: says("listen"), on: onRun, then: hears,
		do: func(a *actor, s step) { a.follow(s, "", 1+int(s.luck%5)) },
	}, {
		name: "return", doc: "take the run of step % up again where it was left", often: 7,
		can: says("listen").knows(spec.SlotCursor).unless("resume"), on: onHeard,
		do: func(a *actor, s step) {
			if heard := a.heard[s.on]; len(heard) > 0 {
				a.follow(s, heard[len(heard)-1-int(s.luck%uint64(min(2, len(heard))))], 0)
			}
		},
	}, {
		name: "both", doc: "hear the run of step % twice at the same time", often: 2,
		can: two(says("listen")), on: onRun, then: hears,
		do: func(a *actor, s step) {
			if a.to(s.on) {
				listen := a.Request("listen", spec.Event{})
				a.While(listen, 1, func() { a.send(listen, wire.Limit{}) })
				a.heard[s.on] = append(a.heard[s.on], a.cursors(2)...)
			}
		},
	}, {
		name: "cancel", doc: "cancel the run of step %", often: 4,
		can: says("prompt", "cancel").unless("cancel"), on: onRun,
		do: func(a *actor, s step) {
			if a.to(s.on) {
				a.ask("cancel")
			}
		},
	}, {
		name: "cancel-heard", doc: "cancel the run of step % while it is heard", often: 3,
		can: says("listen", "cancel").unless("cancel"), on: onRun, then: hears,
		do: func(a *actor, s step) {
			if a.to(s.on) {
				a.While(a.Request("listen", spec.Event{}), 1, func() { a.ask("cancel") })
				a.heard[s.on] = append(a.heard[s.on], a.cursors(2)...)
			}
		},
	},
}
