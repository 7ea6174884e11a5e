package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	// The machine may have no time zones of its own.
	_ "time/tzdata"
)

// A Tool is one that the server runs.
type Tool struct {
	Name        string
	Description string          // what it is for
	Parameters  json.RawMessage // the JSON schema of its arguments, an object's; nil is any object

	// Do runs it. The arguments are JSON, but whatever the model likes otherwise; what
	// it returns is told to the model and to the client, an error as well. It has to
	// return when its context is done, and may be run several times at once.
	Run func(ctx context.Context, arguments string) (string, error)
}

// checkTools says what is wrong with a list of tools.
func checkTools(tools []Tool) error {
	for i, tool := range tools {
		same := func(t Tool) bool { return t.Name == tool.Name }
		switch {
		case tool.Name == "" || tool.Run == nil:
			return fmt.Errorf("tool %d has no name, or does nothing", i+1)
		case slices.ContainsFunc(tools[:i], same):
			return fmt.Errorf("there are two tools %q", tool.Name)
		case tool.Parameters != nil && !json.Valid(tool.Parameters):
			return fmt.Errorf("the parameters of tool %q are not JSON", tool.Name)
		}
	}
	return nil
}

// findTool finds one of the server's. A client's of that name hides it.
func (r *run) findTool(name string) (Tool, bool) {
	i := slices.IndexFunc(r.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 || r.isClientTool(name) {
		return Tool{}, false
	}
	return r.Tools[i], true
}

func (r *run) isClientTool(name string) bool { return slices.Contains(r.turn.ClientTools, name) }

// BuiltinTools are some that need nothing, and do no harm: the time, and an echo.
func BuiltinTools() []Tool {
	return []Tool{{
		Name:        "current_time",
		Description: "Tells the current date and time (RFC 3339), in a time zone or in UTC.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string",` +
			`"description":"an IANA time zone such as Europe/Berlin"}},"additionalProperties":false}`),
		Run: func(_ context.Context, arguments string) (string, error) { return currentTime(time.Now(), arguments) },
	}, {
		Name:        "lookup",
		Description: "Looks a word up, and gives it back together with how long it is.",
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
	if args.Zone == "Local" { // where the server stands is not told
		args.Zone = "UTC"
	}
	zone, err := time.LoadLocation(args.Zone)
	if err != nil {
		return "", errors.New("there is no such time zone")
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
