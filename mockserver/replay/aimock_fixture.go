package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// maxRules is how many fixtures one file may have.
const maxRules = 10_000

// ConvertFixtures makes a script of a file of fixtures as aimock reads them:
// {"fixtures": [{"match": …, "response": …}]}. See [Convert].
func ConvertFixtures(name string, data []byte) ([]OutputFile, []Problem) {
	c := &fixtureConverter{file: name, toolByCallID: map[string]string{}, nextIndex: map[string]int{}}
	var list []json.RawMessage
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	c.readObject("the file", data, memberReaders{
		"fixtures": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &list) != nil {
				c.errorf("fixtures: it is a list of fixtures, each with match and response")
			}
		},
	})
	if len(list) == 0 && len(c.problems) == 0 {
		c.errorf("there are no fixtures: the file is {\"fixtures\": [{\"match\": {…}, \"response\": {…}}]}")
	}
	if len(list) > maxRules {
		c.errorf("there are %d fixtures: a script has %d rules at most", len(list), maxRules)
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
	var b strings.Builder
	b.WriteString("# Converted from " + filepath.Base(name) + ", fixtures of aimock.\n")
	writeYAML(&b, orderedMap{{"rules", rules}}, "")
	return []OutputFile{{Name: fileStem(name) + ".yaml", Data: []byte(b.String())}}, c.problems
}

// A fixtureConverter makes rules of fixtures.
type fixtureConverter struct {
	file              string
	label             string // which fixture
	problems          []Problem
	failed            bool              // the fixture under way cannot be said
	toolByCallID      map[string]string // the tools of the calls whose ids fixtures name
	nextIndex         map[string]int    // the next sequenceIndex of fixtures that match alike
	userMessageWarned bool              // that what was said about userMessage
}

// errorf says what leaves the fixture out.
func (c *fixtureConverter) errorf(format string, args ...any) {
	c.failed = true
	c.addProblem(Error, format, args...)
}

// warnf says what is said otherwise.
func (c *fixtureConverter) warnf(format string, args ...any) { c.addProblem(Warning, format, args...) }

func (c *fixtureConverter) addProblem(level Severity, format string, args ...any) {
	c.problems = append(c.problems, Problem{File: c.file, Severity: level, Message: c.label + fmt.Sprintf(format, args...)})
}

// memberReaders say what is made of the members of an object.
type memberReaders map[string]func(raw json.RawMessage)

// readObject reads an object. What is not known is named.
func (c *fixtureConverter) readObject(what string, raw json.RawMessage, known memberReaders) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		c.errorf("%s is not an object", what)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if read := known[name]; read != nil {
			read(all[name])
			continue
		}
		c.warnf("%s: %s is left out: it is not known here", what, name)
	}
}

// ignoreMembers are members that have no equivalent, and why.
func (c *fixtureConverter) ignoreMembers(known memberReaders, why string, names ...string) {
	for _, name := range names {
		known[name] = func(json.RawMessage) { c.warnf("%s is left out: %s", name, why) }
	}
}

// rejectMembers are members that make a fixture one for something else.
func (c *fixtureConverter) rejectMembers(known memberReaders, why string, names ...string) {
	for _, name := range names {
		known[name] = func(json.RawMessage) { c.errorf("%s: the fixture is left out: %s", name, why) }
	}
}

// readText reads a string.
func (c *fixtureConverter) readText(to *string, name string) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		if json.Unmarshal(raw, to) != nil || string(raw) == "null" {
			c.errorf("%s: %.60s is not a text", name, raw)
		}
	}
}

// readNumber reads one from low to high.
func (c *fixtureConverter) readNumber(to **float64, name string, low, high float64) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		var n float64
		if err := json.Unmarshal(raw, &n); err != nil || string(raw) == "null" || n < low || n > high || math.IsNaN(n) {
			c.errorf("%s: %.60s is not a number from %v to %v", name, raw, low, high)
			return
		}
		*to = &n
	}
}

// learnToolNames notes the tools of calls.
func (c *fixtureConverter) learnToolNames(raw json.RawMessage) {
	var f struct {
		Response struct {
			Calls  []struct{ ID, Name string } `json:"toolCalls"`
			Blocks []struct{ ID, Name string } `json:"blocks"`
		} `json:"response"`
	}
	if json.Unmarshal(raw, &f) != nil {
		return // what is wrong with it is said later
	}
	for _, call := range slices.Concat(f.Response.Calls, f.Response.Blocks) {
		if call.ID != "" && call.Name != "" {
			c.toolByCallID[call.ID] = call.Name
		}
	}
}

// convertFixture makes a rule of one; ok is false where it is left out.
func (c *fixtureConverter) convertFixture(i int, raw json.RawMessage) (rule orderedMap, ok bool) {
	c.label, c.failed = fmt.Sprintf("fixtures[%d]: ", i), false
	rule.set("name", fmt.Sprintf("fixture %d", i))
	var m ruleMatch
	var r ruleReply
	p := streamOptions{}
	known := memberReaders{
		"match":    func(raw json.RawMessage) { m = c.readMatch(raw) },
		"response": func(raw json.RawMessage) { r = c.readResponse(raw) },
	}
	c.readStreamOptions(known, &p)
	c.ignoreMembers(known, "no protocol here has it", "openRouterProcessing")
	known["metadata"] = func(json.RawMessage) {} // notes of the recorder, which change nothing
	c.readObject("the fixture", raw, known)
	if r.reply == nil && r.status == nil && !c.failed {
		c.errorf("it has no response")
	}
	if c.failed {
		return nil, false
	}
	if len(m.conditions) > 0 {
		rule.set("when", m.conditions)
	}
	if r.status != nil {
		rule.set("status", r.status)
	} else {
		rule.set("reply", r.reply)
	}
	c.setPace(&rule, p)
	c.setFaults(&rule, p, r)
	if m.once {
		rule.set("times", 1)
	}
	return rule, true
}
