package script

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// lintRule checks that the parts of the rule are valid and consistent, and have an effect in the
// served dialects. It adds the problems that it finds to d.problems. It also calls inferLast to
// complete the conditions of the rule. The argument n is the node of the rule.
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

// inferLast sets c.Last, the required kind of the last input of a request, if the rule does not
// state it. It infers the kind from the other conditions:
//   - a condition on a tool result implies a tool result
//   - a condition on the answer to an interrupt implies such an answer
//   - a condition on the user's text or on the turn implies a message of the user
//
// If the conditions contradict each other, inferLast adds an error to d.problems. The argument n is
// the node of the rule.
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
		// Otherwise, the rule would also match the request that sends a tool result in the same turn.
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

// dialectNames returns the names of the dialects as one string for messages, such as "a, b and c".
func dialectNames(dialects []*dialect.Dialect) string {
	var all []string
	for _, d := range dialects {
		all = append(all, d.Name)
	}
	return joinNames(all)
}

// lintFaults warns about faults of the rule that require a kind of event that a served dialect
// lacks. Such a fault has no effect in that dialect. If the script lists no dialects for the rule,
// lintFaults warns only if the fault has no effect in any served dialect.
//
// The argument served holds the served dialects to which the rule applies, and at is the node of
// the list of faults. The warnings are added to d.problems.
func (d *decoder) lintFaults(rule *Rule, served []*dialect.Dialect, at ast.Node) {
	for i, use := range rule.Faults {
		var lacks []*dialect.Dialect
		var need spec.Kind
		if use.Fault == nil { // the parameters are invalid
			continue
		}
		for _, of := range served {
			if k := use.Fault.MissingKind(of.Kinds()); k != "" {
				lacks, need = append(lacks, of), k
			}
		}
		if len(lacks) > 0 && (len(lacks) == len(served) || len(rule.dialects) > 0) {
			d.warnf(itemsOf(at)[i], "fault %s has no effect in %s, which lacks the event %s",
				use.Fault.Name, dialectNames(lacks), need)
		}
	}
}

// lintStep adds a warning to d.problems if no dialect in served can express the step s. The warning
// states what the server sends instead. If s is a "client-tool" step and the clients of these
// dialects cannot send tool results, lintStep adds an error instead. It also checks the parts of s.
// The argument served holds the served dialects to which the rule applies.
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
// of one of the dialects in served. Frames with templates are skipped, because their text depends
// on the request.
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
