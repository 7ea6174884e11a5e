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

// A conditions holds the conditions of one rule. A request matches the rule if it meets all of
// them. A condition that is nil or empty is always met.
type conditions struct {
	Operations    textList           `yaml:"operation"` // the request must be for one of these operations
	Last          string             // the kind of the last input: user, tool or resume; "" means any
	Turn          *intRange          // the number of the turn, from 1; see State.recordTurn
	Text          *textMatcher       // the text of the user's last message
	Resume        *textMatcher       // the answer to an interrupt
	ToolResult    *toolResultMatcher `yaml:"tool-result"` // a tool result after the user's last message
	Offers        textList           // names of tools, all of which the client must offer
	Thread        *textMatcher       // the id of the thread
	Run           *textMatcher       // the id of the run
	Headers       headerMatchers     `yaml:"header"` // header fields; all conditions must be met
	Body          bodyMatchers       // values in the body; all conditions must be met
	ScenarioSteps scenarioSteps      `yaml:"state"` // current steps of scenarios; checked by State.claim
}

// An intRange is a range of integers from low to high, both inclusive. If high is 0, the range has
// no upper limit.
type intRange struct{ low, high int }

// A textMatcher is a condition on a text that may be absent, such as a message or the value of a
// header field. The text must meet all fields that are set. If no field is set, even an absent text
// meets the condition.
type textMatcher struct {
	equals, contains *string
	matches          *regexp.Regexp

	// exists states whether the text must be present (true) or absent (false). If exists is nil,
	// the text must be present if another field is set.
	exists *bool
}

// A toolResultMatcher is a condition on the result of a tool that the client ran: on the name of
// the tool, the id of the call and the text of the result. A field that is nil is met by any value.
type toolResultMatcher struct{ Name, Call, Text *textMatcher }

// A headerMatcher is a condition on the value of the request header field with the given name.
type headerMatcher struct {
	name    string
	matcher *textMatcher
}

// A bodyMatcher is a condition on the value at a JSON pointer in the request body.
type bodyMatcher struct {
	pointer string
	value   *any         // if not nil, the JSON value that is required
	matcher *textMatcher // if not nil, the condition on the text of the value
}

// A matchContext holds a request that is compared with one rule, and the results of the comparison.
// Each comparison needs a new matchContext.
type matchContext struct {
	request       *RequestContext
	state         *State            // what rules have stored for earlier requests
	groups        map[string]string // text of each capture group, by number and name; nil if there are none
	toolResult    *spec.Event       // the tool result that matched, see matchToolResult; nil if there is none
	conditionsMet int               // the number of conditions met before the first one that is not met
}

// A mismatchReasonFunc returns a description of the condition that a request does not meet. A nil
// mismatchReasonFunc means that the request meets all conditions. It is a function, so that a
// description is only formatted if it is shown.
type mismatchReasonFunc func() string

// match returns nil if the request in p meets the conditions of the rule. Otherwise, it returns a
// reason that describes the first condition that the request does not meet. It stores the capture
// groups, the tool result and the number of conditions met in p. It does not check the conditions
// on scenario steps; State.claim does.
func (r *Rule) match(p *matchContext) mismatchReasonFunc {
	f, c := p.request, &r.When
	if !r.appliesTo(f.Dialect) {
		return func() string { return "dialects: got " + f.Dialect.Name + ", want " + joinNames(r.dialects) }
	}
	if !slices.Contains(c.Operations, f.Operation) {
		return func() string {
			return "operation: got " + quoteTruncated(f.Operation) + ", want " + strings.Join(c.Operations, " or ")
		}
	}
	for _, matches := range []func(*matchContext) mismatchReasonFunc{
		c.matchLast, c.matchTurn, c.matchText, c.matchToolResult, c.matchOffers, c.matchIDs, c.matchHeaders, c.matchBody,
	} {
		if no := matches(p); no != nil {
			return no
		}
		p.conditionsMet++
	}
	return nil
}

func (c *conditions) matchLast(p *matchContext) mismatchReasonFunc {
	if c.Last == "" || c.Last == p.request.lastInput {
		return nil
	}
	return func() string {
		if p.request.lastInput == "" {
			return "last: the request has no input, want " + quoteTruncated(c.Last)
		}
		return "last: got " + quoteTruncated(p.request.lastInput) + ", want " + quoteTruncated(c.Last)
	}
}

func (c *conditions) matchTurn(p *matchContext) mismatchReasonFunc {
	if c.Turn == nil || p.request.turn >= c.Turn.low && (c.Turn.high == 0 || p.request.turn <= c.Turn.high) {
		return nil
	}
	return func() string { return "turn: got " + strconv.Itoa(p.request.turn) + ", want " + c.Turn.String() }
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

func (c *conditions) matchText(p *matchContext) mismatchReasonFunc {
	if no := c.Text.match(p, "text", p.request.userText, p.request.userText != ""); no != nil {
		return no
	}
	answer, ok := p.request.Parsed.Last(spec.InputResume)
	return c.Resume.match(p, "resume", answer.Text, ok)
}

func (c *conditions) matchIDs(p *matchContext) mismatchReasonFunc {
	if no := c.Thread.match(p, "thread", p.request.Parsed.Thread, p.request.Parsed.Thread != ""); no != nil {
		return no
	}
	return c.Run.match(p, "run", p.request.Parsed.Run, p.request.Parsed.Run != "")
}

// matchToolResult returns nil if there is no condition on tool results, or if at least one tool
// result after the user's last message meets it. Otherwise, it returns the reason why the last of
// these results does not meet it, or a reason that states that there are none.
//
// It sets p.toolResult to the first result that meets the condition. If there is no condition, it
// sets p.toolResult to the last result after the user's last message, if any.
func (c *conditions) matchToolResult(p *matchContext) (no mismatchReasonFunc) {
	results := p.request.toolResults()
	if len(results) > 0 {
		p.toolResult = &results[len(results)-1]
	}
	if c.ToolResult == nil {
		return nil
	}
	no = func() string { return "tool-result: missing" }
	for i := range results {
		if no = c.ToolResult.match(p, &results[i]); no == nil {
			p.toolResult = &results[i]
			return nil
		}
	}
	return no
}

// match returns nil if part, a tool result in the request in p, meets the condition, and otherwise
// the reason why it does not.
func (r *toolResultMatcher) match(p *matchContext, part *spec.Event) mismatchReasonFunc {
	tool := p.toolName(part)
	if no := r.Name.match(p, "tool-result: name", tool, tool != ""); no != nil {
		return no
	}
	if no := r.Call.match(p, "tool-result: call", part.Call, part.Call != ""); no != nil {
		return no
	}
	return r.Text.match(p, "tool-result: text", part.Text, true)
}

// toolName returns the name of the tool for part, a tool result, or "" if the name is unknown. If
// the client did not send the name, toolName uses the name that State.recordCall stored for the
// call.
func (p *matchContext) toolName(part *spec.Event) string {
	if part.Name != "" {
		return part.Name
	}
	return p.state.toolName(part.Call)
}

func (c *conditions) matchOffers(p *matchContext) mismatchReasonFunc {
	for _, want := range c.Offers {
		offered := slices.ContainsFunc(p.request.Parsed.Parts, func(part spec.Event) bool {
			return part.Kind == spec.InputTool && part.Name == want
		})
		if !offered {
			return func() string { return "offers: the request does not offer tool " + quoteTruncated(want) }
		}
	}
	return nil
}

func (c *conditions) matchHeaders(p *matchContext) mismatchReasonFunc {
	for _, h := range c.Headers {
		header := p.request.Request.Header
		if no := h.matcher.match(p, "header "+h.name, header.Get(h.name), header.Has(h.name)); no != nil {
			return no
		}
	}
	return nil
}

func (c *conditions) matchBody(p *matchContext) mismatchReasonFunc {
	for _, want := range c.Body {
		v, ok := lookupPointer(p.request.bodyJSON(), want.pointer)
		if no := want.matcher.match(p, "body "+want.pointer, jsonToText(v), ok); no != nil {
			return no
		}
		if want.value != nil && !(ok && reflect.DeepEqual(v, *want.value)) {
			return func() string {
				if !ok {
					return "body " + want.pointer + ": missing"
				}
				got, wanted := truncate(jsonToText(v), 60), truncate(jsonToText(*want.value), 60)
				return "body " + want.pointer + ": got " + got + ", want " + wanted
			}
		}
	}
	return nil
}

// match returns nil if text meets the condition, or if t is nil. Otherwise, it returns the reason
// why text does not meet it. The reason begins with label, the name of the text. The argument
// present reports whether the request has the text. If the regular expression of t matches, match
// adds the texts of its capture groups to p.groups.
func (t *textMatcher) match(p *matchContext, label, text string, present bool) mismatchReasonFunc {
	switch {
	case t == nil:
		return nil
	case present && t.exists != nil && !*t.exists:
		return func() string { return label + ": present, want absent" }
	case !present && (t.exists != nil && *t.exists || !t.hasNoTextCondition()):
		return func() string { return label + ": missing" }
	case t.equals != nil && text != *t.equals:
		return func() string { return label + ": got " + quoteTruncated(text) + ", want " + quoteTruncated(*t.equals) }
	case t.contains != nil && !strings.Contains(text, *t.contains):
		return func() string {
			return label + ": got " + quoteTruncated(text) + ", which does not contain " + quoteTruncated(*t.contains)
		}
	case t.matches == nil:
		return nil
	}
	found := t.matches.FindStringSubmatch(text)
	if found == nil {
		return func() string {
			return label + ": got " + quoteTruncated(text) + ", which does not match " + truncate(t.matches.String(), 100)
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

// jsonToText returns v, a decoded JSON value, as text. A string is returned without quotes, and any
// other value as JSON. The result is "" if v cannot be encoded.
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
