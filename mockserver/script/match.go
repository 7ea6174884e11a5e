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
	ops      []string // any of these
	last     string   // what is to be answered
	turn     *span
	text     *texts
	resume   *texts
	result   *result
	offers   []string // all of these
	thread   *texts
	run      *texts
	headers  []named
	body     []pointed
	states   []setting // judged with what is counted
	asksLast bool      // a script said last itself
}

// A span is a range of numbers; no high is no bound.
type span struct{ low, high int }

// Texts are what a text must be: all that is set.
type texts struct {
	equals, contains *string
	matches          *regexp.Regexp
	exists           *bool // nil: it has to exist where anything else is set
}

// A result is what the result of a client's tool must be.
type result struct{ name, call, text *texts }

type named struct {
	name string
	is   *texts
}

// A pointed is a place of the body, and what must stand there.
type pointed struct {
	pointer string
	value   *any // the JSON value that it equals
	is      *texts
}

// A probe is what was found while a rule was tried.
type probe struct {
	f     *Facts
	st    *State
	match map[string]string // groups of what matched
	call  *spec.Event       // the result that fits
	held  int               // how many conditions held
}

// A failure is why a condition does not hold; nil is that it does. It is only put into
// words where somebody wants to know.
type failure func() string

// try is nil where all conditions hold.
func (r *Rule) try(p *probe) failure {
	f, c := p.f, &r.when
	if !r.serves(f.Dialect) {
		return func() string { return "dialects: " + f.Dialect.Name + " is none of them" }
	}
	if !slices.Contains(c.ops, f.Op) {
		return func() string { return "operation: is " + quoted(f.Op) + ", not " + strings.Join(c.ops, " or ") }
	}
	for _, one := range []func(*probe) failure{c.lastHolds, c.turnHolds, c.textHolds, c.resultHolds, c.offersHold, c.idsHold, c.headersHold, c.bodyHolds} {
		if no := one(p); no != nil {
			return no
		}
		p.held++
	}
	return nil
}

func (c *conditions) lastHolds(p *probe) failure {
	if c.last == "" || c.last == p.f.last {
		return nil
	}
	return func() string {
		if p.f.last == "" {
			return "last: nothing is to be answered, where " + quoted(c.last) + " is wanted"
		}
		return "last: is " + quoted(p.f.last) + ", not " + quoted(c.last)
	}
}

func (c *conditions) turnHolds(p *probe) failure {
	if c.turn == nil || p.f.turn >= c.turn.low && (c.turn.high == 0 || p.f.turn <= c.turn.high) {
		return nil
	}
	return func() string { return "turn: is " + strconv.Itoa(p.f.turn) + ", not " + c.turn.String() }
}

func (s span) String() string {
	switch {
	case s.high == 0:
		return strconv.Itoa(s.low) + " or more"
	case s.low == s.high:
		return strconv.Itoa(s.low)
	}
	return fmt.Sprintf("%d to %d", s.low, s.high)
}

func (c *conditions) textHolds(p *probe) failure {
	if c.text != nil {
		if no := c.text.hold(p, "text", p.f.text, p.f.text != ""); no != nil {
			return no
		}
	}
	if c.resume == nil {
		return nil
	}
	answer, ok := p.f.Ask.Last(spec.InputResume)
	return c.resume.hold(p, "resume", answer.Text, ok)
}

func (c *conditions) idsHold(p *probe) failure {
	if c.thread != nil {
		if no := c.thread.hold(p, "thread", p.f.Ask.Thread, p.f.Ask.Thread != ""); no != nil {
			return no
		}
	}
	if c.run == nil {
		return nil
	}
	return c.run.hold(p, "run", p.f.Ask.Run, p.f.Ask.Run != "")
}

// resultHolds looks for a result that fits, among those that came after the user spoke.
func (c *conditions) resultHolds(p *probe) (no failure) {
	results := p.f.results()
	if len(results) > 0 {
		p.call = &results[len(results)-1]
	}
	if c.result == nil {
		return nil
	}
	no = func() string { return "tool-result: there is none" }
	for i := range results {
		if no = c.result.holds(p, &results[i]); no == nil {
			p.call = &results[i]
			return nil
		}
	}
	return no
}

func (r *result) holds(p *probe, part *spec.Event) failure {
	if r.name != nil {
		tool := p.tool(part)
		if no := r.name.hold(p, "tool-result: name", tool, tool != ""); no != nil {
			return no
		}
	}
	if r.call != nil {
		if no := r.call.hold(p, "tool-result: call", part.Call, part.Call != ""); no != nil {
			return no
		}
	}
	if r.text == nil {
		return nil
	}
	return r.text.hold(p, "tool-result: text", part.Text, true)
}

// tool is the name of the tool that a result is of: clients need not repeat it.
func (p *probe) tool(part *spec.Event) string {
	if part.Name != "" {
		return part.Name
	}
	return p.st.tool(part.Call)
}

func (c *conditions) offersHold(p *probe) failure {
	for _, want := range c.offers {
		offered := slices.ContainsFunc(p.f.Ask.Parts, func(part spec.Event) bool {
			return part.Kind == spec.InputTool && part.Name == want
		})
		if !offered {
			return func() string { return "offers: the request offers no tool " + quoted(want) }
		}
	}
	return nil
}

func (c *conditions) headersHold(p *probe) failure {
	for _, h := range c.headers {
		if no := h.is.hold(p, "header "+h.name, p.f.Request.Header.Get(h.name), p.f.Request.Header.Has(h.name)); no != nil {
			return no
		}
	}
	return nil
}

func (c *conditions) bodyHolds(p *probe) failure {
	for _, want := range c.body {
		v, ok := point(p.f.json(), want.pointer)
		if want.is != nil {
			if no := want.is.hold(p, "body "+want.pointer, asText(v), ok); no != nil {
				return no
			}
		}
		if want.value != nil && !(ok && reflect.DeepEqual(v, *want.value)) {
			return func() string {
				if !ok {
					return "body " + want.pointer + ": is not there"
				}
				return "body " + want.pointer + ": is " + cut(asText(v), 60) + ", not " + cut(asText(*want.value), 60)
			}
		}
	}
	return nil
}

// hold is nil where a text is what it must be. What a regular expression finds is kept.
func (t *texts) hold(p *probe, what, text string, there bool) failure {
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
		return func() string { return what + ": is " + quoted(text) + ", not " + quoted(*t.equals) }
	}
	if t.contains != nil && !strings.Contains(text, *t.contains) {
		return func() string {
			return what + ": is " + quoted(text) + ", which does not contain " + quoted(*t.contains)
		}
	}
	if t.matches == nil {
		return nil
	}
	found := t.matches.FindStringSubmatch(text)
	if found == nil {
		return func() string {
			return what + ": is " + quoted(text) + ", which does not match " + cut(t.matches.String(), 100)
		}
	}
	if p.match == nil {
		p.match = map[string]string{}
	}
	for i, name := range t.matches.SubexpNames() {
		if p.match[strconv.Itoa(i)] = found[i]; name != "" {
			p.match[name] = found[i]
		}
	}
	return nil
}

// asText is a JSON value as a text: texts as they are.
func asText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}
