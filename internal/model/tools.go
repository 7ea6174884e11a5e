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

// A Tool is a tool that this server runs.
type Tool struct {
	Name        string
	Description string          // what the tool does, for the model
	Parameters  json.RawMessage // JSON Schema of the arguments, which are an object; nil: any object

	// Run runs the tool and returns its result. The parameter arguments is valid JSON, but need
	// not match Parameters. The model and the client receive the result or the text of the
	// error. Run must return when ctx is done, and must be safe for concurrent use.
	Run func(ctx context.Context, arguments string) (string, error)
}

// checkTools returns an error if a tool lacks a name or a Run function, if two tools have the same
// name, or if Parameters is not JSON.
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

// findTool returns the tool with the given name that this server can run. The result ok is false if
// the server has no such tool. It is also false if the client has a tool of that name, which takes
// precedence.
func (r *modelRun) findTool(name string) (tool Tool, ok bool) {
	i := slices.IndexFunc(r.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 || r.isClientTool(name) {
		return Tool{}, false
	}
	return r.Tools[i], true
}

// isClientTool reports whether the client has a tool with the given name that the model may call.
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

// currentTime returns the time now in the format of RFC 3339. The parameter arguments is a JSON
// object whose optional member "zone" names a time zone, such as "Europe/Berlin". The zone is UTC
// if the member is missing, empty or "Local". currentTime returns an error if arguments is not such
// an object or the time zone is unknown.
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

// lookUp implements the lookup tool. The argument arguments is a JSON object whose member "word" is
// a string. lookUp returns a JSON object with this word and, as "characters", its length in code
// points. It returns an error if arguments is not such an object.
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
