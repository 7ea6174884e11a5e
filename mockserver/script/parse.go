package script

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec/dialect"
)

// maxProblems is the maximum number of problems reported for one file.
const maxProblems = 100

// A scriptParser parses one file and collects its problems.
type scriptParser struct {
	file     string
	dialects []*dialect.Dialect
	problems []Problem
}

// errorf records an error at the position of n.
func (r *scriptParser) errorf(n *yamlNode, format string, args ...any) {
	r.addProblem(n, Error, fmt.Sprintf(format, args...))
}

// warnf records a warning at the position of n.
func (r *scriptParser) warnf(n *yamlNode, format string, args ...any) {
	r.addProblem(n, Warning, fmt.Sprintf(format, args...))
}

// addProblem records a problem, unless the file already has maxProblems.
func (r *scriptParser) addProblem(n *yamlNode, level Severity, text string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.file, n.line, n.column, level, text})
	}
}

// memberParsers maps each key that an object may have to the function that parses its value.
type memberParsers map[string]func(n *yamlNode)

// parseObject parses an object, member by member in source order. Unknown keys are errors. It
// reports whether n is an object; what names the object in messages.
func (r *scriptParser) parseObject(n *yamlNode, what string, known memberParsers) bool {
	names := slices.Sorted(maps.Keys(known))
	if n.kind != objectNode {
		r.errorf(n, "%s must be an object (keys: %s), got %s", what, joinNames(names), n.describe())
		return false
	}
	for _, m := range n.members {
		read := known[m.key]
		if read == nil {
			r.errorf(m.keyNode, "unknown key %[2]s in %[1]s%[3]s", what, quoteTruncated(m.key), near.Suggest(m.key, names))
			continue
		}
		read(m.value)
	}
	return true
}

// parseList calls read for each item of a list.
func (r *scriptParser) parseList(n *yamlNode, what string, read func(i int, n *yamlNode)) {
	if n.kind != listNode {
		r.errorf(n, "%s must be a list, got %s", what, n.describe())
		return
	}
	for i, item := range n.items {
		read(i, item)
	}
}

// parseText parses text. Unquoted numbers and booleans are accepted as written.
func (r *scriptParser) parseText(n *yamlNode, what string) (string, bool) {
	if n.kind != scalarNode || n.value == nil {
		r.errorf(n, "%s must be text, got %s", what, n.describe())
		return "", false
	}
	return n.text, true
}

// parseName parses non-empty text.
func (r *scriptParser) parseName(n *yamlNode, what string) string {
	text, ok := r.parseText(n, what)
	if ok && text == "" {
		r.errorf(n, "%s must not be empty", what)
	}
	return text
}

// parseNames parses a single name or a non-empty list of names.
func (r *scriptParser) parseNames(n *yamlNode, what string) (all []string) {
	if n.kind != listNode {
		return []string{r.parseName(n, what)}
	}
	for _, item := range n.items {
		all = append(all, r.parseName(item, what))
	}
	if len(all) == 0 {
		r.errorf(n, "%s must not be an empty list: leave it out or add a name", what)
	}
	return all
}

// parseEnum parses text that must be one of the given values.
func (r *scriptParser) parseEnum(n *yamlNode, what string, of []string) string {
	text, ok := r.parseText(n, what)
	if ok && !slices.Contains(of, text) {
		r.errorf(n, "%s: unknown value %s%s", what, quoteTruncated(text), near.Suggest(text, of))
	}
	return text
}

// parseInt parses an integer from low to high, both included. It returns low on an error.
func (r *scriptParser) parseInt(n *yamlNode, what string, low, high int) int {
	v, ok := n.value.(int64)
	if n.kind != scalarNode || !ok || v < int64(low) || v > int64(high) {
		r.errorf(n, "%s must be an integer from %d to %d, got %s", what, low, high, n.describe())
		return low
	}
	return int(v)
}

// parseBool parses true or false.
func (r *scriptParser) parseBool(n *yamlNode, what string) bool {
	v, ok := n.value.(bool)
	if n.kind != scalarNode || !ok {
		r.errorf(n, "%s must be true or false, got %s", what, n.describe())
	}
	return v
}

// parseTrue parses a member whose only legal value is true.
func (r *scriptParser) parseTrue(n *yamlNode, what string) bool {
	v, ok := n.value.(bool)
	if n.kind != scalarNode || !ok || !v {
		r.errorf(n, "%s must be true or left out, got %s", what, n.describe())
	}
	return v
}

// maxDuration is the maximum of any duration in a script.
const maxDuration = 24 * time.Hour

// parseDuration parses a duration in Go's notation, or the number 0.
func (r *scriptParser) parseDuration(n *yamlNode, what string) time.Duration {
	if n.kind == scalarNode && (n.value == int64(0) || n.text == "0") {
		return 0
	}
	text, _ := n.value.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDuration {
		r.errorf(n, "%s must be a duration up to %v (e.g. 300ms, 1.5s, 2m), got %s", what, maxDuration, n.describe())
		return 0
	}
	return d
}

// parseTemplate parses text and compiles it if it contains a template.
func (r *scriptParser) parseTemplate(n *yamlNode, what string) textTemplate {
	text, ok := r.parseText(n, what)
	if !ok {
		return textTemplate{}
	}
	w, err := compileTemplate(text)
	if err != nil {
		r.errorf(n, "%s: invalid template: %v", what, err)
	}
	w.node = n
	return w
}

// textMatcherKeys are the keys of an object that describes a condition on text.
var textMatcherKeys = []string{"contains", "equals", "exists", "matches"}

// parseTextMatcher parses a condition on text: the expected text, or an object whose members must
// all hold.
func (r *scriptParser) parseTextMatcher(n *yamlNode, what string) *textMatcher {
	t := &textMatcher{}
	if n.kind != objectNode {
		if text, ok := r.parseText(n, what); ok {
			t.equals = &text
		}
		return t
	}
	into := func(to **string, name string) func(*yamlNode) {
		return func(n *yamlNode) {
			if text, ok := r.parseText(n, what+": "+name); ok {
				*to = &text
			}
		}
	}
	r.parseObject(n, what, memberParsers{
		"equals":   into(&t.equals, "equals"),
		"contains": into(&t.contains, "contains"),
		"matches":  func(n *yamlNode) { t.matches = r.parseRegexp(n, what+": matches") },
		"exists": func(n *yamlNode) {
			b := r.parseBool(n, what+": exists")
			t.exists = &b
		},
	})
	if len(n.members) == 0 {
		r.errorf(n, "%s is an empty object: give at least one of %s", what, joinNames(textMatcherKeys))
	}
	return t
}

// parseRegexp parses a regular expression in RE2 syntax. It returns nil on an error.
func (r *scriptParser) parseRegexp(n *yamlNode, what string) *regexp.Regexp {
	text, ok := r.parseText(n, what)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		r.errorf(n, "%s is not a valid regular expression: %v", what, err)
	}
	return re
}

// parseRange parses a positive number, or an object with min and max.
func (r *scriptParser) parseRange(n *yamlNode, what string) *intRange {
	const maxInt = math.MaxInt32
	if n.kind != objectNode {
		v := r.parseInt(n, what, 1, maxInt)
		return &intRange{v, v}
	}
	s := &intRange{low: 1}
	r.parseObject(n, what, memberParsers{
		"min": func(n *yamlNode) { s.low = r.parseInt(n, what+": min", 1, maxInt) },
		"max": func(n *yamlNode) { s.high = r.parseInt(n, what+": max", 1, maxInt) },
	})
	if s.high > 0 && s.high < s.low {
		r.errorf(n, "%s: min %d is greater than max %d", what, s.low, s.high)
	}
	return s
}

// joinNames joins names with commas and a final "and".
func joinNames(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		text := ""
		for _, name := range names[:n-1] {
			text += name + ", "
		}
		return text[:len(text)-2] + " and " + names[n-1]
	}
}
