package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Talk is a conversation under way: what a scenario leads. After the first error
// its methods do nothing.
type Talk struct {
	Thread string // the conversation's id
	Run    string // the id of the run asked for last

	ctx     context.Context
	target  *Target
	dialect *dialect.Dialect
	clients map[spec.Who]*wire.Client
	ids     *rand.Rand

	mu      sync.Mutex // several exchanges may be under way
	trace   spec.Trace
	err     error
	stalled bool  // the target went over a limit: nothing more is asked of it
	swollen bool  // a body is large without its content coding
	shared  bool  // others may have streams open meanwhile
	left    error // why the client broke the conversation off; nil: it did not
}

// Prompt asks for a scenario: the conformance prompt, the target's own words for
// it, or plain words.
func (t *Talk) Prompt(scenario, words string) spec.Event {
	return spec.Event{Text: t.target.prompt(scenario, words)}
}

// Open asks, and hears out what the server says to that. It says whether the
// request was accepted.
func (t *Talk) Open(phrase string, e spec.Event) bool {
	t.Run = t.id()
	return t.send(t.Request(phrase, e), wire.Limit{})
}

// Listen hears the run asked for last, from a cursor on ("" is its start), and
// hangs up after so many events; 0 is never.
func (t *Talk) Listen(cursor string, events int) {
	t.send(t.Request("listen", spec.Event{Cursor: cursor}), wire.Limit{Frames: events})
}

// Say asks and hears the answer, in as many requests as the dialect takes.
func (t *Talk) Say(phrase string, e spec.Event) {
	if t.Open(phrase, e) && !t.streams(phrase) {
		t.Listen("", 0)
	}
}

// streams says whether the answer to a phrase is itself the stream.
func (t *Talk) streams(phrase string) bool {
	o, ok := t.dialect.Phrase(phrase)
	return ok && o.Streams
}

// Request is a request of this conversation that is not sent yet.
func (t *Talk) Request(phrase string, e spec.Event) spec.Request {
	if e.Thread == "" {
		e.Thread = t.Thread
	}
	e.Run = t.Run
	r, err := t.dialect.Say(phrase, e)
	if err != nil {
		t.fail(err)
	}
	return r
}

func (t *Talk) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// Heard is the last event of a kind in the last exchange, or a zero one.
func (t *Talk) Heard(k spec.Kind) (last spec.Event) {
	for e := range t.last() {
		for _, part := range append(slices.Clone(e.Parts), e) {
			if part.Kind == k && e.Kind != spec.Asked {
				last = part
			}
		}
	}
	return last
}

// Cursors are those of the last exchange's answer, one to an event.
func (t *Talk) Cursors() (all []string) {
	for e := range t.last() {
		if e.Frame() && e.Cursor != "" {
			all = append(all, e.Cursor)
		}
	}
	return all
}

func (t *Talk) last() iter.Seq[spec.Event] { return t.events(1) }

// events are those of the last n exchanges.
func (t *Talk) events(n int) iter.Seq[spec.Event] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stalled { // nothing more is asked, so nobody has to know
		return func(func(spec.Event) bool) {}
	}
	all := t.trace.Exchanges
	return spec.Until(t.ctx, t.dialect.Events(spec.Trace{Exchanges: slices.Clone(all[max(0, len(all)-n):])}))
}

// send asks, records, and says whether the answer was a success.
func (t *Talk) send(r spec.Request, limit wire.Limit) bool {
	return t.exchange(t.clients[r.Who], r, r.Target, limit)
}

// exchange is send for a client of its own, which knows what is asked for as target.
func (t *Talk) exchange(client *wire.Client, r spec.Request, target string, limit wire.Limit) bool {
	cost := t.expense(r)
	t.mu.Lock()
	if t.left == nil && t.err == nil && !t.stalled {
		if t.left = context.Cause(t.ctx); t.left == nil {
			t.left = cost.gaveUp()
		}
	}
	i, failed := len(t.trace.Exchanges), t.err != nil || t.stalled || t.left != nil
	if !failed {
		t.trace.Exchanges = append(t.trace.Exchanges, spec.Exchange{Request: r})
	}
	t.mu.Unlock()
	if failed {
		return false
	}
	patience := patience{size: t.target.maxEvent(), then: limit.Until}
	var unwanted error                             // why a stream is left at its head
	limit.Until = func(heard spec.Response) bool { // after the head, and after each piece of the body
		if patience.streams(heard) && limit.Frames == 0 {
			unwanted = t.target.budget.kinds[true].gaveUp()
		}
		return unwanted != nil || patience.lost(heard)
	}
	asked := r
	asked.Target = target
	ctx, stop := cost.within(t.ctx)
	x, err := client.Do(ctx, asked, limit)
	cause := context.Cause(ctx)
	stop()
	if err != nil && cause == nil {
		t.fail(err)
		return false
	}
	x.Request.Target = r.Target
	if err == nil {
		cause = t.weigh(&x.Response, cost, patience)
	}
	if cause != nil {
		leave(&x.Response, cause)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case cause != nil:
		t.left = cause
	case unwanted != nil:
		t.left = unwanted
	}
	t.trace.Exchanges[i] = x
	t.stalled = t.stalled || patience.ended || wentOver(x.Response.End) || wire.IsFull(x.Response.End)
	return cause == nil && x.Response.Status/100 == 2
}

// weigh notes what an answer has cost. An error is why nothing more of the kind is asked
// for, and this one is not wanted either.
func (t *Talk) weigh(r *spec.Response, cost *expense, p patience) error {
	size, gaveUp := t.expand(r, cost)
	switch {
	case gaveUp != nil:
	case p.ended:
		cost.note(tooLarge(p.size), size)
	default:
		cost.note(r.End, size)
	}
	return gaveUp
}

// leave notes why the client did not wait for the end of an answer. To judge what there is
// of a compressed one may take as long as all that came before.
func leave(r *spec.Response, cause error) {
	r.End = fmt.Errorf("%w: %w", spec.ErrLeft, cause)
	if _, gaveUp := errors.AsType[givenUp](cause); gaveUp && dialect.Coded(*r) {
		r.Body, r.Reads = nil, nil
	}
}

// expense is what the kind of a request's answer has cost so far.
func (t *Talk) expense(r spec.Request) *expense {
	o := t.dialect.Operation(r)
	return t.target.budget.kinds[o != nil && o.Streams]
}

// expand returns how large a body is without its content coding. One that grows beyond the
// limits ends there; one that is large ends its conversation. It waits for a place for that:
// an error is why nothing more of the kind was asked for in the meantime.
func (t *Talk) expand(r *spec.Response, cost *expense) (size volume, gaveUp error) {
	if !dialect.Coded(*r) {
		return volume{wire.CountEvents(*r), len(r.Body)}, nil
	}
	t.clients[spec.TheUser].Use(t.ctx, func() {
		if gaveUp = cost.gaveUp(); gaveUp != nil {
			return
		}
		plain := dialect.Decoded(*r)
		size = volume{wire.CountEvents(plain), len(plain.Body)}
		large := len(plain.Body) > maxKept
		t.mu.Lock()
		defer t.mu.Unlock()
		t.swollen = t.swollen || large
		if wentOver(plain.End) {
			r.End = plain.End
		} else if large && r.End == nil {
			r.End = fmt.Errorf("%w: the body is large without its coding", spec.ErrLeft)
			t.stalled = true
		}
	})
	return size, gaveUp
}

// A patience ends with a stream that says one thing without end. How large another body
// may be, and one with a content coding, is a matter of the limits.
type patience struct {
	size   int // bytes of one event
	then   func(spec.Response) bool
	judged bool // the head was looked at
	stream bool
	coded  bool
	seen   int // bytes looked at
	line   int // where the last line of data began
	ended  bool
}

// slack is what may come after an event before anybody looks: a few reads.
const slack = 1 << 18

// streams reports whether an answer is a stream.
func (p *patience) streams(r spec.Response) bool {
	if !p.judged {
		p.judged, p.stream, p.coded = true, r.Header.MediaType() == spec.EventStream, r.Header.Has("Content-Encoding")
	}
	return p.stream
}

func (p *patience) lost(r spec.Response) bool {
	if p.streams(r) && !p.coded {
		p.look(r.Body)
		p.ended = len(r.Body)-p.line > p.size+slack
	}
	return p.ended || p.then != nil && p.then(r)
}

// look notes where the last line of data began. In comments anything may stand. No byte is
// looked at again, but for the last ones: they may be the beginning of the word.
func (p *patience) look(body []byte) {
	word := []byte("data")
	for at := p.seen; ; at++ {
		i := bytes.Index(body[at:], word)
		if i < 0 {
			break
		}
		at += i
		if at == 0 || body[at-1] == '\n' || body[at-1] == '\r' || at == 3 { // a byte order mark has three bytes
			p.line = at
		}
	}
	p.seen = max(p.seen, len(body)-len(word)+1)
}

// recorded is what was recorded, without exchanges that never were.
func (t *Talk) recorded() spec.Trace {
	t.trace.Exchanges = slices.DeleteFunc(t.trace.Exchanges, func(x spec.Exchange) bool {
		return x.Response.Status == 0 && x.Response.End == nil
	})
	t.trace.Scripted, t.trace.Streams = t.target.scripted, t.target.Streams
	if t.shared {
		t.trace.Streams = 0
	}
	return clocked(t.trace)
}

// While sends a request during a stream, once some of it was heard, and hears the
// stream out.
func (t *Talk) While(stream spec.Request, frames int, request func()) {
	started := make(chan struct{})
	var once sync.Once
	start := func() { once.Do(func() { close(started) }) }
	over := make(chan struct{})
	seen, data := 0, []byte("data:")
	go func() {
		defer close(over)
		defer start()
		t.send(stream, wire.Limit{Until: func(r spec.Response) bool {
			for frames > 0 && seen < len(r.Body) {
				i := bytes.Index(r.Body[seen:], data)
				if i < 0 {
					seen = max(seen, len(r.Body)-len(data)+1)
					break
				}
				seen += i + len(data)
				frames--
			}
			if frames <= 0 {
				start()
			}
			return false
		}})
	}()
	<-started
	request()
	<-over
}

// fresh gives a request ids that were not used before, so that it can be asked
// again.
func (t *Talk) fresh(r spec.Request) spec.Request {
	for _, old := range []string{t.Thread, t.Run} {
		if old == "" {
			continue
		}
		id := t.id()
		r.Body = bytes.ReplaceAll(r.Body, []byte(old), []byte(id))
		r.Target = strings.ReplaceAll(r.Target, old, id)
	}
	return r
}

// id is a fresh uuid (version 4).
func (t *Talk) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, b := t.ids.Uint64(), t.ids.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%x%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, 8+b>>62, b>>48&0xfff, b&0xffffffffffff)
}
