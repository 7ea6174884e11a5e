package script

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// lintRule checks that the templates, faults, steps and raw frames of a parsed rule are valid and
// have an effect in the served dialects. n is the node of the rule in the script. Problems are
// added to those of the file.
func (r *scriptParser) lintRule(rule *Rule, n *yamlNode) {
	groups := rule.conditions.captureGroups()
	for _, w := range rule.action.templates() {
		if err := w.checkNames(groups); err != nil {
			r.errorf(w.node, "invalid template: %v", err)
		}
	}
	served := rule.applicableDialects(r.dialects)
	if len(served) == 0 {
		return
	}
	if faults := n.get("faults"); faults != nil {
		r.lintFaults(rule, served, faults)
	}
	for i := range rule.action.steps {
		r.lintStep(&rule.action.steps[i], served)
		if !rule.Violates {
			r.lintRawFrame(&rule.action.steps[i], served)
		}
	}
	if rule.conditions.toolResult != nil && !supportsAny(served, spec.InputToolResult) {
		r.warnf(n.get("when"), "tool-result never matches: clients of %s send no tool results", dialectNames(served))
	}
	if rule.conditions.resume != nil && !supportsAny(served, spec.InputResume) {
		r.warnf(n.get("when"), "resume never matches: clients of %s send no answers to interrupts", dialectNames(served))
	}
}

// supportsAny reports whether at least one of the dialects has at least one of the event kinds.
func supportsAny(dialects []*dialect.Dialect, kinds ...spec.Kind) bool {
	return slices.ContainsFunc(dialects, func(d *dialect.Dialect) bool {
		has := d.Kinds()
		return slices.ContainsFunc(kinds, func(k spec.Kind) bool { return slices.Contains(has, k) })
	})
}

// dialectNames returns the names of dialects as a list for a message, such as "a, b and c".
func dialectNames(dialects []*dialect.Dialect) string {
	var all []string
	for _, d := range dialects {
		all = append(all, d.Name)
	}
	return joinNames(all)
}

// lintFaults warns about each fault of the rule that has no effect because a dialect lacks an event
// that the fault requires. If the rule lists its dialects, one such dialect is enough for a
// warning; otherwise all served dialects must lack a required event. The parameter at is the node
// of the list of faults.
func (r *scriptParser) lintFaults(rule *Rule, served []*dialect.Dialect, at *yamlNode) {
	for i, use := range rule.action.faults {
		var lacks []*dialect.Dialect
		var need spec.Kind
		for _, d := range served {
			for _, k := range use.Fault.RequiredKinds {
				if !slices.Contains(d.Kinds(), k) {
					lacks, need = append(lacks, d), k
					break
				}
			}
		}
		if i < len(at.items) && len(lacks) > 0 && (len(lacks) == len(served) || len(rule.dialects) > 0) {
			r.warnf(at.items[i], "fault %s has no effect in %s, which lacks the event %s",
				use.Fault.Name, dialectNames(lacks), need)
		}
	}
}

// lintStep warns if none of the served dialects can express a step or one of its parts. The warning
// states what is sent instead. A client-tool step is an error if no served dialect lets clients
// send the result.
func (r *scriptParser) lintStep(s *step, served []*dialect.Dialect) {
	for i := range s.children {
		r.lintStep(&s.children[i], served)
	}
	switch s.name {
	case "reasoning":
		if !supportsAny(served, spec.ReasoningStart, spec.ReasoningDelta) {
			r.warnf(s.node, "reasoning is not part of %s and is sent as a message", dialectNames(served))
		}
		return
	case "client-tool":
		if !supportsAny(served, spec.InputToolResult) {
			r.errorf(s.node, "client-tool: clients of %s cannot send the result: use tool with a result", dialectNames(served))
			return
		}
	}
	kinds := []spec.Kind{s.kind}
	switch s.kind {
	case "", spec.Undecodable:
		return
	case spec.ToolStart:
		kinds = append(kinds, spec.ToolCall)
	case spec.ContentEnd:
		kinds = append(kinds, spec.ContentPart)
	}
	if instead := "is left out"; !supportsAny(served, kinds...) {
		switch s.kind {
		case spec.ContentEnd:
			instead = "its URL is sent as text"
		case spec.Interrupt:
			instead = "its payload is sent as a message"
		}
		r.warnf(s.node, "%s is not part of %s and %s", s.name, dialectNames(served), instead)
	}
}

// lintRawFrame records an error if a step is a raw frame that violates the document of a served
// dialect. It skips frames with templates, because their text depends on the request.
func (r *scriptParser) lintRawFrame(s *step, served []*dialect.Dialect) {
	if s.name != "raw" || s.hasTemplates() {
		return
	}
	b, err := s.render(newTemplateData(&matchContext{request: &RequestContext{Parsed: &spec.Event{}}, state: NewState()}))
	if err != nil {
		return
	}
	for _, d := range served {
		if why := frameViolation(d, []byte(b.text)); why != "" {
			instead := "set violates: true if that is intended"
			if len(served) > 1 {
				instead = "list the dialects that it is for in dialects, or " + instead
			}
			r.errorf(s.node, "raw: the frame violates %s: %s; %s", d.Name, why, instead)
			return
		}
	}
}

// frameViolation returns a description of the first violation of the document of d in a frame, or
// "" if the frame conforms.
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

// captureGroups returns the set of capture groups in the regular expressions of c. It contains the
// number of each group, as text, and the name of each named group. Templates refer to groups by
// these.
func (c *conditions) captureGroups() map[string]bool {
	all := map[string]bool{}
	from := []*textMatcher{c.text, c.resume, c.thread, c.run}
	if c.toolResult != nil {
		from = append(from, c.toolResult.name, c.toolResult.call, c.toolResult.text)
	}
	for _, h := range c.headers {
		from = append(from, h.matcher)
	}
	for _, at := range c.body {
		from = append(from, at.matcher)
	}
	for _, t := range from {
		if t == nil || t.matches == nil {
			continue
		}
		for i, name := range t.matches.SubexpNames() {
			if all[strconv.Itoa(i)] = true; name != "" {
				all[name] = true
			}
		}
	}
	return all
}

// templates returns the templates in the steps, tool calls and error status of the action. Texts
// without template actions are left out.
func (a *ruleAction) templates() (all []textTemplate) {
	add := func(w textTemplate) {
		if w.tmpl != nil {
			all = append(all, w)
		}
	}
	data := func(v *valueTemplate) {
		add(v.text)
		for _, w := range v.templates {
			add(w)
		}
	}
	var steps func(of []step)
	steps = func(of []step) {
		for i := range of {
			s := &of[i]
			add(s.text)
			add(s.code)
			data(&s.data)
			for j := range s.calls {
				add(s.calls[j].name)
				data(&s.calls[j].arguments)
				if s.calls[j].result != nil {
					data(s.calls[j].result)
				}
			}
			steps(s.children)
		}
	}
	steps(a.steps)
	if a.status != nil {
		add(a.status.text)
		add(a.status.problem)
	}
	return all
}

// templateFields returns the names of the fields that templates may use, each with a leading dot,
// such as ".Text".
func templateFields() (all []string) {
	for field := range reflect.TypeFor[templateData]().Fields() {
		if field.IsExported() {
			all = append(all, "."+field.Name)
		}
	}
	return all
}

// checkNames returns an error for the first unknown field, unknown capture group or invalid JSON
// pointer in the template, or nil if there is none. groups holds the capture groups of the rule's
// regular expressions. Templates that contain the text "with" are not checked, because the action
// of that name changes the meaning of the dot.
func (w textTemplate) checkNames(groups map[string]bool) error {
	if w.tmpl == nil || w.tmpl.Tree == nil || strings.Contains(w.text, "with") {
		return nil
	}
	known := templateFields()
	return walkNodes(reflect.ValueOf(w.tmpl.Root), func(n parse.Node) error {
		field, ok := n.(*parse.FieldNode)
		switch {
		case !ok:
			return checkPointer(n)
		case !slices.Contains(known, "."+field.Ident[0]):
			return fmt.Errorf("unknown field .%s%s", field.Ident[0], near.Suggest("."+field.Ident[0], known))
		case field.Ident[0] == "Match" && len(field.Ident) > 1 && !groups[field.Ident[1]]:
			if len(groups) == 0 {
				return fmt.Errorf("unknown group .Match.%s: no condition of the rule uses matches", field.Ident[1])
			}
			return fmt.Errorf("unknown group .Match.%s: no regular expression of the rule has a group of that name",
				field.Ident[1])
		case field.Ident[0] != "Match" && len(field.Ident) > 1:
			return fmt.Errorf(".%s has no field %s", field.Ident[0], field.Ident[1])
		}
		return nil
	})
}

// checkPointer returns an error if n is a call of the template function body with a literal
// argument that is not a JSON pointer. It returns nil for all other nodes.
func checkPointer(n parse.Node) error {
	command, ok := n.(*parse.CommandNode)
	if !ok || len(command.Args) != 2 {
		return nil
	}
	name, isCall := command.Args[0].(*parse.IdentifierNode)
	text, isLiteral := command.Args[1].(*parse.StringNode)
	if isCall && isLiteral && name.Ident == "body" && !isJSONPointer(text.Text) {
		return errors.New(quoteTruncated(text.Text) + " is not a JSON pointer (e.g. /messages/0/role)")
	}
	return nil
}
