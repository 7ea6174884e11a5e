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

// maxProblems is the maximum number of problems reported for one file; further ones are dropped.
const maxProblems = 100

// A scriptParser parses one script file. Each method whose name begins with parse returns the value
// of a node. If that value is invalid, the method adds an error with its position to the problems
// of the file and returns a substitute for the value.
type scriptParser struct {
	file     string
	dialects []*dialect.Dialect
	problems []Problem
}

// errorf adds an error at the position of n to the problems of the file.
func (r *scriptParser) errorf(n *yamlNode, format string, args ...any) {
	r.addProblem(n, Error, fmt.Sprintf(format, args...))
}

// warnf adds a warning at the position of n to the problems of the file.
func (r *scriptParser) warnf(n *yamlNode, format string, args ...any) {
	r.addProblem(n, Warning, fmt.Sprintf(format, args...))
}

// addProblem adds a problem at the position of n to the problems of the file. It does nothing if
// the file already has maxProblems of them.
func (r *scriptParser) addProblem(n *yamlNode, level Severity, text string) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.file, n.line, n.column, level, text})
	}
}

// A memberParsers maps each key that an object may contain to the function that parses the value of
// that key.
type memberParsers map[string]func(n *yamlNode)

// parseObject passes the value of each member of the object n to the parser in known for the key of
// the member, in source order, and returns true. It records an error for each key that is not in
// known. If n is not an object, it records an error and returns false. The parameter what names the
// object in messages.
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

// parseList calls read with the index and the node of each item of the list n. If n is not a list,
// it records an error instead. The parameter what names the list in messages.
func (r *scriptParser) parseList(n *yamlNode, what string, read func(i int, n *yamlNode)) {
	if n.kind != listNode {
		r.errorf(n, "%s must be a list, got %s", what, n.describe())
		return
	}
	for i, item := range n.items {
		read(i, item)
	}
}

// parseText returns the scalar n as text, and true; the text of a number or boolean is the one in
// the file. If n is null, a list or an object, it records an error and returns "" and false. The
// parameter what names the text in messages.
func (r *scriptParser) parseText(n *yamlNode, what string) (string, bool) {
	if n.kind != scalarNode || n.value == nil {
		r.errorf(n, "%s must be text, got %s", what, n.describe())
		return "", false
	}
	return n.text, true
}

// parseName returns n as a non-empty text. If n is anything else, it records an error and returns
// "". The parameter what names the value in messages.
func (r *scriptParser) parseName(n *yamlNode, what string) string {
	text, ok := r.parseText(n, what)
	if ok && text == "" {
		r.errorf(n, "%s must not be empty", what)
	}
	return text
}

// parseNames returns the names in n, which is a single name or a non-empty list of names. It
// records an error for an empty list and for each item that is not a name; such an item becomes "".
// The parameter what names the value in messages.
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

// parseEnum returns n as text. If that is not one of the permitted values, which the parameter of
// lists, parseEnum records an error and returns the text nevertheless; it returns "" if n is not
// text. The parameter what names the value in messages.
func (r *scriptParser) parseEnum(n *yamlNode, what string, of []string) string {
	text, ok := r.parseText(n, what)
	if ok && !slices.Contains(of, text) {
		r.errorf(n, "%s: unknown value %s%s", what, quoteTruncated(text), near.Suggest(text, of))
	}
	return text
}

// parseInt returns the value of n, an integer from low to high, both included. If n is anything
// else, parseInt adds an error to the problems of the file and returns low. The parameter what
// names the value in messages.
func (r *scriptParser) parseInt(n *yamlNode, what string, low, high int) int {
	v, ok := n.value.(int64)
	if n.kind != scalarNode || !ok || v < int64(low) || v > int64(high) {
		r.errorf(n, "%s must be an integer from %d to %d, got %s", what, low, high, n.describe())
		return low
	}
	return int(v)
}

// parseBool returns the value of n, true or false. If n is anything else, parseBool adds an error
// to the problems of the file and returns false. The parameter what names the value in messages.
func (r *scriptParser) parseBool(n *yamlNode, what string) bool {
	v, ok := n.value.(bool)
	if n.kind != scalarNode || !ok {
		r.errorf(n, "%s must be true or false, got %s", what, n.describe())
	}
	return v
}

// parseTrue returns true if n, the value of an optional member, is true. If n is anything else,
// even false, parseTrue adds an error to the problems of the file and returns false. The parameter
// what names the value in messages.
func (r *scriptParser) parseTrue(n *yamlNode, what string) bool {
	v, ok := n.value.(bool)
	if n.kind != scalarNode || !ok || !v {
		r.errorf(n, "%s must be true or left out, got %s", what, n.describe())
	}
	return v
}

// maxDuration is the longest duration that a script may contain.
const maxDuration = 24 * time.Hour

// parseDuration returns the duration in n, which is written in Go's notation, such as 1.5s, or is
// the number 0. If n is not a duration from 0 to maxDuration, parseDuration adds an error to the
// problems of the file and returns 0. The parameter what names the value in messages.
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

// parseTemplate returns the text in n, compiled as a template if it contains template actions. If n
// is not text or its template is invalid, parseTemplate adds an error to the problems of the file
// and returns an empty text. The parameter what names the text in messages.
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

// parseTextMatcher returns the condition on text that n describes. n is the expected text, or an
// object with at least one of the keys contains, equals, exists and matches; if it has several, all
// must hold. Errors are added to the problems of the file. The result is never nil. The parameter
// what names the condition in messages.
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

// parseRegexp returns the regular expression in n, which is a text in RE2 syntax. If n is anything
// else, parseRegexp adds an error to the problems of the file and returns nil. The parameter what
// names the expression in messages.
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

// parseRange returns the range of positive integers that n describes. n is a single integer, or an
// object with min (default 1) and max (default: no upper end). Errors are added to the problems of
// the file. The parameter what names the range in messages.
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

// joinNames joins names with commas and a final "and", as in "a, b and c". It returns "" if there
// are no names.
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
