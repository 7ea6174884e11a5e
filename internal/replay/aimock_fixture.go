package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// maxRules is the maximum number of aimock fixtures in one file (see [ConvertFixtures]). It equals
// the maximum number of rules in a script, because each fixture becomes a rule.
const maxRules = 10_000

// fixtureForm shows, in error messages, the JSON object that a file of aimock fixtures must
// contain.
const fixtureForm = `{"fixtures": [{"match": {…}, "response": {…}}]}`

// ConvertFixtures converts fixtures of aimock, a mock server of LLM APIs, to a script with one rule
// per fixture. The JSON document data has the form {"fixtures": [{"match": …, "response": …}]}. The
// parameter name is the name of the input file.
//
// The result is one output file, with the same name and the extension .yaml, or none if no fixture
// can be converted. ConvertFixtures reports an error if the file or a fixture cannot be converted,
// and a warning for each part of a fixture that is omitted or represented differently.
func ConvertFixtures(name string, data []byte) ([]ConvertedFile, []FileProblem) {
	c := &fixtureConverter{file: name, toolsByCallID: map[string][]string{}, nextIndex: map[string]int{}}
	var list []json.RawMessage
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !c.checkJSON(data) {
		return nil, c.problems
	}
	c.readObject("the file", data, memberDecoders{
		"fixtures": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &list) != nil {
				c.errorf("fixtures must be a list of objects with match and response")
			}
		},
	})
	if len(list) == 0 && !c.failed {
		c.errorf("no fixtures in the file, want %s", fixtureForm)
	}
	if len(list) > maxRules {
		c.errorf("too many fixtures: %d, at most %d are allowed", len(list), maxRules)
		list = nil
	}
	for _, raw := range list {
		c.learnToolNames(raw)
	}
	rules := []any{}
	for i, raw := range list {
		if rule, ok := c.convertFixture(i, raw); ok {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return nil, c.problems
	}
	c.label = "" // what follows is about the file
	text, err := formatYAML(scriptObject{{"rules", rules}})
	if err != nil {
		c.errorf("the script cannot be written: %v", err)
		return nil, c.problems
	}
	head := "# Converted from " + filepath.Base(name) + ", fixtures of aimock.\n"
	return []ConvertedFile{{Name: fileStem(name) + ".yaml", Data: append([]byte(head), text...)}}, c.problems
}

// A fixtureConverter converts the aimock fixtures of one file to rules of a script (see
// [ConvertFixtures]), and collects the problems that it finds.
type fixtureConverter struct {
	file              string // name of the input file
	label             string // prefix of messages, which names the current fixture; "" before the first and after the last
	problems          []FileProblem
	failed            bool                // the current fixture cannot be converted
	toolsByCallID     map[string][]string // distinct tool names by call id; fixtures may use an id for several tools
	nextIndex         map[string]int      // next sequenceIndex, by the JSON of the match object without sequenceIndex
	userMessageWarned bool                // the warning about userMessage was given
}

// checkJSON reports whether data, the content of the file, is JSON. If it is not, checkJSON records
// an error. Unless data is empty or white space, the error has the line and the column, both from
// 1, of the first byte that is wrong.
func (c *fixtureConverter) checkJSON(data []byte) bool {
	if len(bytes.TrimSpace(data)) == 0 {
		c.errorf("is empty: want %s", fixtureForm)
		return false
	}
	syntax, isWrong := errors.AsType[*json.SyntaxError](json.Unmarshal(data, new(json.RawMessage)))
	if !isWrong {
		return true
	}
	before := data[:max(syntax.Offset-1, 0)]
	line, column := 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
	c.file = fmt.Sprintf("%s:%d:%d", c.file, line, column)
	c.errorf("not JSON: %v", syntax)
	return false
}

// errorf records an error about the current fixture, which is then omitted from the script. If it
// is called before the first fixture or after the last, the error is about the file.
func (c *fixtureConverter) errorf(format string, args ...any) {
	c.failed = true
	c.addProblem(Error, format, args...)
}

// warnf records a warning: a part of the current fixture is represented differently in the script,
// or is omitted.
func (c *fixtureConverter) warnf(format string, args ...any) { c.addProblem(Warning, format, args...) }

func (c *fixtureConverter) addProblem(level Severity, format string, args ...any) {
	message := c.label + fmt.Sprintf(format, args...)
	c.problems = append(c.problems, FileProblem{File: c.file, Severity: level, Message: message})
}

// A memberDecoders maps the name of each known member of a JSON object to a function that handles
// the value of that member, given as JSON: it stores the decoded value, or records a problem.
type memberDecoders map[string]func(raw json.RawMessage)

// readObject decodes the JSON object raw and returns its members. For each member, in alphabetical
// order of the names, it calls the function that known holds for the name. If there is no such
// function, it records a warning. If raw is not an object, it records an error and returns nil. The
// parameter what is the name of the object in these messages.
func (c *fixtureConverter) readObject(
	what string, raw json.RawMessage, known memberDecoders,
) (all map[string]json.RawMessage) {
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		c.errorf("%s is not an object", what)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if read := known[name]; read != nil {
			read(all[name])
			continue
		}
		c.warnf("the unknown member %q of %s is ignored", name, what)
	}
	return all
}

// ignoreMembers adds a function to known for each of the given names of members. The function
// records a warning that the member is ignored for the given reason.
func (c *fixtureConverter) ignoreMembers(known memberDecoders, reason string, names ...string) {
	for _, name := range names {
		known[name] = func(json.RawMessage) { c.warnf("%s is ignored: %s", name, reason) }
	}
}

// rejectMembers adds a function to known for each of the given names of members. The function
// records an error with the given reason, so that a fixture with such a member is omitted.
func (c *fixtureConverter) rejectMembers(known memberDecoders, reason string, names ...string) {
	for _, name := range names {
		known[name] = func(json.RawMessage) { c.errorf("%s: the fixture is omitted: %s", name, reason) }
	}
}

// readText returns a function that decodes a JSON string and stores it in *to. The function records
// an error and leaves *to unchanged if the value is not a string. The parameter name is the name of
// the value in the error.
func (c *fixtureConverter) readText(to *string, name string) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		if json.Unmarshal(raw, to) != nil || string(raw) == "null" {
			c.errorf("%s must be a string, got %.60s", name, raw)
		}
	}
}

// readNumber returns a function that decodes a JSON number and stores a pointer to it in *to. The
// function records an error in c and leaves *to unchanged if the value is not a number from low to
// high, or if T is int and the value is not an integer. The parameter name is the name of the value
// in the error.
func readNumber[T int | float64](c *fixtureConverter, to **T, name string, low, high T) func(json.RawMessage) {
	kind := "a number"
	if _, ok := any(low).(int); ok {
		kind = "an integer"
	}
	return func(raw json.RawMessage) {
		var n float64
		err := json.Unmarshal(raw, &n)
		if err != nil || string(raw) == "null" || n < float64(low) || n > float64(high) || float64(T(n)) != n {
			c.errorf("%s must be %s from %v to %v, got %.60s", name, kind, low, high, raw)
			return
		}
		*to = new(T(n))
	}
}

// learnToolNames records in c.toolsByCallID the id and the tool name of each tool call in the
// response of the fixture raw. It must be called for all fixtures before the first is converted,
// because a fixture can refer to a tool call in another fixture. If raw is not a valid fixture,
// learnToolNames does nothing.
func (c *fixtureConverter) learnToolNames(raw json.RawMessage) {
	var f struct {
		Response struct {
			Calls  []struct{ ID, Name string } `json:"toolCalls"`
			Blocks []struct{ ID, Name string } `json:"blocks"`
		} `json:"response"`
	}
	if json.Unmarshal(raw, &f) != nil {
		return // convertFixture reports the error
	}
	for _, call := range slices.Concat(f.Response.Calls, f.Response.Blocks) {
		if call.ID != "" && call.Name != "" && !slices.Contains(c.toolsByCallID[call.ID], call.Name) {
			c.toolsByCallID[call.ID] = append(c.toolsByCallID[call.ID], call.Name)
		}
	}
}

// convertFixture converts the fixture raw to a rule of a script. The parameter i is the index of
// the fixture in the file, from 0. If the fixture cannot be converted, convertFixture records an
// error, and ok is false.
func (c *fixtureConverter) convertFixture(i int, raw json.RawMessage) (rule scriptObject, ok bool) {
	c.label, c.failed = fmt.Sprintf("fixtures[%d]: ", i), false
	rule.set("name", fmt.Sprintf("fixture %d", i))
	var conditions, refusal scriptObject
	var once bool
	var reply []any
	p := aimockStreamOptions{}
	known := memberDecoders{
		"match":    func(raw json.RawMessage) { conditions, once = c.readMatch(raw) },
		"response": func(raw json.RawMessage) { reply, refusal = c.readResponse(raw) },
	}
	c.readStreamOptions(known, &p)
	c.ignoreMembers(known, "no dialect has an equivalent", "openRouterProcessing")
	known["metadata"] = func(json.RawMessage) {} // has no effect on the reply
	c.readObject("the fixture", raw, known)
	if reply == nil && refusal == nil && !c.failed {
		c.errorf("the fixture has no response")
	}
	if c.failed {
		return nil, false
	}
	if len(conditions) > 0 {
		rule.set("when", conditions)
	}
	if refusal != nil {
		rule.set("status", refusal)
	} else {
		rule.set("reply", reply)
	}
	c.setPace(&rule, p)
	c.setFaults(&rule, p, refusal != nil)
	if once {
		rule.set("times", 1)
	}
	return rule, true
}
