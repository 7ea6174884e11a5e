package reference

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// What one prompt can ask for at most. More is answered as any other text: a
// request of a few bytes must not cost gigabytes.
const (
	mostDeltas = 100_000
	mostBytes  = 16 << 20
	mostPause  = 24 * time.Hour
)

// Image is the address of the image that the scripted agent sends.
const Image = "https://example.com/image.png"

// Scripted is the agent that does what the conformance prompts say (docs/prompts.md).
func Scripted(ctx context.Context, t Turn) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		a := &actor{ctx: ctx, turn: t, yield: yield}
		a.part(spec.RunStart, "", "")
		a.act()
		if !a.failed {
			a.part(spec.RunEnd, "", "")
		}
	}
}

// An actor plays one turn. Once nobody listens, or the context is done, it says
// nothing more.
type actor struct {
	ctx      context.Context
	turn     Turn
	yield    func(spec.Event) bool
	over     bool
	failed   bool
	messages int
}

func (a *actor) say(e spec.Event) {
	if a.over = a.over || a.ctx.Err() != nil; !a.over {
		a.over = !a.yield(e)
	}
}

const prefix = "conformance:"

// scripts are the prompts, by name; false is that the words make no sense.
var scripts = map[string]func(a *actor, words string) bool{
	"text":        (*actor).text,
	"empty":       func(*actor, string) bool { return true },
	"messages":    func(a *actor, _ string) bool { return a.text("one") && a.text("two") },
	"contents":    (*actor).contents,
	"reasoning":   (*actor).reasoning,
	"tool":        (*actor).tool,
	"tools":       (*actor).tools,
	"client-tool": (*actor).clientTool,
	"interrupt":   (*actor).interrupt,
	"recall":      (*actor).recall,
	"slow":        (*actor).slow,
	"many":        (*actor).many,
	"large":       (*actor).large,
	"idle":        (*actor).idle,
	"error":       (*actor).fail,
	"error-mid":   (*actor).failMidway,
}

// act answers what is to be answered: the last thing the user said, or what came
// after it.
func (a *actor) act() {
	prompt, asked := a.prompt()
	if !asked && a.answer() {
		return
	}
	name, words, _ := strings.Cut(prompt, " ")
	name, ours := strings.CutPrefix(name, prefix)
	if script := scripts[name]; !ours || script == nil || !script(a, words) {
		a.text("Hello, world.")
	}
}

//go:noinline
func (a *actor) prompt() (text string, asked bool) { return a.turn.Prompt() }

// answer goes on with what the client brings: results of its tools, or the answer
// to an interrupt.
func (a *actor) answer() bool {
	var results []string
	for _, part := range a.turn.Parts {
		switch part.Kind {
		case spec.InputUser:
			results = nil
		case spec.InputToolResult:
			results = append(results, part.Text)
		}
	}
	if resume, ok := a.turn.Last(spec.InputResume); ok {
		return a.text("resumed with: " + asJSON(resume.Text))
	}
	return len(results) > 0 && a.text("tool said: "+strings.Join(results, "\n"))
}

// asJSON is a text as compact JSON: as it is where it is JSON, quoted where not.
func asJSON(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) == nil {
		return b.String()
	}
	b.Reset()
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string is always encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// id names a thing of this run as no other run of the conversation does.
func (a *actor) id(thing string, n int) string {
	return a.turn.Run + "-" + thing + strconv.Itoa(n)
}

// message is a fresh message id.
func (a *actor) message() string {
	a.messages++
	return a.id("m", a.messages)
}

// text is one message that says words.
func (a *actor) text(words string) bool {
	id := a.message()
	a.say(spec.Event{Kind: spec.MessageStart, Message: id})
	a.deltas(spec.MessageDelta, id, words)
	a.say(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *actor) deltas(k spec.Kind, id, words string) {
	for _, piece := range pieces(words) {
		a.say(spec.Event{Kind: k, Message: id, Text: piece})
	}
}

// pieces cuts a text into up to three of about the same length, between
// characters: half a character is no text.
func pieces(words string) (all []string) {
	runes := []rune(words)
	n := min(3, len(runes))
	for i := range n {
		all = append(all, string(runes[len(runes)*i/n:len(runes)*(i+1)/n]))
	}
	return all
}

func (a *actor) contents(string) bool {
	id := a.message()
	a.say(spec.Event{Kind: spec.MessageStart, Message: id})
	a.deltas(spec.MessageDelta, id, "see")
	a.say(spec.Event{Kind: spec.ContentEnd, Message: id, Type: "image", Text: Image})
	a.say(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *actor) reasoning(words string) bool {
	id := a.message()
	a.say(spec.Event{Kind: spec.ReasoningStart, Message: id})
	a.deltas(spec.ReasoningDelta, id, "thinking")
	a.say(spec.Event{Kind: spec.ReasoningEnd, Message: id})
	return a.text(words)
}

func (a *actor) recall(string) bool {
	before, asked, err := a.turn.before(a.ctx)
	switch {
	case err != nil:
		return a.fail("what was said before cannot be read")
	case !asked:
		return a.text("nothing")
	}
	return a.text(before)
}

func (a *actor) fail(words string) bool {
	a.failed = true
	if words == "" {
		words = "the run failed"
	}
	a.say(spec.Event{Kind: spec.RunError, Text: words})
	return true
}

func (a *actor) failMidway(words string) bool {
	id := a.message()
	a.say(spec.Event{Kind: spec.MessageStart, Message: id})
	a.say(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "This is "})
	a.say(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "as far as "})
	return a.fail(words)
}

// lookup is the name of the server's own tool, and found what it gives.
const (
	lookup = "lookup"
	found  = `{"found":true}`
)

func (a *actor) tool(arguments string) bool {
	a.calls(lookup, orObject(arguments))
	a.result(1)
	return a.text("I have looked it up.")
}

func (a *actor) tools(string) bool {
	a.calls(lookup, `{"n":1}`, `{"n":2}`)
	a.result(1)
	a.result(2)
	return a.text("I have looked both up.")
}

// orObject stands in for arguments that a prompt leaves out.
func orObject(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	return arguments
}

// calls makes a call of one tool for each of the arguments, all open at once.
func (a *actor) calls(tool string, arguments ...string) {
	for i := range arguments {
		a.say(spec.Event{Kind: spec.ToolStart, Message: a.message(), Call: a.id("c", i+1), Name: tool})
	}
	cut := make([][]string, len(arguments))
	most := 0
	for i, text := range arguments {
		cut[i] = pieces(text)
		most = max(most, len(cut[i]))
	}
	for n := range most {
		for i := range arguments {
			if n < len(cut[i]) {
				a.say(spec.Event{Kind: spec.ToolDelta, Call: a.id("c", i+1), Text: cut[i][n]})
			}
		}
	}
	for i := range arguments {
		a.say(spec.Event{Kind: spec.ToolEnd, Call: a.id("c", i+1)})
	}
}

func (a *actor) result(call int) {
	a.say(spec.Event{Kind: spec.ToolResult, Message: a.message(), Call: a.id("c", call), Name: lookup, Text: found})
}

// clientTool leaves a call to the client. Without a tool that the client can run
// it says the arguments instead.
func (a *actor) clientTool(arguments string) bool {
	if arguments = orObject(arguments); len(a.turn.Offers) == 0 {
		return a.text(arguments)
	}
	a.calls(a.turn.Offers[0], arguments)
	return true
}

func (a *actor) interrupt(payload string) bool {
	a.say(spec.Event{Kind: spec.Interrupt, ID: a.id("i", 1), Text: asJSON(orObject(payload))})
	return true
}

// numbers reads what a prompt counts; false is that there are not just so many, or
// that one is beyond its limit.
func numbers(words string, most ...int) (all []int, ok bool) {
	fields := strings.Fields(words)
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || i >= len(most) || n > most[i] {
			return nil, false
		}
		all = append(all, n)
	}
	return all, len(all) == len(most)
}

const mostMillis = int(mostPause / time.Millisecond)

func (a *actor) slow(words string) bool {
	n, ok := numbers(words, mostDeltas, mostMillis)
	return ok && a.count(n[0], time.Duration(n[1])*time.Millisecond)
}

func (a *actor) many(words string) bool {
	n, ok := numbers(words, mostDeltas)
	return ok && a.count(n[0], 0)
}

// count is a message of n deltas. They keep to a schedule of their own: what each
// takes to be said does not add up.
func (a *actor) count(n int, apart time.Duration) bool {
	id := a.message()
	a.part(spec.MessageStart, id, "")
	began := time.Now()
	for i := range n {
		if apart > 0 {
			a.pause(time.Until(began.Add(time.Duration(i) * apart)))
		}
		if a.over {
			return true
		}
		a.part(spec.MessageDelta, id, strconv.Itoa(i+1)+" ")
	}
	a.part(spec.MessageEnd, id, "")
	return true
}

// part says an event of a message. Events are large: one in the frame of a function that
// waits would be there, and for nothing, once for each of thousands of streams.
//
//go:noinline
func (a *actor) part(k spec.Kind, id, text string) {
	a.say(spec.Event{Kind: k, Message: id, Text: text})
}

// pause waits, unless the context is done before.
func (a *actor) pause(d time.Duration) {
	if d <= 0 || a.over {
		return
	}
	a.part("", "", "") // what was told is sent now
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
		a.over = true
	}
}

func (a *actor) large(words string) bool {
	n, ok := numbers(words, mostBytes)
	if !ok {
		return false
	}
	const line = "0123456789abcdef"
	id := a.message()
	a.say(spec.Event{Kind: spec.MessageStart, Message: id})
	a.say(spec.Event{Kind: spec.MessageDelta, Message: id, Text: strings.Repeat(line, n[0]/len(line)+1)[:n[0]]})
	a.say(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *actor) idle(words string) bool {
	n, ok := numbers(words, mostMillis)
	if ok {
		a.pause(time.Duration(n[0]) * time.Millisecond)
		a.text("done")
	}
	return ok
}
