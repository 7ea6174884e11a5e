package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	// For machines without a time zone database.
	_ "time/tzdata"
)

// A Tool is a tool that the server runs.
type Tool struct {
	Name        string
	Description string          // its purpose, for the model
	Parameters  json.RawMessage // JSON Schema of its arguments, an object; nil means any object

	// Run runs the tool. Its arguments are valid JSON, but need not match Parameters. The
	// model and the client receive its result or error. It must return when its context is
	// done, and be safe for concurrent use.
	Run func(ctx context.Context, arguments string) (string, error)
}

// checkTools returns an error if a tool lacks a name or a function, if two have the same name, or
// if a schema is not JSON.
func checkTools(tools []Tool) error {
	for i, tool := range tools {
		same := func(t Tool) bool { return t.Name == tool.Name }
		switch {
		case tool.Name == "" || tool.Run == nil:
			return fmt.Errorf("tool %d lacks a Name or a Run function", i+1)
		case slices.ContainsFunc(tools[:i], same):
			return fmt.Errorf("duplicate tool %q", tool.Name)
		case tool.Parameters != nil && !json.Valid(tool.Parameters):
			return fmt.Errorf("the parameters of tool %q are not JSON", tool.Name)
		}
	}
	return nil
}

// findTool returns the tool of this server with the given name. ok is false if there is none, or if
// the client has a tool of that name, which takes precedence.
func (r *modelRun) findTool(name string) (tool Tool, ok bool) {
	i := slices.IndexFunc(r.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 || r.isClientTool(name) {
		return Tool{}, false
	}
	return r.Tools[i], true
}

func (r *modelRun) isClientTool(name string) bool { return slices.Contains(r.turn.ClientTools, name) }

// BuiltinTools returns two tools without side effects: current_time returns the current time in a
// time zone, and lookup returns a word together with its length.
func BuiltinTools() []Tool {
	return []Tool{{
		Name:        "current_time",
		Description: "Returns the current date and time (RFC 3339) in a time zone, or in UTC.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string",` +
			`"description":"an IANA time zone such as Europe/Berlin"}},"additionalProperties":false}`),
		Run: func(_ context.Context, arguments string) (string, error) { return currentTime(time.Now(), arguments) },
	}, {
		Name:        "lookup",
		Description: "Looks up a word and returns it with its length in characters.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},` +
			`"required":["word"],"additionalProperties":false}`),
		Run: lookUp,
	}}
}

func currentTime(now time.Time, arguments string) (string, error) {
	var args struct{ Zone string }
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return "", errors.New("the arguments are not an object with a zone")
	}
	if args.Zone == "Local" { // do not reveal the server's location
		args.Zone = "UTC"
	}
	zone, err := time.LoadLocation(args.Zone)
	if err != nil {
		return "", errors.New("unknown time zone")
	}
	return now.In(zone).Format(time.RFC3339), nil
}

func lookUp(_ context.Context, arguments string) (string, error) {
	var args struct{ Word *string }
	if json.Unmarshal([]byte(arguments), &args) != nil || args.Word == nil {
		return "", errors.New("the arguments are not an object with a word")
	}
	found, err := json.Marshal(struct {
		Word       string `json:"word"`
		Characters int    `json:"characters"`
	}{*args.Word, len([]rune(*args.Word))})
	return string(found), err
}
