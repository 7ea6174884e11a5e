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
	*model
	ctx      context.Context
	turn     reference.Turn
	yield    func(spec.Event) bool
	over     bool
	messages int
	calls    int
	left     int               // how many bytes answers may have
	retried  bool              // the server wanted to be asked again, and was
	theirs   map[string]string // what the server calls our calls
}

func (r *run) say(e spec.Event) {
	if r.over = r.over || r.ctx.Err() != nil; !r.over {
		r.over = !r.yield(e)
	}
}

// message is a fresh message id: no other run of the conversation has it.
func (r *run) message() string {
	r.messages++
	return r.turn.Run + "-m" + strconv.Itoa(r.messages)
}

// errLeft stops a run that nobody listens to any more.
var errLeft = errors.New("nobody listens")

func (r *run) fail(err error) {
	var f *fault
	if errors.As(err, &f) {
		r.say(spec.Event{Kind: spec.RunError, Text: f.text, Code: f.code})
	}
}

// play asks the model until it calls no tool any more, or one of the client's.
func (r *run) play() error {
	r.theirs = map[string]string{}
	said, err := r.conversation()
	if err != nil {
		return err
	}
	for range r.Rounds {
		answer, err := r.ask(said)
		if err != nil {
			return err
		}
		if len(answer.calls) == 0 {
			return nil
		}
		results, waits := r.results(answer.calls)
		if r.over {
			return errLeft
		}
		if waits {
			return nil
		}
		said = append(append(said, answer.said()), results...)
	}
	return errRounds
}

// results runs the tools that are called, all at once, and tells what they gave in
// order. waits says that the client has to answer some.
func (r *run) results(calls []*call) (results []words, waits bool) {
	texts := make([]string, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		if !r.over && !r.clients(c) {
			all.Go(func() { texts[i] = r.do(c.Call) })
		}
	}
	all.Wait()
	for i, c := range calls {
		if r.clients(c) {
			waits = true
			continue
		}
		r.say(spec.Event{Kind: spec.ToolResult, Message: r.message(), Call: c.ID, Name: c.Name, Text: texts[i]})
		results = append(results, words{role: roleTool, text: texts[i], call: c.ID})
	}
	return results, waits
}

// clients says that a call is for the client to answer.
func (r *run) clients(c *call) bool {
	return r.offered(c.Name) && json.Valid([]byte(c.Arguments))
}

// do runs a tool. What is wrong with the call, or goes wrong in the tool, is told to
// the model: it may know better then.
func (r *run) do(c state.Call) (result string) {
	tool, ok := r.tool(c.Name)
	switch {
	case !ok && !r.offered(c.Name):
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
	result, err := tool.Do(ctx, c.Arguments)
	if err != nil {
		return "error: " + r.line(err.Error())
	}
	return result
}
