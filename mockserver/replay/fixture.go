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

// mostRules is how many fixtures one file may have.
const mostRules = 10_000

// Fixtures makes a script of a file of fixtures as aimock reads them:
// {"fixtures": [{"match": …, "response": …}]}. See [Convert].
func Fixtures(name string, data []byte) ([]File, []Problem) {
	c := &converter{file: name, tools: map[string]string{}, sequence: map[string]int{}}
	var list []json.RawMessage
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	c.each("the file", data, fields{
		"fixtures": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &list) != nil {
				c.fail("fixtures: it is a list of fixtures, each with match and response")
			}
		},
	})
	if len(list) == 0 && len(c.problems) == 0 {
		c.fail("there are no fixtures: the file is {\"fixtures\": [{\"match\": {…}, \"response\": {…}}]}")
	}
	if len(list) > mostRules {
		c.fail("there are %d fixtures: a script has %d rules at most", len(list), mostRules)
		list = nil
	}
	for _, raw := range list {
		c.learn(raw)
	}
	rules := []any{}
	for i, raw := range list {
		if rule, ok := c.fixture(i, raw); ok {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return nil, c.problems
	}
	var b strings.Builder
	b.WriteString("# Converted from " + filepath.Base(name) + ", fixtures of aimock.\n")
	writeYAML(&b, object{{"rules", rules}}, "")
	return []File{{Name: stem(name) + ".yaml", Data: []byte(b.String())}}, c.problems
}

// A converter makes rules of fixtures.
type converter struct {
	file     string
	at       string // which fixture
	problems []Problem
	failed   bool              // the fixture under way cannot be said
	tools    map[string]string // the tools of the calls whose ids fixtures name
	sequence map[string]int    // the next sequenceIndex of fixtures that match alike
	told     bool              // that what was said about userMessage
}

// fail says what leaves the fixture out.
func (c *converter) fail(format string, args ...any) {
	c.failed = true
	c.note(Error, format, args...)
}

// warn says what is said otherwise.
func (c *converter) warn(format string, args ...any) { c.note(Warning, format, args...) }

func (c *converter) note(level Level, format string, args ...any) {
	c.problems = append(c.problems, Problem{File: c.file, Level: level, Text: c.at + fmt.Sprintf(format, args...)})
}

// fields say what is made of the members of an object.
type fields map[string]func(raw json.RawMessage)

// each reads an object. What is not known is named.
func (c *converter) each(what string, raw json.RawMessage, known fields) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		c.fail("%s is not an object", what)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if read := known[name]; read != nil {
			read(all[name])
			continue
		}
		c.warn("%s: %s is left out: it is not known here", what, name)
	}
}

// lost are members that have no equivalent, and why.
func (c *converter) lost(known fields, why string, names ...string) {
	for _, name := range names {
		known[name] = func(json.RawMessage) { c.warn("%s is left out: %s", name, why) }
	}
}

// impossible are members that make a fixture one for something else.
func (c *converter) impossible(known fields, why string, names ...string) {
	for _, name := range names {
		known[name] = func(json.RawMessage) { c.fail("%s: the fixture is left out: %s", name, why) }
	}
}

// text reads a string.
func (c *converter) text(to *string, name string) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		if json.Unmarshal(raw, to) != nil || string(raw) == "null" {
			c.fail("%s: %.60s is not a text", name, raw)
		}
	}
}

// number reads one from low to high.
func (c *converter) number(to **float64, name string, low, high float64) func(json.RawMessage) {
	return func(raw json.RawMessage) {
		var n float64
		if err := json.Unmarshal(raw, &n); err != nil || string(raw) == "null" || n < low || n > high || math.IsNaN(n) {
			c.fail("%s: %.60s is not a number from %v to %v", name, raw, low, high)
			return
		}
		*to = &n
	}
}

// learn notes the tools of calls.
func (c *converter) learn(raw json.RawMessage) {
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
			c.tools[call.ID] = call.Name
		}
	}
}

// fixture makes a rule of one; ok is false where it is left out.
func (c *converter) fixture(i int, raw json.RawMessage) (rule object, ok bool) {
	c.at, c.failed = fmt.Sprintf("fixtures[%d]: ", i), false
	rule.set("name", fmt.Sprintf("fixture %d", i))
	var m match
	var r response
	p := playing{}
	known := fields{
		"match":    func(raw json.RawMessage) { m = c.match(raw) },
		"response": func(raw json.RawMessage) { r = c.response(raw) },
	}
	c.playing(known, &p)
	c.lost(known, "no protocol here has it", "openRouterProcessing")
	known["metadata"] = func(json.RawMessage) {} // notes of the recorder, which change nothing
	c.each("the fixture", raw, known)
	if r.reply == nil && r.status == nil && !c.failed {
		c.fail("it has no response")
	}
	if c.failed {
		return nil, false
	}
	if len(m.when) > 0 {
		rule.set("when", m.when)
	}
	if r.status != nil {
		rule.set("status", r.status)
	} else {
		rule.set("reply", r.reply)
	}
	c.pace(&rule, p)
	c.faults(&rule, p, r)
	if m.once {
		rule.set("times", 1)
	}
	return rule, true
}
