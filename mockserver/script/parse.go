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

// maxProblems is how many problems of one file are told.
const maxProblems = 100

// A scriptParser reads one file, and gathers what is wrong with it.
type scriptParser struct {
	file     string
	dialects []*dialect.Dialect
	problems []Problem
}

func (r *scriptParser) errorf(n *yamlNode, format string, args ...any) {
	r.addProblem(n, Error, fmt.Sprintf(format, args...))
}

func (r *scriptParser) warnf(n *yamlNode, format string, args ...any) {
	r.addProblem(n, Warning, fmt.Sprintf(format, args...))
}

func (r *scriptParser) addProblem(n *yamlNode, level Severity, text string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.file, n.line, n.column, level, text})
	}
}

// memberParsers say how the members of an object are read.
type memberParsers map[string]func(n *yamlNode)

// parseObject reads an object strictly, in the order in which it is written.
func (r *scriptParser) parseObject(n *yamlNode, what string, known memberParsers) bool {
	names := slices.Sorted(maps.Keys(known))
	if n.kind != objectNode {
		r.errorf(n, "%s is an object of %s; this is %s", what, joinNames(names), n.describe())
		return false
	}
	for _, m := range n.members {
		read := known[m.key]
		if read == nil {
			r.errorf(m.keyNode, "%s has no %s%s", what, quoteTruncated(m.key), near.Suggest(m.key, names))
			continue
		}
		read(m.value)
	}
	return true
}

// parseList reads a list.
func (r *scriptParser) parseList(n *yamlNode, what string, read func(i int, n *yamlNode)) {
	if n.kind != listNode {
		r.errorf(n, "%s is a list; this is %s", what, n.describe())
		return
	}
	for i, item := range n.items {
		read(i, item)
	}
}

// parseText reads a text, which numbers and truth values are as well: written without quotes they
// are what was meant.
func (r *scriptParser) parseText(n *yamlNode, what string) (string, bool) {
	if n.kind != scalarNode || n.value == nil {
		r.errorf(n, "%s is a text; this is %s", what, n.describe())
		return "", false
	}
	return n.text, true
}

// parseName reads a text that is not empty.
func (r *scriptParser) parseName(n *yamlNode, what string) string {
	text, ok := r.parseText(n, what)
	if ok && text == "" {
		r.errorf(n, "%s is empty: a name is wanted", what)
	}
	return text
}

// parseNames reads one name, or a list of them.
func (r *scriptParser) parseNames(n *yamlNode, what string) (all []string) {
	if n.kind != listNode {
		return []string{r.parseName(n, what)}
	}
	for _, item := range n.items {
		all = append(all, r.parseName(item, what))
	}
	if len(all) == 0 {
		r.errorf(n, "%s is an empty list: leave it out, or name one", what)
	}
	return all
}

// parseEnum reads one of some words.
func (r *scriptParser) parseEnum(n *yamlNode, what string, of []string) string {
	text, ok := r.parseText(n, what)
	if ok && !slices.Contains(of, text) {
		r.errorf(n, "%s has no %s%s", what, quoteTruncated(text), near.Suggest(text, of))
	}
	return text
}

func (r *scriptParser) parseInt(n *yamlNode, what string, low, high int) int {
	v, ok := n.value.(int64)
	if n.kind != scalarNode || !ok || v < int64(low) || v > int64(high) {
		r.errorf(n, "%s is a whole number from %d to %d; this is %s", what, low, high, n.describe())
		return low
	}
	return int(v)
}

func (r *scriptParser) parseBool(n *yamlNode, what string) bool {
	v, ok := n.value.(bool)
	if n.kind != scalarNode || !ok {
		r.errorf(n, "%s is true or false; this is %s", what, n.describe())
	}
	return v
}

// parseTrue reads what can only be true.
func (r *scriptParser) parseTrue(n *yamlNode, what string) bool {
	v, ok := n.value.(bool)
	if n.kind != scalarNode || !ok || !v {
		r.errorf(n, "%s is true, or left out; this is %s", what, n.describe())
	}
	return v
}

// maxDuration is how long anything in a script takes at most.
const maxDuration = 24 * time.Hour

func (r *scriptParser) parseDuration(n *yamlNode, what string) time.Duration {
	if n.kind == scalarNode && (n.value == int64(0) || n.text == "0") {
		return 0
	}
	text, _ := n.value.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDuration {
		r.errorf(n, "%s is a duration up to %v, such as 300ms, 1.5s or 2m; this is %s", what, maxDuration, n.describe())
		return 0
	}
	return d
}

func (r *scriptParser) parseTemplate(n *yamlNode, what string) textTemplate {
	text, ok := r.parseText(n, what)
	if !ok {
		return textTemplate{}
	}
	w, err := compileTemplate(text)
	if err != nil {
		r.errorf(n, "%s: the template cannot be read: %v", what, err)
	}
	w.node = n
	return w
}

// textMatcherKeys are what says what a text must be.
var textMatcherKeys = []string{"contains", "equals", "exists", "matches"}

// parseTextMatcher reads what a text must be: a text, or an object of what must hold of it.
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
		r.errorf(n, "%s says nothing: one of %s is wanted", what, joinNames(textMatcherKeys))
	}
	return t
}

// parseRegexp reads a regular expression.
func (r *scriptParser) parseRegexp(n *yamlNode, what string) *regexp.Regexp {
	text, ok := r.parseText(n, what)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		r.errorf(n, "%s is no regular expression: %v", what, err)
	}
	return re
}

// parseRange reads a number, or a range of numbers.
func (r *scriptParser) parseRange(n *yamlNode, what string) *intRange {
	const most = math.MaxInt32
	if n.kind != objectNode {
		v := r.parseInt(n, what, 1, most)
		return &intRange{v, v}
	}
	s := &intRange{low: 1}
	r.parseObject(n, what, memberParsers{
		"min": func(n *yamlNode) { s.low = r.parseInt(n, what+": min", 1, most) },
		"max": func(n *yamlNode) { s.high = r.parseInt(n, what+": max", 1, most) },
	})
	if s.high > 0 && s.high < s.low {
		r.errorf(n, "%s: from %d to %d is nothing", what, s.low, s.high)
	}
	return s
}

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
