package transcript

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// endDirectives lists the directives for bodies that ended early, with their errors.
var endDirectives = []struct {
	word string
	err  error
}{
	{"cut", spec.ErrTruncated},
	{"reset", spec.ErrReset},
	{"left", spec.ErrClientLeft},
	{"idle", spec.ErrIdleTimeout},
	{"endless", spec.ErrLimitExceeded},
	{"not-http", spec.ErrNotHTTP},
}

// endDirectiveNames returns the names of endDirectives.
func endDirectiveNames() (all []string) {
	for _, e := range endDirectives {
		all = append(all, e.word)
	}
	return all
}

// endDirective returns the directive for how a body ended, and the reason if the error adds
// one. An unknown error is a cut.
func endDirective(err error) (word, why string) {
	if err == nil {
		return "end", ""
	}
	for _, e := range endDirectives {
		if errors.Is(err, e.err) {
			why, _ = strings.CutPrefix(err.Error(), e.err.Error())
			return e.word, oneLine(strings.TrimPrefix(why, ": "))
		}
	}
	return "cut", oneLine(err.Error())
}

// endError returns the error for a directive and its reason. ok is whether the directive is
// for ends at all.
func endError(word, why string) (err error, ok bool) {
	for _, e := range endDirectives {
		switch {
		case e.word != word:
		case why == "":
			return e.err, true
		default:
			return fmt.Errorf("%w: %s", e.err, why), true
		}
	}
	return nil, word == "end"
}

// oneLine returns s with control characters and line ends replaced by spaces.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !isTextRune(r) {
			return ' '
		}
		return r
	}, s))
}

// excerpt returns the beginning of a line for an error message.
func excerpt(line string) string {
	const maxBytes = 80
	for i := range line {
		if i > maxBytes {
			return oneLine(line[:i]) + "…"
		}
	}
	return oneLine(line)
}
