package suites_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestReferenceVaried checks that the reference conforms to every dialect with an agent that varies
// its output: where deltas are cut, ids, pauses, the order of tool calls, tool results, and text or
// reasoning before calls and replies.
func TestReferenceVaried(t *testing.T) {
	seeds, err := strconv.ParseUint(os.Getenv("VARY_SEEDS"), 10, 32)
	isDefault := err != nil
	if isDefault {
		seeds = 1
	}
	for seed := range seeds {
		for _, name := range dialect.Names() {
			t.Run(name+"/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				d, err := dialect.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				cfg := reference.Config{Authenticator: twoUsers(t), Limits: reference.Limits{StreamsPerUser: 40}}
				suites.Test(t, reference.New(d, loose(seed, slices.Contains(d.Kinds(), spec.ReasoningStart)), cfg), name, func(target *suites.Target) {
					target.ClaimedCapabilities, target.Seed = []string{"all"}, seed+1
					target.Header, target.OtherHeader, target.StreamLimit = bearer("token-of-ann"), bearer("token-of-bob"), cfg.Limits.StreamsPerUser
					if seed%10 != 0 || isDefault { // the agent affects only these scenarios
						target.Only = agents
					}
				})
			})
		}
	}
}

// agents are the scenarios whose results depend on the output of the agent.
var agents = []string{
	"text", "messages", "contents", "reasoning", "tool", "tools", "client-tool", "interrupt", "recall", "many", "error", "error-mid",
	"two-runs", "resume", "resume-alone", "two-readers", "history", "state", "steps",
}

// loose returns the scripted agent with output that varies at random, by seed. reasons reports
// whether the dialect has events for reasoning.
func loose(seed uint64, reasons bool) reference.Agent {
	return func(ctx context.Context, turn reference.Turn) iter.Seq[spec.Event] {
		return func(yield func(spec.Event) bool) {
			h := fnv.New64a()
			fmt.Fprint(h, turn.Thread, turn.Run)
			l := &loosened{ctx: ctx, seed: seed, luck: rand.New(rand.NewPCG(seed, h.Sum64())), yield: yield, held: map[string]string{}, reasons: reasons}
			for e := range reference.Scripted(ctx, turn) {
				if l.hear(e); l.over {
					return
				}
			}
			l.flush()
		}
	}
}

type loosened struct {
	ctx     context.Context
	seed    uint64
	luck    *rand.Rand
	yield   func(spec.Event) bool
	over    bool
	reasons bool // there are words for it, and nothing was reasoned yet

	held    map[string]string // what was not said yet of a message or call
	order   []spec.Event      // whose
	calls   [][]spec.Event    // that are being made: their events
	results []spec.Event      // of calls, one after the other
}

// hear processes one event of the scripted agent: it sends the event in varied form, or keeps it
// for later.
func (l *loosened) hear(e spec.Event) {
	e.Message, e.Call, e.ID = l.name(e.Message), l.name(e.Call), l.name(e.ID)
	switch e.Kind {
	case spec.ToolStart, spec.ToolDelta, spec.ToolEnd:
		l.call(e)
		return
	case spec.ToolResult:
		l.mix()
		e.Text = []string{e.Text, "", "nothing\n\nfound", `{"a":[1,2,{"ü":null}]}`}[l.luck.IntN(4)]
		l.results = append(l.results, e)
		return
	}
	l.mix()
	l.tell()
	switch e.Kind {
	case spec.MessageDelta, spec.ReasoningDelta:
		l.hold(e)
	case spec.MessageStart:
		l.flush()
		l.think()
		l.say(e)
	case spec.ReasoningStart:
		l.reasons = false
		l.say(e)
	default:
		l.flush()
		l.say(e)
	}
}

// name returns a varied form of an id. The same id always gets the same form, and "" remains "".
func (l *loosened) name(id string) string {
	if id == "" {
		return ""
	}
	r := rand.New(rand.NewPCG(l.seed, uint64(len(id))))
	h := fnv.New64a()
	fmt.Fprint(h, l.seed, id)
	switch n := h.Sum64(); r.IntN(4) {
	case 0:
		return fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(n), n>>16)
	case 1:
		return strconv.FormatUint(n, 10)
	case 2:
		return fmt.Sprintf("chatcmpl_%X.%X", n, id[:1])
	}
	return id
}

// call stores an event of a tool call, to be sent by mix once the events of all calls are there.
func (l *loosened) call(e spec.Event) {
	l.flush()
	i := slices.IndexFunc(l.calls, func(c []spec.Event) bool { return c[0].Call == e.Call })
	if i < 0 {
		i, l.calls = len(l.calls), append(l.calls, nil)
	}
	l.calls[i] = append(l.calls[i], e)
}

// mix sends the stored events of tool calls. The calls may be interleaved, but the events of each
// call keep their order. It may send a message first.
func (l *loosened) mix() {
	if len(l.calls) == 0 {
		return
	}
	if l.luck.IntN(2) == 0 {
		id := l.name(l.calls[0][0].Call + "-before")
		l.say(spec.Event{Kind: spec.MessageStart, Message: id})
		l.hold(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "Let me look that up: ½ moment."})
		l.flush()
		l.say(spec.Event{Kind: spec.MessageEnd, Message: id})
	}
	oneByOne := l.luck.IntN(2) == 0
	for len(l.calls) > 0 {
		i := 0
		if !oneByOne {
			i = l.luck.IntN(len(l.calls))
		}
		e := l.calls[i][0]
		if l.calls[i] = l.calls[i][1:]; e.Kind == spec.ToolDelta {
			l.hold(e)
		} else {
			l.flush()
			l.say(e)
		}
		if len(l.calls[i]) == 0 {
			l.calls = slices.Delete(l.calls, i, i+1)
		}
	}
	l.flush()
}

// tell sends the stored tool results in random order.
func (l *loosened) tell() {
	l.luck.Shuffle(len(l.results), func(i, k int) { l.results[i], l.results[k] = l.results[k], l.results[i] })
	for _, e := range l.results {
		l.say(e)
	}
	l.results = nil
}

// think may send some reasoning before a message, at most once in a turn.
func (l *loosened) think() {
	if l.reasons && l.luck.IntN(3) == 0 {
		id := l.name(fmt.Sprint("thought ", l.luck.Uint64()))
		l.say(spec.Event{Kind: spec.ReasoningStart, Message: id})
		l.hold(spec.Event{Kind: spec.ReasoningDelta, Message: id, Text: "Hm — 好的."})
		l.flush()
		l.say(spec.Event{Kind: spec.ReasoningEnd, Message: id})
	}
	l.reasons = false
}

// hold stores the text of a delta, and at random sends a part of the stored text.
func (l *loosened) hold(e spec.Event) {
	key := e.Message + e.Call
	if l.held[key] == "" {
		of := e
		of.Text = ""
		l.order = append(l.order, of)
	}
	l.held[key] += e.Text
	if l.luck.IntN(3) > 0 {
		l.some()
	}
}

// some sends a part of the stored text of a message or call that is chosen at random.
func (l *loosened) some() {
	if len(l.order) == 0 {
		return
	}
	i := l.luck.IntN(len(l.order))
	e := l.order[i]
	key := e.Message + e.Call
	text := []rune(l.held[key])
	n := 1 + l.luck.IntN(len(text))
	if len(text) > 100 {
		n = max(n, len(text)/4)
	}
	e.Text, l.held[key] = string(text[:n]), string(text[n:])
	if n == len(text) {
		l.order = slices.Delete(l.order, i, i+1)
	}
	l.say(e)
}

// flush sends all stored text.
func (l *loosened) flush() {
	for len(l.order) > 0 {
		l.some()
	}
}

// say sends an event, and sometimes waits for up to 3 ms afterwards.
func (l *loosened) say(e spec.Event) {
	if l.over = l.over || !l.yield(e); l.over || l.luck.IntN(12) > 0 {
		return
	}
	if l.over = !l.yield(spec.Event{}); l.over { // what was told is sent now
		return
	}
	select {
	case <-time.After(time.Duration(l.luck.IntN(4)) * time.Millisecond):
	case <-l.ctx.Done():
	}
}
