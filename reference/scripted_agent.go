package reference

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// Limits of what one prompt can request, so that a request of a few bytes cannot cost gigabytes.
// The scripted agent treats a prompt that exceeds them as ordinary text.
const (
	maxDeltas    = 100_000
	maxTextBytes = 16 << 20       // of "large"
	maxPause     = 24 * time.Hour // of "slow" and "idle"
)

// ImageURL is the URL of the image that the scripted agent sends.
const ImageURL = "https://example.com/image.png"

// Scripted is an [Agent] that follows the conformance prompts (docs/prompts.md). It
// answers any other prompt with "Hello, world.".
func Scripted(ctx context.Context, t Turn) iter.Seq[spec.Event] {
	prompt, hasPrompt := t.Prompt()
	return func(yield func(spec.Event) bool) {
		a := &promptPlayer{Player: NewPlayer(ctx, t.Run, yield), turn: t, prompt: prompt, hasPrompt: hasPrompt}
		a.Run(a.play)
	}
}

// A promptPlayer plays the scripted agent's answer to one turn.
type promptPlayer struct {
	*Player
	turn      Turn
	prompt    string // the text after which the turn begins; "" if not hasPrompt
	hasPrompt bool   // the request ends with a message of the user
}

const promptPrefix = "conformance:"

// promptHandlers maps the name of each test prompt to the method that answers it. The method
// receives the text after the name as arguments and returns false if that text is invalid.
var promptHandlers = map[string]func(a *promptPlayer, arguments string) bool{
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

// play answers the last prompt of the user, or the tool results or interrupt reply that
// follow it.
func (a *promptPlayer) play() {
	if !a.hasPrompt && a.continueTurn() {
		return
	}
	name, arguments, _ := strings.Cut(a.prompt, " ")
	name, isConformance := strings.CutPrefix(name, promptPrefix)
	if script := promptHandlers[name]; !isConformance || script == nil || !script(a, arguments) {
		a.sendText("Hello, world.")
	}
}

// continueTurn answers the client's tool results, or its reply to an interrupt, and returns true.
// It returns false if the request contains neither.
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

// asJSON returns text in compact form if it is JSON, and otherwise encoded as a JSON string.
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

// sendText emits a message with the given text in up to three deltas. It always returns true, so
// that handlers of prompts can return its result.
func (a *promptPlayer) sendText(text string) bool {
	id := a.NewMessageID()
	a.Emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.sendDeltas(spec.MessageDelta, id, text)
	a.Emit(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *promptPlayer) sendDeltas(k spec.Kind, id, text string) {
	for _, piece := range splitText(text) {
		a.Emit(spec.Event{Kind: k, Message: id, Text: piece})
	}
}

// splitText splits text into at most three pieces of similar length, without splitting characters.
// It returns nil if text is empty.
func splitText(text string) (pieces []string) {
	runes := []rune(text)
	n := min(3, len(runes))
	for i := range n {
		pieces = append(pieces, string(runes[len(runes)*i/n:len(runes)*(i+1)/n]))
	}
	return pieces
}

func (a *promptPlayer) sendContents(string) bool {
	id := a.NewMessageID()
	a.Emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.sendDeltas(spec.MessageDelta, id, "see")
	a.Emit(spec.Event{Kind: spec.ContentEnd, Message: id, Type: "image", Text: ImageURL})
	a.Emit(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *promptPlayer) sendReasoning(text string) bool {
	id := a.NewMessageID()
	a.Emit(spec.Event{Kind: spec.ReasoningStart, Message: id})
	a.sendDeltas(spec.ReasoningDelta, id, "thinking")
	a.Emit(spec.Event{Kind: spec.ReasoningEnd, Message: id})
	return a.sendText(text)
}

func (a *promptPlayer) sendPreviousText(string) bool {
	text, found, err := a.turn.previousUserText(a.ctx)
	switch {
	case err != nil:
		return a.fail("the earlier messages cannot be read")
	case !found:
		return a.sendText("nothing")
	}
	return a.sendText(text)
}

func (a *promptPlayer) fail(message string) bool {
	a.Fail(cmp.Or(message, "the run failed"), "")
	return true
}

func (a *promptPlayer) failMidway(message string) bool {
	id := a.NewMessageID()
	a.Emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.Emit(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "This is "})
	a.Emit(spec.Event{Kind: spec.MessageDelta, Message: id, Text: "as far as "})
	return a.fail(message)
}

// The name of the tool that the scripted agent runs itself, and the result that this tool always
// returns.
const (
	toolName   = "lookup"
	toolResult = `{"found":true}`
)

func (a *promptPlayer) callTool(arguments string) bool {
	if a.turn.OnlyClient {
		return a.callClientTool(arguments)
	}
	a.sendResults(a.sendCalls(toolName, argumentsOrEmpty(arguments)))
	return a.sendText("I have looked it up.")
}

func (a *promptPlayer) callTools(string) bool {
	if a.turn.OnlyClient && len(a.turn.ClientTools) > 0 {
		a.sendCalls(a.clientTool(), `{"n":1}`, `{"n":2}`)
		return true
	} else if a.turn.OnlyClient {
		return false
	}
	a.sendResults(a.sendCalls(toolName, `{"n":1}`, `{"n":2}`))
	return a.sendText("I have looked both up.")
}

// argumentsOrEmpty returns arguments, or "{}" if arguments contains only white space.
func argumentsOrEmpty(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	return arguments
}

// sendCalls emits one call of the named tool for each element of arguments, and returns their ids.
// All calls are open at the same time, and their deltas alternate.
func (a *promptPlayer) sendCalls(tool string, arguments ...string) (ids []string) {
	parts := make([][]string, len(arguments))
	longest := 0
	for i, text := range arguments {
		ids, parts[i] = append(ids, a.NewCallID()), splitText(text)
		longest = max(longest, len(parts[i]))
		a.Emit(spec.Event{Kind: spec.ToolStart, Message: a.NewMessageID(), Call: ids[i], Name: tool})
	}
	for n := range longest {
		for i, id := range ids {
			if n < len(parts[i]) {
				a.Emit(spec.Event{Kind: spec.ToolDelta, Call: id, Text: parts[i][n]})
			}
		}
	}
	for _, id := range ids {
		a.Emit(spec.Event{Kind: spec.ToolEnd, Call: id})
	}
	return ids
}

// sendResults emits a result for each of the tool calls with the given ids.
func (a *promptPlayer) sendResults(calls []string) {
	for _, id := range calls {
		a.Emit(spec.Event{
			Kind: spec.ToolResult, Message: a.NewMessageID(), Call: id, Name: toolName, Text: toolResult,
		})
	}
}

// clientTool returns the name of the tool that the client runs: the one that is named like the
// agent's own if the server has no tools, or else the first.
func (a *promptPlayer) clientTool() string {
	if a.turn.OnlyClient && slices.Contains(a.turn.ClientTools, toolName) {
		return toolName
	}
	return a.turn.ClientTools[0]
}

// callClientTool calls a tool that the client declares and ends the run. If the client declares
// none, it sends the arguments as text.
func (a *promptPlayer) callClientTool(arguments string) bool {
	if arguments = argumentsOrEmpty(arguments); len(a.turn.ClientTools) == 0 {
		return a.sendText(arguments)
	}
	a.sendCalls(a.clientTool(), arguments)
	return true
}

func (a *promptPlayer) interrupt(payload string) bool {
	a.Emit(spec.Event{Kind: spec.Interrupt, ID: a.NewInterruptID(), Text: asJSON(argumentsOrEmpty(payload))})
	return true
}

// parseNumbers parses text, the arguments of a prompt, as whole numbers. ok is false unless there
// are as many numbers as limits, and each number is between 0 and its limit.
func parseNumbers(text string, limits ...int) (numbers []int, ok bool) {
	fields := strings.Fields(text)
	for i, field := range fields {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || i >= len(limits) || n > limits[i] {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, len(numbers) == len(limits)
}

const maxPauseMillis = int(maxPause / time.Millisecond)

func (a *promptPlayer) sendSlow(arguments string) bool {
	n, ok := parseNumbers(arguments, maxDeltas, maxPauseMillis)
	return ok && a.sendNumbers(n[0], time.Duration(n[1])*time.Millisecond)
}

func (a *promptPlayer) sendMany(arguments string) bool {
	n, ok := parseNumbers(arguments, maxDeltas)
	return ok && a.sendNumbers(n[0], 0)
}

// sendNumbers emits a message of n deltas, which contain the numbers from 1 to n. Delta number i
// is sent i-1 intervals after the first one, so that delays do not accumulate. It always returns
// true.
func (a *promptPlayer) sendNumbers(n int, interval time.Duration) bool {
	id := a.NewMessageID()
	a.emitText(spec.MessageStart, id, "")
	start := time.Now()
	for i := range n {
		a.WaitUntil(start.Add(time.Duration(i) * interval))
		if a.Stopped() {
			return true
		}
		a.emitText(spec.MessageDelta, id, strconv.Itoa(i+1)+" ")
	}
	a.emitText(spec.MessageEnd, id, "")
	return true
}

func (a *promptPlayer) sendLarge(arguments string) bool {
	n, ok := parseNumbers(arguments, maxTextBytes)
	if !ok {
		return false
	}
	const line = "0123456789abcdef"
	id := a.NewMessageID()
	a.Emit(spec.Event{Kind: spec.MessageStart, Message: id})
	a.Emit(spec.Event{Kind: spec.MessageDelta, Message: id, Text: strings.Repeat(line, n[0]/len(line)+1)[:n[0]]})
	a.Emit(spec.Event{Kind: spec.MessageEnd, Message: id})
	return true
}

func (a *promptPlayer) waitIdle(arguments string) bool {
	n, ok := parseNumbers(arguments, maxPauseMillis)
	if ok {
		a.WaitUntil(time.Now().Add(time.Duration(n[0]) * time.Millisecond))
		a.sendText("done")
	}
	return ok
}
