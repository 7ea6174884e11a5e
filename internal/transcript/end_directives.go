package transcript

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// endDirectives lists the directives that end an incomplete body, each with the error that it
// represents. The directive "end", which ends a complete body, is not in the list. An error that
// wraps another one comes before that one, because endDirective uses the first match.
var endDirectives = []struct {
	word string
	err  error
}{
	{"cut", spec.ErrTruncated},
	{"reset", spec.ErrReset},
	{"left-after-end", spec.ErrLeftAfterEnd}, // before left, which it implies
	{"left", spec.ErrClientLeft},
	{"open", spec.ErrStillOpen},
	{"idle", spec.ErrIdleTimeout},
	{"endless", spec.ErrLimitExceeded},
	{"not-http", spec.ErrNotHTTP},
}

// endDirectiveNames returns the names of the directives in endDirectives, in the same order.
func endDirectiveNames() (all []string) {
	for _, e := range endDirectives {
		all = append(all, e.word)
	}
	return all
}

// endDirective returns the directive that represents err, the reason why a body is incomplete. The
// result word is the name of the directive, and why is the rest of the text of err, which the name
// does not express. If err is nil, word is "end" and why is "". If no directive represents err,
// word is "cut" and why is the text of err.
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

// endError returns the error that the directive called word represents, or nil for "end". If why
// is not "", it is the reason in the directive: the result then wraps the error in endDirectives,
// and its text ends with why. If there is no such directive, ok is false.
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

// oneLine returns s on one line. It replaces each character for which isTextRune is false, such as
// a newline, with a space, and removes white space at both ends.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !isTextRune(r) {
			return ' '
		}
		return r
	}, s))
}

// excerpt returns line for use in an error message, converted by oneLine. If line has more than
// about 80 bytes, the result is only its beginning, followed by an ellipsis.
func excerpt(line string) string {
	const maxBytes = 80
	for i := range line {
		if i > maxBytes {
			return oneLine(line[:i]) + "…"
		}
	}
	return oneLine(line)
}
