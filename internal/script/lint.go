package script

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// lintRule checks that the conditions, templates, faults, steps and raw frames of the rule are
// consistent and valid, and have an effect in the served dialects. The argument n is the node of
// the rule. lintRule adds the problems that it finds to d.problems. It also completes the
// conditions of the rule by calling inferLast.
func (d *decoder) lintRule(rule *Rule, n ast.Node) {
	for _, w := range d.templates {
		if w.tmpl.Tree == nil { // it has no content
			continue
		}
		if err := (templateChecker{d.groups}).check(w.tmpl.Root, false); err != nil {
			d.errorf(w.node, "%s: invalid template: %v", nameOf(w.node), err)
		}
	}
	d.inferLast(&rule.When, n)
	if rule.Violates && !rule.hasRawFrames() {
		d.warnf(lookup(n, "violates"), "violates has no effect in a rule without raw frames: remove it")
	}
	served := rule.applicableDialects(d.dialects)
	if len(served) == 0 {
		return
	}
	if faults := member(n, "faults"); faults != nil {
		d.lintFaults(rule, served, faults.Value)
	}
	for i := range rule.Reply {
		d.lintStep(&rule.Reply[i], served)
		if !rule.Violates {
			d.lintRawFrame(&rule.Reply[i], served)
		}
	}
	if rule.When.ToolResult != nil && !supportsAny(served, spec.InputToolResult) {
		d.warnf(lookup(n, "when"), "tool-result never matches: clients of %s send no tool results", dialectNames(served))
	}
	if rule.When.Resume != nil && !supportsAny(served, spec.InputResume) {
		d.warnf(lookup(n, "when"), "resume never matches: clients of %s send no answers to interrupts", dialectNames(served))
	}
}

// inferLast sets c.Last, the kind of the last input that a request must have, if the rule at node n
// does not state it and the other conditions in c imply it. A condition on a tool result implies a
// tool result as the last input, and a condition on the answer to an interrupt implies such an
// answer. A condition on the user's text or on the turn implies a message of the user; otherwise
// the rule would also match the request that sends a tool result in the same turn. If conditions
// contradict each other, inferLast adds an error to d.problems.
func (d *decoder) inferLast(c *conditions, n ast.Node) {
	need := ""
	switch {
	case c.ToolResult != nil && c.Resume != nil:
		d.errorf(lookup(n, "when"), "tool-result and resume exclude each other: remove one")
		return
	case c.ToolResult != nil:
		need = lastTool
	case c.Resume != nil:
		need = lastResume
	}
	switch {
	case c.Last == "" && need == "" && (c.Text != nil || c.Turn != nil):
		c.Last = lastUser
	case c.Last == "":
		c.Last = need
	case need != "" && c.Last != need:
		d.errorf(lookup(n, "when", "last"), "last is %s, but the other conditions of the rule need %s", c.Last, need)
	}
}

// supportsAny reports whether at least one of the dialects has at least one of the given kinds of
// events.
func supportsAny(dialects []*dialect.Dialect, kinds ...spec.Kind) bool {
	return slices.ContainsFunc(dialects, func(d *dialect.Dialect) bool {
		has := d.Kinds()
		return slices.ContainsFunc(kinds, func(k spec.Kind) bool { return slices.Contains(has, k) })
	})
}

// dialectNames returns the names of dialects as one text for a message: "a", "a and b" or "a, b and
// c".
func dialectNames(dialects []*dialect.Dialect) string {
	var all []string
	for _, d := range dialects {
		all = append(all, d.Name)
	}
	return joinNames(all)
}

// lintFaults adds warnings to d.problems about faults of the rule that have no effect in some
// dialect, because the dialect lacks a kind of event that the fault requires. If the script lists
// the dialects of the rule, there is a warning for each fault that has no effect in at least one
// dialect in served. Otherwise, there is one only for each fault that has an effect in none of
// them. The argument served holds the served dialects to which the rule applies, and at is the node
// of the list of faults.
func (d *decoder) lintFaults(rule *Rule, served []*dialect.Dialect, at ast.Node) {
	for i, use := range rule.Faults {
		var lacks []*dialect.Dialect
		var need spec.Kind
		if use.Fault == nil { // the parameters are invalid
			continue
		}
		for _, of := range served {
			for _, k := range use.Fault.RequiredKinds {
				if !slices.Contains(of.Kinds(), k) {
					lacks, need = append(lacks, of), k
					break
				}
			}
		}
		if len(lacks) > 0 && (len(lacks) == len(served) || len(rule.dialects) > 0) {
			d.warnf(itemsOf(at)[i], "fault %s has no effect in %s, which lacks the event %s",
				use.Fault.Name, dialectNames(lacks), need)
		}
	}
}

// lintStep adds a warning to d.problems if no dialect in served can express the step s. It does the
// same for each part of s. The warning says what is sent instead. If s is a client-tool step and
// none of the dialects in served lets clients send the result of a tool, lintStep adds an error
// instead of the warning. The argument served holds the served dialects to which the rule applies.
func (d *decoder) lintStep(s *step, served []*dialect.Dialect) {
	for i := range s.children {
		d.lintStep(&s.children[i], served)
	}
	kinds, instead := []spec.Kind{stepKinds[s.name]}, "is left out"
	switch kinds[0] {
	case "", spec.Undecodable:
		return
	case spec.ToolStart:
		if s.name == "client-tool" && !supportsAny(served, spec.InputToolResult) {
			d.errorf(s.node, "client-tool: clients of %s cannot send the result: use tool with a result", dialectNames(served))
			return
		}
		kinds = append(kinds, spec.ToolCall)
	case spec.ReasoningStart:
		kinds, instead = append(kinds, spec.ReasoningDelta), "is sent as a message"
	case spec.ContentEnd:
		kinds, instead = append(kinds, spec.ContentPart), "its URL is sent as text"
	case spec.Interrupt:
		instead = "its payload is sent as a message"
	}
	if !supportsAny(served, kinds...) {
		d.warnf(s.node, "%s is not part of %s and %s", s.name, dialectNames(served), instead)
	}
}

// lintRawFrame adds an error to d.problems if s is a raw frame that violates the OpenAPI document
// of one of the dialects in served. It skips frames with templates, because their text depends on
// the request.
func (d *decoder) lintRawFrame(s *step, served []*dialect.Dialect) {
	if s.name != "raw" || s.hasTemplates {
		return
	}
	b := s.render(newTemplateData(&matchContext{request: &RequestContext{Parsed: &spec.Event{}}, state: NewState()}))
	for _, of := range served {
		if why := frameViolation(of, []byte(b.text)); why != "" {
			instead := "set violates: true if that is intended"
			if len(served) > 1 {
				instead = "list the dialects that it is for in dialects, or " + instead
			}
			d.errorf(s.node, "raw: the frame violates %s: %s; %s", of.Name, why, instead)
			return
		}
	}
}

// frameViolation checks frame, the text of one or more frames of an event stream, against the
// OpenAPI document of d. It returns a description of the first violation, or "" if there is none.
func frameViolation(d *dialect.Dialect, frame []byte) string {
	header := spec.Header{{Name: "Content-Type", Value: spec.EventStream}}
	x := spec.Exchange{Response: spec.Response{Status: 200, Header: header, Body: frame}}
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		switch {
		case !e.IsFrame() || e.Kind == spec.HTTPRequest || e.Kind == spec.HTTPResponse || e.Kind == spec.BodyEnd:
		case e.Kind == spec.Undecodable:
			return fmt.Sprintf("it cannot be decoded: %v", e.Err)
		case len(e.Violations) > 0:
			return e.Violations[0].String()
		case len(e.Flaws) > 0:
			return e.Flaws[0].String()
		}
	}
	return ""
}
