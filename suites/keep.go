package suites

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxKept is how many bytes of a conversation are kept until all are judged. Larger ones
// are judged at once, and released.
const maxKept = 1 << 20

// What is kept of a conversation that was released, in bytes.
const (
	maxKeptBody = 64 << 10 // of each answer
	maxKeptRaw  = 3 << 10  // of the evidence of each finding
)

// finish takes down what a conversation came to. A large one is judged, and released.
func (t *Target) finish(talk *Talk, part Part) Part {
	part.Trace, part.Err, part.Unplayed = talk.recorded(), talk.err, talk.left
	n, coded := size(part.Trace)
	large := n > maxKept || talk.swollen
	switch {
	case coded: // it may be large without its coding
		talk.clients[spec.TheUser].Use(talk.ctx, func() { part.Hearing = t.hearing(&part) })
	case large:
		part.Hearing = t.hearing(&part)
	}
	if large {
		if t.Released != nil {
			t.Released(part)
		}
		release(&part)
	}
	talk.release()
	return part
}

// release gives back the memory that the conversation was granted.
func (t *Talk) release() {
	for _, c := range t.clients { // they share it
		c.Release()
	}
}

// size is how many bytes the answers of a conversation have, and whether any of them has a
// content coding.
func size(t spec.Trace) (n int, coded bool) {
	for _, x := range t.Exchanges {
		n += len(x.Response.Body)
		coded = coded || dialect.Coded(x.Response)
	}
	return n, coded
}

// release forgets all but the beginnings of a judged conversation's bodies, and of what
// its findings quote.
func release(p *Part) {
	p.Released = true
	for i := range p.Trace.Exchanges {
		r := &p.Trace.Exchanges[i].Response
		r.Body = bytes.Clone(r.Body[:min(len(r.Body), maxKeptBody)])
		r.Reads = nil
	}
	for i := range p.outlines {
		o := &p.outlines[i]
		o.look, o.said, o.failure = bytes.Clone(o.look), strings.Clone(o.said), strings.Clone(o.failure)
	}
	for i := range p.Hearing.Results {
		for k := range p.Hearing.Results[i].Findings {
			f := &p.Hearing.Results[i].Findings[k]
			f.Event = evidence(f.Event)
		}
	}
}

// evidence is what a report needs of an event.
func evidence(e spec.Event) spec.Event {
	kept := spec.Event{
		Kind: e.Kind, Exchange: e.Exchange, Op: e.Op, Who: e.Who, HTTP: e.HTTP, Media: e.Media, Law: e.Law,
		At: e.At, Nth: e.Nth, Line: e.Line, Offset: e.Offset, Raw: shortened(e.Raw), Err: e.Err,
	}
	if len(e.Broken) == 1 && len(e.Broken[0].Pointer) <= maxKeptRaw {
		kept.Broken = []spec.Broken{{Pointer: string([]byte(e.Broken[0].Pointer)), Law: e.Broken[0].Law}}
	}
	return kept
}

// shortened is the beginning of some bytes, with the number of those left out, as a
// report writes it.
func shortened(raw []byte) []byte {
	if len(raw) <= maxKeptRaw {
		return bytes.Clone(raw)
	}
	n := maxKeptRaw
	for n > maxKeptRaw-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
		n--
	}
	return fmt.Appendf(slices.Clone(raw[:n]), " … (%d more bytes)", len(raw)-n)
}

// grace is how long judging may take once the run was broken off.
const grace = time.Second

// judging is a context in which something is judged after ctx has ended, but not for long.
func judging(ctx context.Context) (judge context.Context, stop func()) {
	judge, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() {
		if _, late := context.Cause(ctx).(timeUp); late { // what there is, is judged
			return
		}
		select {
		case <-time.After(grace):
		case <-judge.Done():
		}
		cancel(context.Cause(ctx))
	})
	return judge, func() { unlink(); cancel(nil) }
}
