package model

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// A modelRun is one turn of the agent, in which it may send several requests to the model.
type modelRun struct {
	*upstreamModel
	*reference.EventEmitter
	ctx            context.Context
	turn           reference.Turn
	remainingBytes int               // number of bytes that the model's server may still send
	retried        bool              // send has repeated a request of this run
	serverIDs      map[string]string // id of a tool call in the dialect → id that the model's server gave it
}

// errClientLeft is the error of a run whose events nobody consumes any more. It is not reported to
// the client.
var errClientLeft = errors.New("the client left")

// askUntilDone sends requests to the model until a response contains no tool call, or contains a
// call of a tool that the client must run. After any other response, it runs the called tools and
// sends their results with the next request. It returns an error if a request fails, if the
// consumer of the events has stopped, or if the model is not done after MaxRounds requests.
func (r *modelRun) askUntilDone() error {
	r.serverIDs = map[string]string{}
	messages, err := r.conversation()
	if err != nil {
		return err
	}
	for range r.MaxRounds {
		completed, err := r.requestCompletion(messages)
		if err != nil {
			return err
		}
		if len(completed.calls) == 0 {
			return nil
		}
		results, waits := r.results(completed.calls)
		if r.Stopped() {
			return errClientLeft
		}
		if waits {
			return nil
		}
		messages = append(append(messages, completed.asMessage()), results...)
	}
	return errTooManyRounds
}

// results runs the called tools concurrently, except those that the client must run. When all have
// returned, it emits their results in the order of the calls and returns them as messages. The
// result waits is true if the client must run some of the calls.
func (r *modelRun) results(calls []*streamedCall) (results []chatMessage, waits bool) {
	texts := make([]string, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		if !r.Stopped() && !r.isClientCall(c) {
			all.Go(func() { texts[i] = r.runTool(c.Call) })
		}
	}
	all.Wait()
	for i, c := range calls {
		if r.isClientCall(c) {
			waits = true
			continue
		}
		r.Emit(spec.Event{Kind: spec.ToolResult, Message: r.NewMessageID(), Call: c.ID, Name: c.Name, Text: texts[i]})
		results = append(results, chatMessage{role: roleTool, text: texts[i], call: c.ID})
	}
	return results, waits
}

// isClientCall reports whether the client must run the tool call c: the client has declared the
// tool, and the arguments of c are valid JSON.
func (r *modelRun) isClientCall(c *streamedCall) bool {
	return r.isClientTool(c.Name) && json.Valid([]byte(c.Arguments))
}

// runTool runs the tool that c calls and returns the result for the model. If the call fails, the
// result is a text that begins with "error:", so that the model can correct the call. A call fails
// if the tool is unknown, if the arguments are not JSON, or if the tool returns an error or panics.
func (r *modelRun) runTool(c state.Call) (result string) {
	tool, ok := r.findTool(c.Name)
	switch {
	case !ok && !r.isClientTool(c.Name):
		return "error: there is no tool " + strconv.Quote(c.Name)
	case !json.Valid([]byte(c.Arguments)):
		return "error: the arguments are not JSON"
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			result = "error: the tool failed"
		}
	}()
	result, err := tool.Run(ctx, c.Arguments)
	if err != nil {
		return "error: " + r.sanitize(err.Error())
	}
	return result
}
