package transcript

import (
	"errors"
	"fmt"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// endDirectives are the directions that end a body badly.
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

func endDirectiveNames() (all []string) {
	for _, e := range endDirectives {
		all = append(all, e.word)
	}
	return all
}

// endDirective is the direction for how a body ended, and the reason if the error gives
// more of one than the word does. An error that is none of spec's is a cut.
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

// endError is what a direction says about the body's end; ok is whether the word is
// one for ends at all.
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

// oneLine is a text in which nothing could be mistaken for the end of a line.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !isTextRune(r) {
			return ' '
		}
		return r
	}, s))
}

// excerpt is as much of a line as an error should repeat.
func excerpt(line string) string {
	const most = 80
	for i := range line {
		if i > most {
			return oneLine(line[:i]) + "…"
		}
	}
	return oneLine(line)
}
