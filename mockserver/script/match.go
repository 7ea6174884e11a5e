package script

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// Conditions are what must hold of a request. What is not set holds always.
type conditions struct {
	operations    []string // any of these
	lastInput     string   // what is to be answered
	turn          *intRange
	text          *textMatcher
	resume        *textMatcher
	toolResult    *toolResultMatcher
	offers        []string // all of these
	thread        *textMatcher
	run           *textMatcher
	headers       []headerMatcher
	body          []bodyMatcher
	scenarioSteps []scenarioStep // judged with what is counted
	hasLast       bool           // a script said last itself
}

// A intRange is a range of numbers; no high is no bound.
type intRange struct{ low, high int }

// Texts are what a text must be: all that is set.
type textMatcher struct {
	equals, contains *string
	matches          *regexp.Regexp
	exists           *bool // nil: it has to exist where anything else is set
}

// A toolResultMatcher is what the result of a client's tool must be.
type toolResultMatcher struct{ name, call, text *textMatcher }

type headerMatcher struct {
	name    string
	matcher *textMatcher
}

// A bodyMatcher is a place of the body, and what must stand there.
type bodyMatcher struct {
	pointer string
	value   *any // the JSON value that it equals
	matcher *textMatcher
}

// A matchContext is what was found while a rule was tried.
type matchContext struct {
	request       *RequestContext
	state         *State
	groups        map[string]string // groups of what matched
	toolResult    *spec.Event       // the result that fits
	conditionsMet int               // how many conditions held
}

// A mismatchReason is why a condition does not hold; nil is that it does. It is only put into
// words where somebody wants to know.
type mismatchReason func() string

// match is nil where all conditions hold.
func (r *Rule) match(p *matchContext) mismatchReason {
	f, c := p.request, &r.conditions
	if !r.appliesTo(f.Dialect) {
		return func() string { return "dialects: " + f.Dialect.Name + " is none of them" }
	}
	if !slices.Contains(c.operations, f.Operation) {
		return func() string {
			return "operation: is " + quoteTruncated(f.Operation) + ", not " + strings.Join(c.operations, " or ")
		}
	}
	for _, one := range []func(*matchContext) mismatchReason{c.matchLast, c.matchTurn, c.matchText, c.matchToolResult, c.matchOffers, c.matchIDs, c.matchHeaders, c.matchBody} {
		if no := one(p); no != nil {
			return no
		}
		p.conditionsMet++
	}
	return nil
}

func (c *conditions) matchLast(p *matchContext) mismatchReason {
	if c.lastInput == "" || c.lastInput == p.request.lastInput {
		return nil
	}
	return func() string {
		if p.request.lastInput == "" {
			return "last: nothing is to be answered, where " + quoteTruncated(c.lastInput) + " is wanted"
		}
		return "last: is " + quoteTruncated(p.request.lastInput) + ", not " + quoteTruncated(c.lastInput)
	}
}

func (c *conditions) matchTurn(p *matchContext) mismatchReason {
	if c.turn == nil || p.request.turn >= c.turn.low && (c.turn.high == 0 || p.request.turn <= c.turn.high) {
		return nil
	}
	return func() string { return "turn: is " + strconv.Itoa(p.request.turn) + ", not " + c.turn.String() }
}

func (s intRange) String() string {
	switch {
	case s.high == 0:
		return strconv.Itoa(s.low) + " or more"
	case s.low == s.high:
		return strconv.Itoa(s.low)
	}
	return fmt.Sprintf("%d to %d", s.low, s.high)
}

func (c *conditions) matchText(p *matchContext) mismatchReason {
	if c.text != nil {
		if no := c.text.match(p, "text", p.request.userText, p.request.userText != ""); no != nil {
			return no
		}
	}
	if c.resume == nil {
		return nil
	}
	answer, ok := p.request.Parsed.Last(spec.InputResume)
	return c.resume.match(p, "resume", answer.Text, ok)
}

func (c *conditions) matchIDs(p *matchContext) mismatchReason {
	if c.thread != nil {
		if no := c.thread.match(p, "thread", p.request.Parsed.Thread, p.request.Parsed.Thread != ""); no != nil {
			return no
		}
	}
	if c.run == nil {
		return nil
	}
	return c.run.match(p, "run", p.request.Parsed.Run, p.request.Parsed.Run != "")
}

// matchToolResult looks for a result that fits, among those that came after the user spoke.
func (c *conditions) matchToolResult(p *matchContext) (no mismatchReason) {
	results := p.request.toolResults()
	if len(results) > 0 {
		p.toolResult = &results[len(results)-1]
	}
	if c.toolResult == nil {
		return nil
	}
	no = func() string { return "tool-result: there is none" }
	for i := range results {
		if no = c.toolResult.match(p, &results[i]); no == nil {
			p.toolResult = &results[i]
			return nil
		}
	}
	return no
}

func (r *toolResultMatcher) match(p *matchContext, part *spec.Event) mismatchReason {
	if r.name != nil {
		tool := p.toolName(part)
		if no := r.name.match(p, "tool-result: name", tool, tool != ""); no != nil {
			return no
		}
	}
	if r.call != nil {
		if no := r.call.match(p, "tool-result: call", part.Call, part.Call != ""); no != nil {
			return no
		}
	}
	if r.text == nil {
		return nil
	}
	return r.text.match(p, "tool-result: text", part.Text, true)
}

// toolName is the name of the tool that a result is of: clients need not repeat it.
func (p *matchContext) toolName(part *spec.Event) string {
	if part.Name != "" {
		return part.Name
	}
	return p.state.toolName(part.Call)
}

func (c *conditions) matchOffers(p *matchContext) mismatchReason {
	for _, want := range c.offers {
		offered := slices.ContainsFunc(p.request.Parsed.Parts, func(part spec.Event) bool {
			return part.Kind == spec.InputTool && part.Name == want
		})
		if !offered {
			return func() string { return "offers: the request offers no tool " + quoteTruncated(want) }
		}
	}
	return nil
}

func (c *conditions) matchHeaders(p *matchContext) mismatchReason {
	for _, h := range c.headers {
		if no := h.matcher.match(p, "header "+h.name, p.request.Request.Header.Get(h.name), p.request.Request.Header.Has(h.name)); no != nil {
			return no
		}
	}
	return nil
}

func (c *conditions) matchBody(p *matchContext) mismatchReason {
	for _, want := range c.body {
		v, ok := lookupPointer(p.request.bodyJSON(), want.pointer)
		if want.matcher != nil {
			if no := want.matcher.match(p, "body "+want.pointer, jsonToText(v), ok); no != nil {
				return no
			}
		}
		if want.value != nil && !(ok && reflect.DeepEqual(v, *want.value)) {
			return func() string {
				if !ok {
					return "body " + want.pointer + ": is not there"
				}
				return "body " + want.pointer + ": is " + truncate(jsonToText(v), 60) + ", not " + truncate(jsonToText(*want.value), 60)
			}
		}
	}
	return nil
}

// match is nil where a text is what it must be. What a regular expression finds is kept.
func (t *textMatcher) match(p *matchContext, what, text string, there bool) mismatchReason {
	if t.exists != nil && *t.exists != there {
		return func() string {
			if there {
				return what + ": is there, and must not be"
			}
			return what + ": is not there"
		}
	}
	if t.equals == nil && t.contains == nil && t.matches == nil {
		return nil
	}
	if !there {
		return func() string { return what + ": is not there" }
	}
	if t.equals != nil && text != *t.equals {
		return func() string { return what + ": is " + quoteTruncated(text) + ", not " + quoteTruncated(*t.equals) }
	}
	if t.contains != nil && !strings.Contains(text, *t.contains) {
		return func() string {
			return what + ": is " + quoteTruncated(text) + ", which does not contain " + quoteTruncated(*t.contains)
		}
	}
	if t.matches == nil {
		return nil
	}
	found := t.matches.FindStringSubmatch(text)
	if found == nil {
		return func() string {
			return what + ": is " + quoteTruncated(text) + ", which does not match " + truncate(t.matches.String(), 100)
		}
	}
	if p.groups == nil {
		p.groups = map[string]string{}
	}
	for i, name := range t.matches.SubexpNames() {
		if p.groups[strconv.Itoa(i)] = found[i]; name != "" {
			p.groups[name] = found[i]
		}
	}
	return nil
}

// jsonToText is a JSON value as a text: texts as they are.
func jsonToText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
