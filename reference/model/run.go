package model

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// A run is one turn under way. Once nobody listens, or the context is done, it says
// nothing more.
type run struct {
	*chatModel
	ctx            context.Context
	turn           reference.Turn
	yield          func(spec.Event) bool
	stopped        bool
	messageCount   int
	callCount      int
	remainingBytes int               // how many bytes answers may have
	retried        bool              // the server wanted to be asked again, and was
	serverIDs      map[string]string // what the server calls our calls
}

func (r *run) emit(e spec.Event) {
	if r.stopped = r.stopped || r.ctx.Err() != nil; !r.stopped {
		r.stopped = !r.yield(e)
	}
}

// newMessageID is a fresh message id: no other run of the conversation has it.
func (r *run) newMessageID() string {
	r.messageCount++
	return r.turn.Run + "-m" + strconv.Itoa(r.messageCount)
}

// errClientLeft stops a run that nobody listens to any more.
var errClientLeft = errors.New("nobody listens")

func (r *run) fail(err error) {
	var f *runError
	if errors.As(err, &f) {
		r.emit(spec.Event{Kind: spec.RunError, Text: f.text, Code: f.code})
	}
}

// askUntilDone asks the model until it calls no tool any more, or one of the client's.
func (r *run) askUntilDone() error {
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
		if r.stopped {
			return errClientLeft
		}
		if waits {
			return nil
		}
		messages = append(append(messages, completed.asMessage()), results...)
	}
	return errTooManyRounds
}

// results runs the tools that are called, all at once, and tells what they gave in
// order. waits says that the client has to answer some.
func (r *run) results(calls []*toolCall) (results []chatMessage, waits bool) {
	texts := make([]string, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		if !r.stopped && !r.isClientCall(c) {
			all.Go(func() { texts[i] = r.runTool(c.Call) })
		}
	}
	all.Wait()
	for i, c := range calls {
		if r.isClientCall(c) {
			waits = true
			continue
		}
		r.emit(spec.Event{Kind: spec.ToolResult, Message: r.newMessageID(), Call: c.ID, Name: c.Name, Text: texts[i]})
		results = append(results, chatMessage{role: roleTool, text: texts[i], call: c.ID})
	}
	return results, waits
}

// isClientCall says that a call is for the client to answer.
func (r *run) isClientCall(c *toolCall) bool {
	return r.isClientTool(c.Name) && json.Valid([]byte(c.Arguments))
}

// runTool runs a tool. What is wrong with the call, or goes wrong in the tool, is told to
// the model: it may know better then.
func (r *run) runTool(c state.Call) (result string) {
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
