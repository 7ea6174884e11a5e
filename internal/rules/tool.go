package rules

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var toolChecks = []*spec.Check{
	ToolStartsFirst, ToolsAllEnd, ToolArgumentsAreJSON, ToolIDsUnique, ResultAfterCall,
	ClientCallIsLeftOpen, ClientCallIsOffered, ClientCallEndsStream, InterruptIsLast,
	ToolMessageType,
}

// An invalidJSON is a text that is not valid JSON. Because it is a type with a String method, the
// description of the error is formatted only if a finding needs it.
type invalidJSON string

// String returns the text in quotation marks, followed by the position and the description of its
// first error. Of a long text, only the part around the error is quoted.
func (s invalidJSON) String() string {
	offset, text := 0, string(s)
	err := json.Unmarshal([]byte(text), new(any))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = int(syntax.Offset)
	}
	return fmt.Sprintf("%s, which is not valid JSON at byte %d (%v)", excerptAround(text, offset, quote), offset, err)
}

// ToolStartsFirst judges whether the arguments and the end of a tool call are sent only while the
// call is open.
var ToolStartsFirst = &spec.Check{
	ID:    "tool.starts-first",
	Doc:   "the arguments and the end of a tool call are sent only while the call is open",
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		open := map[string]bool{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.ToolStart:
				open[e.Call] = true
			case spec.ToolDelta, spec.ToolEnd:
				if e.IsChunk && e.Call == "" { // judged by chunk.first-names
					return
				}
				if e.Call == "" {
					p.Judge(e, open[""], "got %s without a valid call id; expected the id of an open call", displayName(e))
				} else {
					p.Judge(e, open[e.Call], "got %s of call %q, which is not open; expected %s first",
						displayName(e), e.Call, kindName(request, spec.ToolStart, "its start"))
				}
				if e.Kind == spec.ToolEnd {
					delete(open, e.Call)
				}
			}
		}
	}),
}

// ToolsAllEnd judges whether each tool call that starts also ends. It does not apply to runs that
// fail.
var ToolsAllEnd = &spec.Check{
	ID: "tool.all-end",
	Doc: `every tool call ends before its stream ends, unless the run fails

Clients run a tool when its call has ended.`,
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var order []string        // the calls that have started
		open := map[string]bool{} // by call, for those in order
		var end spec.Event        // the first event that shows that the stream is over
		failed := false
		return func(e spec.Event) {
			if end.Kind == "" && (isTerminal(e) || e.Kind == spec.Done || e.Kind == spec.BodyEnd) {
				end = e
			}
			switch {
			case e.Kind == spec.ToolStart:
				if _, known := open[e.Call]; !known {
					order = append(order, e.Call)
				}
				open[e.Call] = true
			case e.Kind == spec.ToolEnd:
				if open[e.Call] {
					p.Judge(e, true, "")
					open[e.Call] = false
				}
			case e.Kind == spec.RunError || e.Kind == spec.RunRefused:
				failed = true
			case isCleanEnd(e) && !failed:
				for _, id := range order {
					if open[id] {
						p.Judge(end, false, "stream ended while call %q was open; expected %s first",
							id, kindName(request, spec.ToolEnd, "its end"))
					}
				}
			}
		}
	}),
}

// ToolArgumentsAreJSON judges whether the arguments of each tool call are one JSON value.
var ToolArgumentsAreJSON = &spec.Check{
	ID: "tool.arguments-are-json",
	Doc: `the arguments of a tool call are one JSON value

Clients parse the arguments when the call has ended, and cannot run the tool if they are not valid. If
the arguments are streamed in deltas, the joined deltas are judged. If each event about a call repeats
all arguments so far, only the last of these events is judged, and only if the run did not fail:
otherwise, the arguments may be incomplete.`,
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		joined := map[string]*strings.Builder{}
		calls := map[string]spec.Event{} // by call: its latest state, for calls in one piece
		var order []string
		failed := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.ToolStart:
				delete(joined, e.Call)
			case e.Kind == spec.ToolDelta:
				if joined[e.Call] == nil {
					joined[e.Call] = &strings.Builder{}
				}
				joined[e.Call].WriteString(e.Text)
			case e.Kind == spec.ToolEnd:
				all := joined[e.Call]
				if all == nil { // a call without arguments
					return
				}
				arguments := all.String()
				p.Judge(e, json.Valid([]byte(arguments)), "arguments of call %q are %v; expected one JSON value",
					e.Call, invalidJSON(arguments))
			case e.Kind == spec.RunError || e.Kind == spec.RunRefused:
				failed = true
			case isCleanEnd(e) && !failed:
				for _, key := range order {
					call := calls[key]
					p.Judge(call, json.Valid([]byte(call.Text)), "arguments of call %q of %s are %v; expected one JSON value",
						call.Call, toolName(call.Name), invalidJSON(call.Text))
				}
			}
			if e.Kind == spec.RunEnd || e.Kind == spec.History {
				return // they repeat calls that were streamed
			}
			walkParts(e, func(part spec.Event) {
				if part.Kind == spec.ToolCall {
					key := cmp.Or(part.Call, "\x00"+part.Message)
					if _, ok := calls[key]; !ok {
						order = append(order, key)
					}
					calls[key] = part
				}
			})
		}
	}),
}

// ToolIDsUnique judges whether different tool calls of a thread have different ids.
var ToolIDsUnique = &spec.Check{
	ID:    "tool.ids-unique",
	Doc:   "the id of a tool call is not used for another call of the thread",
	Needs: []spec.Kind{spec.ToolStart},
	Watch: func(p *spec.Pass) func(spec.Event) {
		type callKey struct{ thread, call string }
		used := map[callKey]string{} // the stream in which the call was started
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			streamID := streamName(request)
			startedHere := map[string]bool{}
			return func(e spec.Event) {
				if e.Kind != spec.ToolStart || !request.Valid() {
					return
				}
				key := callKey{request.Thread, e.Call}
				before, ok := used[key]
				fresh := !startedHere[e.Call] && (!ok || before == streamID) // a second stream of the same run repeats its calls
				p.Judge(e, fresh, "call has the id %q, which an earlier call already has; expected a new id for each call", e.Call)
				used[key] = streamID
				startedHere[e.Call] = true
			}
		})(p)
	},
}

// ResultAfterCall judges whether each tool result comes after its call.
var ResultAfterCall = &spec.Check{
	ID: "tool.result-after-call",
	Doc: `a tool result comes after the end of its call, in the same stream

If the request continues an earlier run, for example after an approval, the call may be in an earlier
stream of the thread. A result without a call id must come after a call without an id.`,
	Needs: []spec.Kind{spec.ToolResult},
	Watch: func(p *spec.Pass) func(spec.Event) {
		earlier := map[string]map[string]bool{} // by thread: the ids of its completed calls
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			if earlier[request.Thread] == nil {
				earlier[request.Thread] = map[string]bool{}
			}
			made, begun, judged := map[string]bool{}, map[string]bool{}, map[string]bool{}
			if _, prompted := request.Prompt(); !prompted && request.Thread != "" {
				maps.Copy(made, earlier[request.Thread])
			}
			judgePart := func(part spec.Event) {
				switch {
				case part.Kind == spec.ToolStart:
					begun[part.Call] = true
				case part.Kind == spec.ToolCall || part.Kind == spec.ToolEnd:
					made[part.Call], earlier[request.Thread][part.Call] = true, true // the id may be empty
				case part.Kind != spec.ToolResult || part.Call == "" || judged[part.Call]:
				case begun[part.Call] && !made[part.Call]:
					judged[part.Call] = true
					p.Judge(part, made[""], "result of call %q comes before the end of the call; expected %s first",
						part.Call, kindName(request, spec.ToolEnd, "its end"))
				default:
					judged[part.Call] = true
					p.Judge(part, made[part.Call] || made[""],
						"got a result for call %q, which this stream has not made before; expected the call first", part.Call)
				}
			}
			return func(e spec.Event) {
				// An invalid request may continue a run in a way that was not understood. The
				// output of a run repeats results that were streamed.
				if !request.Valid() || e.Kind == spec.RunEnd {
					return
				}
				// Contents that the end of a message repeats may lack the id.
				if e.Kind == spec.ToolResult && e.Call == "" && len(e.Violations) == 0 && len(made) > 0 && !judged[""] {
					judged[""] = true
					p.Judge(e, made[""], "result names no call, although each call has an id; expected the id of its call")
				}
				walkParts(e, judgePart)
			}
		})(p)
	},
}

// A callState is the state of one tool call after the events observed so far.
type callState struct {
	start            *spec.Event // the first event of the call
	ended, hasResult bool        // whether its end and its result were seen
}

// A streamToolCalls holds the tool calls of the current stream. It does not yet include the
// current event. Checks use it to find the calls of client tools, that is, of tools that the client
// runs. It is active only if the request for the stream offers such tools, or if it asks a server
// that understands the test prompts for a call of one; see [spec.Trace.Scripted].
type streamToolCalls struct {
	keep    func(spec.Event) *spec.Event // copies an event that is retained; see keeper
	streams *initialStreamTracker        // determines which event opens a stream, and which events belong to it
	pending *spec.Event                  // an event that toolCalls does not yet include; nil if there is none
	active  bool                         // whether the current stream is open and may have calls of client tools
	toolCalls
}

// A toolCalls holds the tool calls of one stream.
type toolCalls struct {
	request         spec.Event            // the request for the stream
	calls           []*callState          // in order of their start
	byID            map[string]*callState // by call id
	openClientCalls int                   // number of calls of client tools that have ended and have no result

	// halted is whether an interrupt or a failure stopped the run. If so, a call without a result
	// does not necessarily wait for a result from the client.
	halted bool
}

// callTrackerOf returns the tracker of the tool calls in the conversation that p judges. All checks
// share the tracker, and must not modify it.
func callTrackerOf(p *spec.Pass) *streamToolCalls {
	streams := streamsOf(p)
	return spec.Shared(p, "tool calls", func() (*streamToolCalls, func(spec.Event)) {
		c := &streamToolCalls{keep: keeper(p), streams: streams}
		return c, c.observe
	})
}

// observe makes e the current event, and updates the tool calls with the event that was the current
// one before. If e is the start of a stream, observe removes the calls of the previous stream.
func (c *streamToolCalls) observe(e spec.Event) {
	if c.pending != nil {
		c.update(*c.pending)
		c.pending = nil
	}
	switch {
	case c.streams.opens:
		request := c.streams.request
		_, offers := request.Last(spec.InputTool)
		prompt, _ := request.Prompt()
		c.active = offers || followsPrompt(request) && strings.HasPrefix(prompt, "conformance:client-tool ")
		c.toolCalls = toolCalls{request: request, byID: map[string]*callState{}}
	case c.active && c.streams.sees(e):
		c.pending = &e
	}
}

// update adds e, an event of the stream, to the tool calls.
func (c *streamToolCalls) update(e spec.Event) {
	k := c.byID[e.Call]
	wasLeft := c.isLeftToClient(k)
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		if k == nil {
			k = &callState{start: c.keep(e), ended: e.Kind == spec.ToolCall}
			c.calls, c.byID[e.Call] = append(c.calls, k), k
		}
	case spec.ToolEnd:
		if k != nil {
			k.ended = true
		}
	case spec.ToolResult:
		if k != nil {
			k.hasResult = true
		}
	case spec.Interrupt, spec.RunError, spec.RunRefused:
		c.halted = true
	}
	switch isLeft := c.isLeftToClient(k); {
	case isLeft && !wasLeft:
		c.openClientCalls++
	case wasLeft && !isLeft:
		c.openClientCalls--
	}
}

// eachToolStream returns a newWatcherFunc that calls judge with each event e of the streams that
// may have calls of client tools; see streamToolCalls. The argument c holds the tool calls of the
// stream before e. All checks share c, so judge must not modify it.
func eachToolStream(judge func(p *spec.Pass, e spec.Event, c *streamToolCalls)) newWatcherFunc {
	return func(p *spec.Pass) func(spec.Event) {
		c := callTrackerOf(p)
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			return func(e spec.Event) {
				if c.active {
					judge(p, e, c)
				}
			}
		})(p)
	}
}

// InterruptIsLast judges whether only the end of the run and an in-band terminator such as "[DONE]"
// follow an interrupt, an event with which the run stops and asks the client for input.
var InterruptIsLast = &spec.Check{
	ID: "interrupt.is-last",
	Doc: `only the end of the run and the in-band terminator follow an interrupt

A client may stop reading at the interrupt without missing anything. Further interrupts, deltas without
text and events of unknown types are therefore permitted as well.`,
	Needs: []spec.Kind{spec.Interrupt},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var interrupt spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Interrupt:
				interrupt = e
			case interrupt.Raw == nil || e.Kind == spec.Unrecognized || isDelta(e) && e.Text == "":
			case e.IsFrame():
				p.Judge(e, isTerminal(e) || e.Kind == spec.Done,
					"%s comes after an interrupt; expected the end of the run", displayName(e))
			case isCleanEnd(e):
				p.Judge(interrupt, true, "")
			}
		}
	}),
}
