package script

import (
	"github.com/streamassay/streamassay/reference"
)

// run is the operation that is meant where none is named.
const run = "run"

// conditions read the when of a rule.
func (r *reader) conditions(n *node) conditions {
	var c conditions
	r.object(n, "when", members{
		"operation": func(n *node) { c.ops = r.operations(n) },
		"text":      func(n *node) { c.text = r.texts(n, "text") },
		"turn":      func(n *node) { c.turn = r.span(n, "turn") },
		"last": func(n *node) {
			c.last = r.one(n, "last", []string{lastUser, lastTool, lastResume})
			c.asksLast = true
		},
		"resume":      func(n *node) { c.resume = r.texts(n, "resume") },
		"tool-result": func(n *node) { c.result = r.result(n) },
		"offers":      func(n *node) { c.offers = r.names(n, "offers") },
		"thread":      func(n *node) { c.thread = r.texts(n, "thread") },
		"run":         func(n *node) { c.run = r.texts(n, "run") },
		"header":      func(n *node) { c.headers = r.headers(n) },
		"body":        func(n *node) { c.body = r.body(n) },
		"state":       func(n *node) { c.states = r.settings(n, "state") },
	})
	r.imply(n, &c)
	return c
}

// imply fills in what a rule means that does not say what is to be answered: who names the
// text of the user means a request in which the user has spoken, and not the one that
// brings a tool's result afterwards.
func (r *reader) imply(n *node, c *conditions) {
	if c.result != nil && c.resume != nil {
		r.wrong(n, "tool-result and resume cannot both be answered: leave one out")
	}
	need := ""
	switch {
	case c.result != nil:
		need = lastTool
	case c.resume != nil:
		need = lastResume
	}
	if need != "" && c.asksLast && c.last != need {
		r.wrong(n.get("last"), "last is %s, where the rule asks for what is only there if it is %s", c.last, need)
	}
	switch {
	case c.asksLast:
	case need != "":
		c.last = need
	case c.text != nil || c.turn != nil:
		c.last = lastUser
	}
}

// operations read what a request asks for.
func (r *reader) operations(n *node) (all []string) {
	if n.form != list {
		return []string{r.one(n, "operation", deeds())}
	}
	if len(n.items) == 0 {
		r.wrong(n, "operation is an empty list: leave it out, or name one")
	}
	for _, item := range n.items {
		all = append(all, r.one(item, "operation", deeds()))
	}
	return all
}

// deeds are the operations that a rule can be for.
func deeds() (all []string) {
	for _, deed := range reference.Deeds {
		if deed != "" {
			all = append(all, deed)
		}
	}
	return all
}

func (r *reader) result(n *node) *result {
	var t result
	r.object(n, "tool-result", members{
		"name": func(n *node) { t.name = r.texts(n, "tool-result: name") },
		"call": func(n *node) { t.call = r.texts(n, "tool-result: call") },
		"text": func(n *node) { t.text = r.texts(n, "tool-result: text") },
	})
	return &t
}

func (r *reader) headers(n *node) (all []named) {
	if n.form != object {
		r.wrong(n, "header is an object of names and what they must be; this is %s", n.is())
		return nil
	}
	for _, m := range n.members {
		all = append(all, named{m.key, r.texts(m.value, "header "+cut(m.key, 40))})
	}
	return all
}

// body reads what must stand at places of the body: an object that has only the words of a
// matcher is one, anything else is the value itself.
func (r *reader) body(n *node) (all []pointed) {
	if n.form != object {
		r.wrong(n, "body is an object of JSON pointers and what must stand there; this is %s", n.is())
		return nil
	}
	for _, m := range n.members {
		what := "body " + cut(m.key, 60)
		if !isPointer(m.key) {
			r.wrong(m.at, "%s is no JSON pointer, such as /messages/0/role", quoted(m.key))
			continue
		}
		want := pointed{pointer: m.key}
		if m.value.form == object {
			r.matched(m.value, what, &want)
		} else {
			want.value = r.json(m.value)
		}
		all = append(all, want)
	}
	return all
}

// matched reads a matcher of a JSON value; its equals may be any value.
func (r *reader) matched(n *node, what string, want *pointed) {
	rest := *n
	rest.members = nil
	for _, m := range n.members {
		if m.key == "equals" {
			want.value = r.json(m.value)
			continue
		}
		rest.members = append(rest.members, m)
	}
	if len(rest.members) > 0 || want.value == nil {
		want.is = r.texts(&rest, what)
	}
}

// json is a node as it would stand in a body.
func (r *reader) json(n *node) *any {
	text, err := asJSON(n.plain())
	if err != nil {
		r.wrong(n, "this is no JSON: %v", err)
		return nil
	}
	v := decoded([]byte(text))
	return &v
}

// settings read steps of scenarios.
func (r *reader) settings(n *node, what string) (all []setting) {
	if n.form != object {
		r.wrong(n, "%s is an object of scenarios and their steps; this is %s", what, n.is())
		return nil
	}
	for _, m := range n.members {
		all = append(all, setting{m.key, r.name(m.value, what+" "+cut(m.key, 40))})
	}
	return all
}
