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

// lint looks at a rule that was read: what it says that can never be, in the dialects that
// are served.
func (r *reader) lint(rule *Rule, n *node) {
	groups := rule.when.groups()
	for _, w := range rule.does.words() {
		if err := w.names(groups); err != nil {
			r.wrong(w.at, "the template cannot work: %v", err)
		}
	}
	served := rule.served(r.dialects)
	if len(served) == 0 {
		return
	}
	if faults := n.get("faults"); faults != nil {
		r.possible(rule, served, faults)
	}
	for i := range rule.does.steps {
		r.sayable(&rule.does.steps[i], served)
		if !rule.Violates {
			r.spelled(&rule.does.steps[i], served)
		}
	}
	if rule.when.result != nil && !some(served, spec.InputToolResult) {
		r.warn(n.get("when"), "tool-result: no client of %s brings one", names(served))
	}
	if rule.when.resume != nil && !some(served, spec.InputResume) {
		r.warn(n.get("when"), "resume: no client of %s brings one", names(served))
	}
}

// some says whether one of the dialects has one of the kinds.
func some(dialects []*dialect.Dialect, kinds ...spec.Kind) bool {
	return slices.ContainsFunc(dialects, func(d *dialect.Dialect) bool {
		has := d.Kinds()
		return slices.ContainsFunc(kinds, func(k spec.Kind) bool { return slices.Contains(has, k) })
	})
}

func names(dialects []*dialect.Dialect) string {
	var all []string
	for _, d := range dialects {
		all = append(all, d.Name)
	}
	return join(all)
}

// possible says which faults can never happen: in none of the dialects, or in one that the
// script names.
func (r *reader) possible(rule *Rule, served []*dialect.Dialect, at *node) {
	for i, use := range rule.does.faults {
		var lacks []*dialect.Dialect
		var need spec.Kind
		for _, d := range served {
			for _, k := range use.Fault.Needs {
				if !slices.Contains(d.Kinds(), k) {
					lacks, need = append(lacks, d), k
					break
				}
			}
		}
		if i < len(at.items) && len(lacks) > 0 && (len(lacks) == len(served) || len(rule.dialects) > 0) {
			r.warn(at.items[i], "fault %s does nothing in %s: there is no %s", use.Fault.Name, names(lacks), need)
		}
	}
}

// sayable says which steps no dialect has words for.
func (r *reader) sayable(s *step, served []*dialect.Dialect) {
	for i := range s.inner {
		r.sayable(&s.inner[i], served)
	}
	switch s.word {
	case "reasoning":
		if !some(served, spec.ReasoningStart, spec.ReasoningDelta) {
			r.warn(s.at, "reasoning: %s has no word for it, and tells it as a message", names(served))
		}
		return
	case "client-tool":
		if !some(served, spec.InputToolResult) {
			r.wrong(s.at, "client-tool: no client of %s can bring the result: write tool, with a result", names(served))
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
	if instead := "leaves it out"; !some(served, kinds...) {
		switch s.kind {
		case spec.ContentEnd:
			instead = "tells its address as text"
		case spec.Interrupt:
			instead = "tells its payload as a message"
		}
		r.warn(s.at, "%s: %s has no word for it, and %s", s.word, names(served), instead)
	}
}

// spelled checks a raw frame by the documents. What a template makes is not known yet.
func (r *reader) spelled(s *step, served []*dialect.Dialect) {
	if s.word != "raw" || s.templated() {
		return
	}
	b, err := s.bar(viewOf(&probe{f: &Facts{Ask: &spec.Event{}}, st: NewState()}))
	if err != nil {
		return
	}
	for _, d := range served {
		if why := breaks(d, []byte(b.text)); why != "" {
			instead := "write violates: true if it is meant to"
			if len(served) > 1 {
				instead = "name the dialects that it is for, or " + instead
			}
			r.wrong(s.at, "raw: this breaks %s: %s; %s", d.Name, why, instead)
			return
		}
	}
}

// breaks says where a frame breaks the document of a dialect, "" if it does not.
func breaks(d *dialect.Dialect, frame []byte) string {
	x := spec.Exchange{Response: spec.Response{Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: frame}}
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		switch {
		case !e.IsFrame() || e.Kind == spec.HTTPRequest || e.Kind == spec.HTTPResponse || e.Kind == spec.BodyEnd:
		case e.Kind == spec.Undecodable:
			return fmt.Sprintf("it cannot be read: %v", e.Err)
		case len(e.Violations) > 0:
			return e.Violations[0].String()
		case len(e.Flaws) > 0:
			return e.Flaws[0].String()
		}
	}
	return ""
}

// groups are what the regular expressions of a rule can find.
func (c *conditions) groups() map[string]bool {
	all := map[string]bool{}
	from := []*texts{c.text, c.resume, c.thread, c.run}
	if c.result != nil {
		from = append(from, c.result.name, c.result.call, c.result.text)
	}
	for _, h := range c.headers {
		from = append(from, h.is)
	}
	for _, at := range c.body {
		from = append(from, at.is)
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

// words are all templates of an action.
func (a *action) words() (all []words) {
	add := func(w words) {
		if w.tmpl != nil {
			all = append(all, w)
		}
	}
	data := func(v *value) {
		add(v.text)
		for _, w := range v.texts {
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
			steps(s.inner)
		}
	}
	steps(a.steps)
	if a.status != nil {
		add(a.status.text)
		add(a.status.problem)
	}
	return all
}

// fields are what templates may name.
func fields() (all []string) {
	for field := range reflect.TypeFor[view]().Fields() {
		if field.IsExported() {
			all = append(all, "."+field.Name)
		}
	}
	return all
}

// names checks what a template names. Inside with, where the dot is something else, it
// cannot be known.
func (w words) names(groups map[string]bool) error {
	if w.tmpl == nil || w.tmpl.Tree == nil || strings.Contains(w.text, "with") {
		return nil
	}
	known := fields()
	return visit(reflect.ValueOf(w.tmpl.Root), func(n parse.Node) error {
		field, ok := n.(*parse.FieldNode)
		switch {
		case !ok:
			return pointers(n)
		case !slices.Contains(known, "."+field.Ident[0]):
			return fmt.Errorf("there is no .%s%s", field.Ident[0], near.Suggest("."+field.Ident[0], known))
		case field.Ident[0] == "Match" && len(field.Ident) > 1 && !groups[field.Ident[1]]:
			if len(groups) == 0 {
				return fmt.Errorf("there is no .Match.%s: no condition of the rule has matches", field.Ident[1])
			}
			return fmt.Errorf("there is no .Match.%s: no regular expression of the rule has such a group", field.Ident[1])
		case field.Ident[0] != "Match" && len(field.Ident) > 1:
			return fmt.Errorf(".%s has no %s", field.Ident[0], field.Ident[1])
		}
		return nil
	})
}

// pointers checks a JSON pointer that a template spells out.
func pointers(n parse.Node) error {
	command, ok := n.(*parse.CommandNode)
	if !ok || len(command.Args) != 2 {
		return nil
	}
	name, calls := command.Args[0].(*parse.IdentifierNode)
	text, spells := command.Args[1].(*parse.StringNode)
	if calls && spells && name.Ident == "body" && !isPointer(text.Text) {
		return errors.New(quoted(text.Text) + " is no JSON pointer: it begins with /")
	}
	return nil
}
