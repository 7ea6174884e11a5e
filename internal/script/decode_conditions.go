package script

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/streamassay/streamassay/internal/yamltree"
)

// runOperation is the name of the operation that starts a run, which is one turn of the agent. A
// rule whose conditions name no operation applies to requests for runOperation.
const runOperation = "run"

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is an integer, for a range of one number, or an object with the
// optional members min (default 1) and max (default: no upper limit). If min exceeds max,
// UnmarshalYAML adds an error to the problems of the decoder. The returned error is always nil.
func (s *intRange) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	d := decoderOf(ctx)
	if n.Type() != ast.MappingType {
		d.decode(n, &s.low)
		s.high = s.low
		return nil
	}
	limits := struct{ Min, Max int }{Min: 1}
	d.decode(n, &limits)
	if limits.Max > 0 && limits.Max < limits.Min {
		d.errorf(n, "%s: min %d is greater than max %d", nameOf(n), limits.Min, limits.Max)
	}
	*s = intRange{limits.Min, limits.Max}
	return nil
}

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is the expected text, or an object with one or more of the members
// equals, contains, matches and exists. UnmarshalYAML adds the capture groups of the regular
// expression in matches to the groups of the decoder. If that expression is invalid, it returns the
// error from [regexp.Compile]. If the text in equals does not contain that in contains, it adds an
// error to the problems of the decoder.
func (t *textMatcher) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	if n.Type() != ast.MappingType {
		text := scalarText(n)
		t.equals = &text
		return nil
	}
	d := decoderOf(ctx)
	var c struct {
		Equals, Contains, Matches *textValue
		Exists                    *bool
	}
	d.decode(n, &c)
	t.equals, t.contains, t.exists = (*string)(c.Equals), (*string)(c.Contains), c.Exists
	if t.contains != nil {
		e := member(n, "equals") // in a condition on the body, it may be any JSON value
		isText := e != nil && (e.Value.Type() == ast.StringType || e.Value.Type() == ast.LiteralType)
		if isText && !strings.Contains(*t.equals, *t.contains) {
			d.errorf(n, "%s: equals %s does not contain %s: the rule never matches",
				nameOf(n), quoteTruncated(*t.equals), quoteTruncated(*t.contains))
		}
	}
	if c.Matches == nil {
		return nil
	}
	re, err := regexp.Compile(string(*c.Matches))
	if err != nil {
		return err
	}
	for i, name := range re.SubexpNames() {
		if d.groups[strconv.Itoa(i)] = true; name != "" {
			d.groups[name] = true
		}
	}
	t.matches = re
	return nil
}

// A headerMatchers holds the conditions on the header fields of a request. In a script, it is an
// object that maps the name of each field to the conditions on its value.
type headerMatchers []headerMatcher

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is an object. The returned error is always nil.
func (all *headerMatchers) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	for _, m := range yamltree.Fields(n) {
		h := headerMatcher{scalarText(m.Key), &textMatcher{}}
		decoderOf(ctx).decode(m.Value, h.matcher)
		*all = append(*all, h)
	}
	return nil
}

// A bodyMatchers holds the conditions on the body of a request. In a script, it is an object that
// maps each JSON pointer to the expected JSON value, or to an object with conditions on the value
// at the pointer, such as {contains: a}. An expected value that is an object must therefore be
// written as {equals: VALUE}.
type bodyMatchers []bodyMatcher

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is an object whose keys are JSON pointers. The returned error is always
// nil.
func (all *bodyMatchers) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	d := decoderOf(ctx)
	for _, m := range yamltree.Fields(n) {
		want := bodyMatcher{pointer: scalarText(m.Key)}
		equals := m.Value
		if m.Value.Type() == ast.MappingType {
			rest := &textMatcher{}
			d.decode(m.Value, rest)
			rest.equals = nil
			if *rest != (textMatcher{}) {
				want.matcher = rest
			}
			equals = nil
			if e := member(m.Value, "equals"); e != nil {
				equals = e.Value
			}
		}
		if equals != nil {
			var v any
			d.decode(equals, &v)
			text, _ := encodeJSON(v) // cannot fail: the node has only values that JSON can represent
			v = decodeJSON([]byte(text))
			want.value = &v
		}
		*all = append(*all, want)
	}
	return nil
}

// A scenarioSteps holds the steps that a rule requires or sets, at most one for each scenario (a
// named state machine; see scenarioStep). In a script, it is an object that maps the name of each
// scenario to the name of a step.
type scenarioSteps []scenarioStep

// UnmarshalYAML implements the NodeUnmarshaler interface of goccy/go-yaml. The schema of scripts
// guarantees that n is an object. The returned error is always nil.
func (all *scenarioSteps) UnmarshalYAML(n ast.Node) error {
	for _, m := range yamltree.Fields(n) {
		*all = append(*all, scenarioStep{scalarText(m.Key), scalarText(m.Value)})
	}
	return nil
}
