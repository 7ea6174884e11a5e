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

// mostProblems is how many problems of one file are told.
const mostProblems = 100

// A reader reads one file, and gathers what is wrong with it.
type reader struct {
	file     string
	dialects []*dialect.Dialect
	problems []Problem
}

func (r *reader) wrong(n *node, format string, args ...any) {
	r.note(n, Error, fmt.Sprintf(format, args...))
}

func (r *reader) warn(n *node, format string, args ...any) {
	r.note(n, Warning, fmt.Sprintf(format, args...))
}

func (r *reader) note(n *node, level Level, text string) {
	if len(r.problems) < mostProblems {
		r.problems = append(r.problems, Problem{r.file, n.line, n.column, level, text})
	}
}

// members say how the members of an object are read.
type members map[string]func(n *node)

// object reads an object strictly, in the order in which it is written.
func (r *reader) object(n *node, what string, known members) bool {
	names := slices.Sorted(maps.Keys(known))
	if n.form != object {
		r.wrong(n, "%s is an object of %s; this is %s", what, join(names), n.is())
		return false
	}
	for _, m := range n.members {
		read := known[m.key]
		if read == nil {
			r.wrong(m.at, "%s has no %s%s", what, quoted(m.key), near.Suggest(m.key, names))
			continue
		}
		read(m.value)
	}
	return true
}

// each reads a list.
func (r *reader) each(n *node, what string, read func(i int, n *node)) {
	if n.form != list {
		r.wrong(n, "%s is a list; this is %s", what, n.is())
		return
	}
	for i, item := range n.items {
		read(i, item)
	}
}

// text reads a text, which numbers and truth values are as well: written without quotes they
// are what was meant.
func (r *reader) text(n *node, what string) (string, bool) {
	if n.form != scalar || n.value == nil {
		r.wrong(n, "%s is a text; this is %s", what, n.is())
		return "", false
	}
	return n.text, true
}

// name reads a text that is not empty.
func (r *reader) name(n *node, what string) string {
	text, ok := r.text(n, what)
	if ok && text == "" {
		r.wrong(n, "%s is empty: a name is wanted", what)
	}
	return text
}

// names reads one name, or a list of them.
func (r *reader) names(n *node, what string) (all []string) {
	if n.form != list {
		return []string{r.name(n, what)}
	}
	for _, item := range n.items {
		all = append(all, r.name(item, what))
	}
	if len(all) == 0 {
		r.wrong(n, "%s is an empty list: leave it out, or name one", what)
	}
	return all
}

// one reads one of some words.
func (r *reader) one(n *node, what string, of []string) string {
	text, ok := r.text(n, what)
	if ok && !slices.Contains(of, text) {
		r.wrong(n, "%s has no %s%s", what, quoted(text), near.Suggest(text, of))
	}
	return text
}

func (r *reader) whole(n *node, what string, low, high int) int {
	v, ok := n.value.(int64)
	if n.form != scalar || !ok || v < int64(low) || v > int64(high) {
		r.wrong(n, "%s is a whole number from %d to %d; this is %s", what, low, high, n.is())
		return low
	}
	return int(v)
}

func (r *reader) truth(n *node, what string) bool {
	v, ok := n.value.(bool)
	if n.form != scalar || !ok {
		r.wrong(n, "%s is true or false; this is %s", what, n.is())
	}
	return v
}

// yes reads what can only be true.
func (r *reader) yes(n *node, what string) bool {
	v, ok := n.value.(bool)
	if n.form != scalar || !ok || !v {
		r.wrong(n, "%s is true, or left out; this is %s", what, n.is())
	}
	return v
}

// mostWait is how long anything in a script takes at most.
const mostWait = 24 * time.Hour

func (r *reader) duration(n *node, what string) time.Duration {
	if n.form == scalar && (n.value == int64(0) || n.text == "0") {
		return 0
	}
	text, _ := n.value.(string)
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > mostWait {
		r.wrong(n, "%s is a duration up to %v, such as 300ms, 1.5s or 2m; this is %s", what, mostWait, n.is())
		return 0
	}
	return d
}

func (r *reader) words(n *node, what string) words {
	text, ok := r.text(n, what)
	if !ok {
		return words{}
	}
	w, err := compile(text)
	if err != nil {
		r.wrong(n, "%s: the template cannot be read: %v", what, err)
	}
	w.at = n
	return w
}

// matcher are what says what a text must be.
var matcher = []string{"contains", "equals", "exists", "matches"}

// texts reads what a text must be: a text, or an object of what must hold of it.
func (r *reader) texts(n *node, what string) *texts {
	t := &texts{}
	if n.form != object {
		if text, ok := r.text(n, what); ok {
			t.equals = &text
		}
		return t
	}
	into := func(to **string, name string) func(*node) {
		return func(n *node) {
			if text, ok := r.text(n, what+": "+name); ok {
				*to = &text
			}
		}
	}
	r.object(n, what, members{
		"equals":   into(&t.equals, "equals"),
		"contains": into(&t.contains, "contains"),
		"matches":  func(n *node) { t.matches = r.expression(n, what+": matches") },
		"exists": func(n *node) {
			b := r.truth(n, what+": exists")
			t.exists = &b
		},
	})
	if len(n.members) == 0 {
		r.wrong(n, "%s says nothing: one of %s is wanted", what, join(matcher))
	}
	return t
}

// expression reads a regular expression.
func (r *reader) expression(n *node, what string) *regexp.Regexp {
	text, ok := r.text(n, what)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		r.wrong(n, "%s is no regular expression: %v", what, err)
	}
	return re
}

// span reads a number, or a range of numbers.
func (r *reader) span(n *node, what string) *span {
	const most = math.MaxInt32
	if n.form != object {
		v := r.whole(n, what, 1, most)
		return &span{v, v}
	}
	s := &span{low: 1}
	r.object(n, what, members{
		"min": func(n *node) { s.low = r.whole(n, what+": min", 1, most) },
		"max": func(n *node) { s.high = r.whole(n, what+": max", 1, most) },
	})
	if s.high > 0 && s.high < s.low {
		r.wrong(n, "%s: from %d to %d is nothing", what, s.low, s.high)
	}
	return s
}

func join(names []string) string {
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
