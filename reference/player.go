package reference

import (
	"context"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A Player emits the events of one turn of an agent. When the consumer of its events stops, the
// context is done or the run has failed, it emits nothing more. It must not be used concurrently.
type Player struct {
	ctx     context.Context
	run     string
	yield   func(spec.Event) bool
	stopped bool

	messages, calls, interrupts int // how many have an id
}

// NewPlayer returns a player for the named run. The player passes the events to yield, which is the
// function that the caller of an [Agent] provides.
func NewPlayer(ctx context.Context, run string, yield func(spec.Event) bool) *Player {
	return &Player{ctx: ctx, run: run, yield: yield}
}

// Run emits the events of a complete run: the start of the run, the events that play emits, and the
// end of the run unless play has failed the run.
func (p *Player) Run(play func()) {
	p.emitText(spec.RunStart, "", "")
	play()
	p.emitText(spec.RunEnd, "", "")
}

// Stopped reports whether the player has stopped, so that it emits no more events.
func (p *Player) Stopped() bool { return p.stopped }

// Emit emits an event. It does nothing once the player has stopped.
func (p *Player) Emit(e spec.Event) {
	if p.stopped = p.stopped || p.ctx.Err() != nil; !p.stopped {
		p.stopped = !p.yield(e)
	}
}

// Fail emits the event with which the run fails, and stops the player.
func (p *Player) Fail(text, code string) {
	p.Emit(spec.Event{Kind: spec.RunError, Text: text, Code: code})
	p.stopped = true
}

// NewMessageID returns an id for the next message, unique within the conversation.
func (p *Player) NewMessageID() string { return p.newID("m", &p.messages) }

// NewCallID returns an id for the next tool call, unique within the conversation.
func (p *Player) NewCallID() string { return p.newID("c", &p.calls) }

// NewInterruptID returns an id for the next interrupt, unique within the conversation.
func (p *Player) NewInterruptID() string { return p.newID("i", &p.interrupts) }

// newID increments n and returns the id of the nth object of the kind that prefix names. The id
// begins with the id of the run, because that is unique within the conversation.
func (p *Player) newID(prefix string, n *int) string {
	*n++
	return p.run + "-" + prefix + strconv.Itoa(*n)
}

// WaitUntil waits until the given time. Before that, it lets the server send what was emitted. If
// the context is done before the end of the wait, WaitUntil stops the player.
func (p *Player) WaitUntil(at time.Time) {
	if p.stopped || time.Until(at) <= 0 {
		return
	}
	if p.emitText("", "", ""); p.stopped {
		return
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
		p.stopped = true
	}
}

// emitText emits an event of kind k with a text and the id of its message. It is not inlined, so
// that the event, of 680 bytes, is not in the stack frame of a caller that waits: a paced stream
// takes 52 KB of the server's memory rather than 58 KB (make bench, 2,000 streams; the stacks
// alone: BenchmarkWaitingRuns).
//
//go:noinline
func (p *Player) emitText(k spec.Kind, message, text string) {
	p.Emit(spec.Event{Kind: k, Message: message, Text: text})
}
