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
	maxDeltas    = 100_000
	maxTextBytes = 16 << 20
	maxPause     = 24 * time.Hour
)

// ImageURL is the address of the image that the scripted agent sends.
const ImageURL = "https://example.com/image.png"

// Scripted is the agent that does what the conformance prompts say (docs/prompts.md).
func Scripted(ctx context.Context, t Turn) iter.Seq[spec.Event] {
	return func(yield func(spec.Event) bool) {
		a := &promptPlayer{ctx: ctx, turn: t, yield: yield}
		a.emitPart(spec.RunStart, "", "")
		a.play()
		if !a.failed {
			a.emitPart(spec.RunEnd, "", "")
		}
	}
}

// An promptPlayer plays one turn. Once nobody listens, or the context is done, it says
// nothing more.
type promptPlayer struct {
	ctx          context.Context
	turn         Turn
	yield        func(spec.Event) bool
	stopped      bool
	failed       bool
	messageCount int
}

func (a *promptPlayer) emit(e spec.Event) {
	if a.stopped = a.stopped || a.ctx.Err() != nil; !a.stopped {
		a.stopped = !a.yield(e)
	}
}

const promptPrefix = "conformance:"

// promptHandlers are the prompts, by name; false is that the words make no sense.
var promptHandlers = map[string]func(a *promptPlayer, words string) bool{
	"text":        (*promptPlayer).sendText,
	"empty":       func(*promptPlayer, string) bool { return true },
	"messages":    func(a *promptPlayer, _ string) bool { return a.sendText("one") && a.sendText("two") },
	"contents":    (*promptPlayer).sendContents,
	"reasoning":   (*promptPlayer).sendReasoning,
	"tool":        (*promptPlayer).callTool,
	"tools":       (*promptPlayer).callTools,
	"client-tool": (*promptPlayer).callClientTool,
	"interrupt":   (*promptPlayer).interrupt,
	"recall":      (*promptPlayer).sendPreviousText,
	"slow":        (*promptPlayer).sendSlow,
	"many":        (*promptPlayer).sendMany,
	"large":       (*promptPlayer).sendLarge,
	"idle":        (*promptPlayer).waitIdle,
	"error":       (*promptPlayer).fail,
	"error-mid":   (*promptPlayer).failMidway,
}

// play answers what is to be answered: the last thing the user said, or what came
// after it.
func (a *promptPlayer) play() {
	prompt, hasPrompt := a.prompt()
	if !hasPrompt && a.continueTurn() {
		return
	}
	name, words, _ := strings.Cut(prompt, " ")
	name, isConformance := strings.CutPrefix(name, promptPrefix)
	if script := promptHandlers[name]; !isConformance || script == nil || !script(a, words) {
		a.sendText("Hello, world.")
	}
}

//go:noinline
func (a *promptPlayer) prompt() (text string, asked bool) { return a.turn.Prompt() }

// continueTurn goes on with what the client brings: results of its tools, or the answer
// to an interrupt.
func (a *promptPlayer) continueTurn() bool {
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
		return a.sendText("resumed with: " + asJSON(resume.Text))
	}
	return len(results) > 0 && a.sendText("tool said: "+strings.Join(results, "\n"))
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

// newID names a thing of this run as no other run of the conversation does.
func (a *promptPlayer) newID(thing string, n int) string {
	return a.turn.Run + "-" + thing + strconv.Itoa(n)
}

// newMessageID is a fresh message id.
func (a *promptPlayer) newMessageID() string {
	a.messageCount++
	return a.newID("m", a.messageCount)
}

// sendText is one message that says words.
func (a *promptPlayer) sendText(words string) bool {
	id := a.newMessageID()
	a.emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.sendDeltas(spec.MessageDelta, id, words)
	a.emit(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *promptPlayer) sendDeltas(k spec.Kind, id, words string) {
	for _, piece := range splitText(words) {
		a.emit(spec.Event{Kind: k, Message: id, Text: piece})
	}
}

// splitText cuts a text into up to three of about the same length, between
// characters: half a character is no text.
func splitText(words string) (all []string) {
	runes := []rune(words)
	n := min(3, len(runes))
	for i := range n {
		all = append(all, string(runes[len(runes)*i/n:len(runes)*(i+1)/n]))
	}
	return all
}

func (a *promptPlayer) sendContents(string) bool {
	id := a.newMessageID()
	a.emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.sendDeltas(spec.MessageDelta, id, "see")
	a.emit(spec.Event{Kind: spec.ContentEnd, Message: id, Type: "image", Text: ImageURL})
	a.emit(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *promptPlayer) sendReasoning(words string) bool {
	id := a.newMessageID()
	a.emit(spec.Event{Kind: spec.ReasoningStart, Message: id})
	a.sendDeltas(spec.ReasoningDelta, id, "thinking")
	a.emit(spec.Event{Kind: spec.ReasoningEnd, Message: id})
	return a.sendText(words)
}

func (a *promptPlayer) sendPreviousText(string) bool {
	before, asked, err := a.turn.previousUserText(a.ctx)
	switch {
	case err != nil:
		return a.fail("what was said before cannot be read")
	case !asked:
		return a.sendText("nothing")
	}
	return a.sendText(before)
}

func (a *promptPlayer) fail(words string) bool {
	a.failed = true
	if words == "" {
		words = "the run failed"
	}
	a.emit(spec.Event{Kind: spec.RunError, Text: words})
	return true
}

func (a *promptPlayer) failMidway(words string) bool {
	id := a.newMessageID()
	a.emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.emit(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "This is "})
	a.emit(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "as far as "})
	return a.fail(words)
}

// toolName is the name of the server's own tool, and found what it gives.
const (
	toolName   = "lookup"
	toolResult = `{"found":true}`
)

func (a *promptPlayer) callTool(arguments string) bool {
	a.sendCalls(toolName, argumentsOrEmpty(arguments))
	a.sendResult(1)
	return a.sendText("I have looked it up.")
}

func (a *promptPlayer) callTools(string) bool {
	a.sendCalls(toolName, `{"n":1}`, `{"n":2}`)
	a.sendResult(1)
	a.sendResult(2)
	return a.sendText("I have looked both up.")
}

// argumentsOrEmpty stands in for arguments that a prompt leaves out.
func argumentsOrEmpty(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	return arguments
}

// sendCalls makes a call of one tool for each of the arguments, all open at once.
func (a *promptPlayer) sendCalls(tool string, arguments ...string) {
	for i := range arguments {
		a.emit(spec.Event{Kind: spec.ToolStart, Message: a.newMessageID(), Call: a.newID("c", i+1), Name: tool})
	}
	parts := make([][]string, len(arguments))
	longest := 0
	for i, text := range arguments {
		parts[i] = splitText(text)
		longest = max(longest, len(parts[i]))
	}
	for n := range longest {
		for i := range arguments {
			if n < len(parts[i]) {
				a.emit(spec.Event{Kind: spec.ToolDelta, Call: a.newID("c", i+1), Text: parts[i][n]})
			}
		}
	}
	for i := range arguments {
		a.emit(spec.Event{Kind: spec.ToolEnd, Call: a.newID("c", i+1)})
	}
}

func (a *promptPlayer) sendResult(call int) {
	a.emit(spec.Event{Kind: spec.ToolResult, Message: a.newMessageID(), Call: a.newID("c", call), Name: toolName, Text: toolResult})
}

// callClientTool leaves a call to the client. Without a tool that the client can run
// it says the arguments instead.
func (a *promptPlayer) callClientTool(arguments string) bool {
	if arguments = argumentsOrEmpty(arguments); len(a.turn.ClientTools) == 0 {
		return a.sendText(arguments)
	}
	a.sendCalls(a.turn.ClientTools[0], arguments)
	return true
}

func (a *promptPlayer) interrupt(payload string) bool {
	a.emit(spec.Event{Kind: spec.Interrupt, ID: a.newID("i", 1), Text: asJSON(argumentsOrEmpty(payload))})
	return true
}

// parseNumbers reads what a prompt counts; false is that there are not just so many, or
// that one is beyond its limit.
func parseNumbers(words string, limits ...int) (all []int, ok bool) {
	fields := strings.Fields(words)
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || i >= len(limits) || n > limits[i] {
			return nil, false
		}
		all = append(all, n)
	}
	return all, len(all) == len(limits)
}

const maxPauseMillis = int(maxPause / time.Millisecond)

func (a *promptPlayer) sendSlow(words string) bool {
	n, ok := parseNumbers(words, maxDeltas, maxPauseMillis)
	return ok && a.sendNumbers(n[0], time.Duration(n[1])*time.Millisecond)
}

func (a *promptPlayer) sendMany(words string) bool {
	n, ok := parseNumbers(words, maxDeltas)
	return ok && a.sendNumbers(n[0], 0)
}

// sendNumbers is a message of n deltas. They keep to a schedule of their own: what each
// takes to be said does not add up.
func (a *promptPlayer) sendNumbers(n int, apart time.Duration) bool {
	id := a.newMessageID()
	a.emitPart(spec.MessageStart, id, "")
	began := time.Now()
	for i := range n {
		if apart > 0 {
			a.wait(time.Until(began.Add(time.Duration(i) * apart)))
		}
		if a.stopped {
			return true
		}
		a.emitPart(spec.MessageDelta, id, strconv.Itoa(i+1)+" ")
	}
	a.emitPart(spec.MessageEnd, id, "")
	return true
}

// emitPart says an event of a message. Events are large: one in the frame of a function that
// waits would be there, and for nothing, once for each of thousands of streams.
//
//go:noinline
func (a *promptPlayer) emitPart(k spec.Kind, id, text string) {
	a.emit(spec.Event{Kind: k, Message: id, Text: text})
}

// wait waits, unless the context is done before.
func (a *promptPlayer) wait(d time.Duration) {
	if d <= 0 || a.stopped {
		return
	}
	a.emitPart("", "", "") // what was told is sent now
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
		a.stopped = true
	}
}

func (a *promptPlayer) sendLarge(words string) bool {
	n, ok := parseNumbers(words, maxTextBytes)
	if !ok {
		return false
	}
	const line = "0123456789abcdef"
	id := a.newMessageID()
	a.emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.emit(spec.Event{Kind: spec.MessageDelta, Message: id, Text: strings.Repeat(line, n[0]/len(line)+1)[:n[0]]})
	a.emit(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *promptPlayer) waitIdle(words string) bool {
	n, ok := parseNumbers(words, maxPauseMillis)
	if ok {
		a.wait(time.Duration(n[0]) * time.Millisecond)
		a.sendText("done")
	}
	return ok
}
