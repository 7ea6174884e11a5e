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
	maxDeltas    = 100_000        // deltas of a message, for the prompts "slow" and "many"
	maxTextBytes = 16 << 20       // bytes of text, for the prompt "large"
	maxPause     = 24 * time.Hour // for the prompts "slow" and "idle"
)

// imageURL is the URL of the image that the scripted agent sends.
const imageURL = "https://example.com/image.png"

// Scripted is an [Agent] that responds to the test prompts in docs/prompts.md, such as
// "conformance:tool". It answers any other prompt with "Hello, world.".
func Scripted(ctx context.Context, t Turn) iter.Seq[spec.Event] {
	a := &scriptedAgentTurn{turn: t}
	a.prompt, a.hasPrompt = t.Prompt()
	return NewAgent(a.respond)(ctx, t)
}

// A scriptedAgentTurn is one turn of the scripted agent.
type scriptedAgentTurn struct {
	*EventEmitter
	turn      Turn
	prompt    string // text of the user message that the turn answers; "" if not hasPrompt
	hasPrompt bool   // the request ends with a message of the user
}

const promptPrefix = "conformance:"

// promptHandlers maps the name of each test prompt to its handler. The handler receives the text
// after the name as arguments. It returns false, without emitting an event, if the arguments are
// invalid or the agent cannot do what the prompt requests.
var promptHandlers = map[string]func(a *scriptedAgentTurn, arguments string) bool{
	"text":        (*scriptedAgentTurn).sendText,
	"empty":       func(*scriptedAgentTurn, string) bool { return true },
	"messages":    func(a *scriptedAgentTurn, _ string) bool { return a.sendText("one") && a.sendText("two") },
	"contents":    (*scriptedAgentTurn).sendContents,
	"reasoning":   (*scriptedAgentTurn).sendReasoning,
	"tool":        (*scriptedAgentTurn).callTool,
	"tools":       (*scriptedAgentTurn).callTools,
	"client-tool": (*scriptedAgentTurn).callClientTool,
	"interrupt":   (*scriptedAgentTurn).interrupt,
	"recall":      (*scriptedAgentTurn).sendPreviousText,
	"state":       (*scriptedAgentTurn).changeState,
	"steps":       func(a *scriptedAgentTurn, _ string) bool { return a.sendStep("one") && a.sendStep("two") },
	"slow":        withNumbers((*scriptedAgentTurn).sendSlow, maxDeltas, maxPauseMillis),
	"many":        withNumbers(func(a *scriptedAgentTurn, n []int) { a.sendNumbers(n[0], 0) }, maxDeltas),
	"large":       withNumbers((*scriptedAgentTurn).sendLarge, maxTextBytes),
	"idle":        withNumbers((*scriptedAgentTurn).waitIdle, maxPauseMillis),
	"error":       (*scriptedAgentTurn).fail,
	"error-mid":   (*scriptedAgentTurn).failMidway,
}

// respond emits the events of the turn. If tool results or an interrupt reply follow the last
// prompt of the user, it answers these; otherwise, it answers the prompt.
func (a *scriptedAgentTurn) respond(_ context.Context, _ Turn, e *EventEmitter) {
	a.EventEmitter = e
	if !a.hasPrompt && a.continueTurn() {
		return
	}
	name, arguments, _ := strings.Cut(a.prompt, " ")
	name, isConformance := strings.CutPrefix(name, promptPrefix)
	if script := promptHandlers[name]; !isConformance || script == nil || !script(a, arguments) {
		a.sendText("Hello, world.")
	}
}

// continueTurn answers the tool results or the interrupt reply in the request. It returns false if
// the request contains neither.
func (a *scriptedAgentTurn) continueTurn() bool {
	var results []string
	for _, part := range a.turn.Parts {
		switch part.Kind {
		case spec.InputUser:
			results = nil
		case spec.InputToolResult:
			results = append(results, part.Text)
		}
	}
	if resume, ok := a.turn.Last(spec.InputResume); ok && resume.Text == "" && resume.Status != "" {
		return a.sendText("no payload: " + resume.Status)
	} else if ok {
		return a.sendText("resumed with: " + asJSON(resume.Text))
	}
	return len(results) > 0 && a.sendText("tool said: "+strings.Join(results, "\n"))
}

// asJSON returns text in compact form if it is valid JSON. Otherwise it returns text encoded as a
// JSON string.
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
func (a *scriptedAgentTurn) sendText(text string) bool {
	a.EmitMessage(splitText(text)...)
	return true
}

func (a *scriptedAgentTurn) sendDeltas(k spec.Kind, id, text string) {
	for _, piece := range splitText(text) {
		a.emitText(k, id, piece)
	}
}

// splitText splits text between characters into at most three pieces of similar length. It returns
// nil if text is empty.
func splitText(text string) (pieces []string) {
	runes := []rune(text)
	n := min(3, len(runes))
	for i := range n {
		pieces = append(pieces, string(runes[len(runes)*i/n:len(runes)*(i+1)/n]))
	}
	return pieces
}

func (a *scriptedAgentTurn) sendContents(string) bool {
	id := a.NewMessageID()
	a.emitText(spec.MessageStart, id, "")
	a.sendDeltas(spec.MessageDelta, id, "see")
	a.Emit(spec.Event{Kind: spec.ContentEnd, Message: id, Type: "image", Text: imageURL})
	a.emitText(spec.MessageEnd, id, "")
	return true
}

func (a *scriptedAgentTurn) sendReasoning(text string) bool {
	id := a.NewMessageID()
	a.emitText(spec.ReasoningStart, id, "")
	a.sendDeltas(spec.ReasoningDelta, id, "thinking")
	a.emitText(spec.ReasoningEnd, id, "")
	return a.sendText(text)
}

func (a *scriptedAgentTurn) sendPreviousText(string) bool {
	text, found, err := a.turn.previousUserText(a.ctx)
	switch {
	case err != nil:
		return a.fail("the earlier messages cannot be read")
	case !found:
		return a.sendText("nothing")
	}
	return a.sendText(text)
}

func (a *scriptedAgentTurn) fail(message string) bool {
	a.Fail(cmp.Or(message, "the run failed"), "")
	return true
}

func (a *scriptedAgentTurn) failMidway(message string) bool {
	id := a.NewMessageID()
	a.emitText(spec.MessageStart, id, "")
	a.emitText(spec.MessageDelta, id, "This is ")
	a.emitText(spec.MessageDelta, id, "as far as ")
	return a.fail(message)
}

// changeState emits a snapshot of the state, a delta for each patch, a message, and a snapshot of
// the messages of the turn. The argument patches is a sequence of JSON arrays, each of which is one
// JSON Patch. If it is not, changeState emits nothing and returns false.
func (a *scriptedAgentTurn) changeState(patches string) bool {
	deltas, dec := []json.RawMessage{}, json.NewDecoder(strings.NewReader(patches))
	for dec.More() {
		var patch []any
		var text json.RawMessage
		if dec.Decode(&text) != nil || json.Unmarshal(text, &patch) != nil {
			return false
		}
		deltas = append(deltas, text)
	}
	a.emitText(spec.StateSnapshot, "", cmp.Or(a.turn.State, "{}"))
	for _, delta := range deltas {
		a.emitText(spec.StateDelta, "", string(delta))
	}
	const text = "changed"
	id := a.NewMessageID()
	a.emitText(spec.MessageStart, id, "")
	a.sendDeltas(spec.MessageDelta, id, text)
	a.emitText(spec.MessageEnd, id, "")
	prompt, _ := a.turn.Last(spec.InputUser)
	a.Emit(spec.Event{Kind: spec.History, Parts: []spec.Event{
		{Kind: spec.HistoryUser, Message: cmp.Or(prompt.Message, id+"-prompt"), Text: a.prompt},
		{Kind: spec.HistoryAssistant, Message: id, Text: text},
	}})
	return true
}

// sendStep emits a step with the given name, which contains one message with the name as its text.
// It always returns true, so that handlers of prompts can return its result.
func (a *scriptedAgentTurn) sendStep(name string) bool {
	a.Emit(spec.Event{Kind: spec.StepStart, Name: name})
	a.sendText(name)
	a.Emit(spec.Event{Kind: spec.StepEnd, Name: name})
	return true
}

// The name of the tool that the scripted agent runs itself, and the result that this tool always
// returns.
const (
	toolName   = "lookup"
	toolResult = `{"found":true}`
)

func (a *scriptedAgentTurn) callTool(arguments string) bool {
	if a.turn.OnlyClient {
		return a.callClientTool(arguments)
	}
	a.sendResults(a.sendCalls(toolName, argumentsOrEmpty(arguments)))
	return a.sendText("I have looked it up.")
}

func (a *scriptedAgentTurn) callTools(string) bool {
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

// sendCalls emits one call of the named tool for each element of arguments, and returns the ids of
// the calls. The calls overlap: their deltas alternate.
func (a *scriptedAgentTurn) sendCalls(tool string, arguments ...string) (ids []string) {
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

// sendResults emits toolResult as the result of each of the tool calls with the given ids.
func (a *scriptedAgentTurn) sendResults(calls []string) {
	for _, id := range calls {
		a.Emit(spec.Event{
			Kind: spec.ToolResult, Message: a.NewMessageID(), Call: id, Name: toolName, Text: toolResult,
		})
	}
}

// clientTool returns the name of the client's tool to call. This is the first tool that the client
// declares. However, it is toolName if the client declares a tool with that name and the agent must
// not run tools itself. clientTool panics if the client declares no tool.
func (a *scriptedAgentTurn) clientTool() string {
	if a.turn.OnlyClient && slices.Contains(a.turn.ClientTools, toolName) {
		return toolName
	}
	return a.turn.ClientTools[0]
}

// callClientTool emits a call of a client's tool as the last event before the end of the run. If
// the client declares no tool, it emits a message with the arguments as its text. It always returns
// true, so that handlers of prompts can return its result.
func (a *scriptedAgentTurn) callClientTool(arguments string) bool {
	if arguments = argumentsOrEmpty(arguments); len(a.turn.ClientTools) == 0 {
		return a.sendText(arguments)
	}
	a.sendCalls(a.clientTool(), arguments)
	return true
}

func (a *scriptedAgentTurn) interrupt(payload string) bool {
	a.Emit(spec.Event{Kind: spec.Interrupt, ID: a.NewInterruptID(), Text: asJSON(argumentsOrEmpty(payload))})
	return true
}

// withNumbers returns a handler for a prompt whose arguments are non-negative integers, separated
// by white space. The handler calls handle with the numbers. The parameter limits contains the
// maximum of each number. The handler returns false, without calling handle, if there are more or
// fewer numbers than limits, or if a number is invalid or exceeds its limit.
func withNumbers(handle func(a *scriptedAgentTurn, n []int), limits ...int) func(*scriptedAgentTurn, string) bool {
	return func(a *scriptedAgentTurn, arguments string) bool {
		fields := strings.Fields(arguments)
		if len(fields) != len(limits) {
			return false
		}
		numbers := make([]int, len(fields))
		for i, field := range fields {
			n, err := strconv.Atoi(field)
			if err != nil || n < 0 || n > limits[i] {
				return false
			}
			numbers[i] = n
		}
		handle(a, numbers)
		return true
	}
}

const maxPauseMillis = int(maxPause / time.Millisecond)

func (a *scriptedAgentTurn) sendSlow(n []int) {
	a.sendNumbers(n[0], time.Duration(n[1])*time.Millisecond)
}

// sendNumbers emits a message of n deltas, which contain the numbers from 1 to n. The deltas follow
// each other at the given interval. Their times are relative to the first delta, so that delays do
// not accumulate.
func (a *scriptedAgentTurn) sendNumbers(n int, interval time.Duration) {
	id := a.NewMessageID()
	a.emitText(spec.MessageStart, id, "")
	start := time.Now()
	for i := range n {
		a.WaitUntil(start.Add(time.Duration(i) * interval))
		if a.Stopped() {
			return
		}
		a.emitText(spec.MessageDelta, id, strconv.Itoa(i+1)+" ")
	}
	a.emitText(spec.MessageEnd, id, "")
}

func (a *scriptedAgentTurn) sendLarge(n []int) {
	const line = "0123456789abcdef"
	a.EmitMessage(strings.Repeat(line, n[0]/len(line)+1)[:n[0]])
}

func (a *scriptedAgentTurn) waitIdle(n []int) {
	a.WaitUntil(time.Now().Add(time.Duration(n[0]) * time.Millisecond))
	a.sendText("done")
}
