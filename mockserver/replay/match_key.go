package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A matchKey is what makes two requests of one operation the same: what is asked, but
// for the ids that everybody has of their own, and for the history that clients repeat.
type matchKey struct {
	input      string // the prompt, the results of tools or the answers to interrupts
	subject    string // the rest: files, days, phrases
	violations string // where it breaks the document
}

// newMatchKey is what a request asks.
func newMatchKey(ask *spec.Event) matchKey {
	q := matchKey{input: newInput(ask.Parts)}
	var rest []string
	add := func(name, value string) {
		if value != "" {
			rest = append(rest, name+" "+value)
		}
	}
	add("id", ask.ID)
	add("name", ask.Name)
	add("day", ask.Day)
	add("limit", ask.PollLimit)
	for _, p := range ask.Parts {
		if p.Kind == spec.InputFile {
			sum := sha256.Sum256([]byte(p.Text))
			add("file", fmt.Sprintf("%s (%s, %s)", p.Name, p.Type, hex.EncodeToString(sum[:8])))
		}
	}
	q.subject = strings.Join(rest, ", ")
	var violations []string
	for _, b := range ask.Violations {
		violations = append(violations, b.Location+" "+b.Pointer)
	}
	slices.Sort(violations)
	q.violations = strings.Join(violations, ", ")
	return q
}

// newInput is what is new in the messages of a request: the last message of the user, or
// what was answered to tools and interrupts since.
func newInput(parts []spec.Event) string {
	var lines []string
	for _, p := range parts {
		switch p.Kind {
		case spec.InputAssistant:
			lines = nil
		case spec.InputUser:
			lines = []string{"user: " + compactIfJSON(p.Text)}
			for _, inner := range p.Parts {
				if inner.Kind == spec.InputImage {
					lines = append(lines, "image: "+inner.Text)
				}
			}
		case spec.InputImage:
			lines = append(lines, "image: "+p.Text)
		case spec.InputToolResult:
			lines = appendReply(lines, "tool: "+compactIfJSON(p.Text))
		case spec.InputResume:
			lines = appendReply(lines, "resume: "+compactIfJSON(p.Text))
		}
	}
	return strings.Join(lines, "\n")
}

// appendReply adds an answer to the server; what the user said before it was answered
// already.
func appendReply(lines []string, line string) []string {
	lines = slices.DeleteFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "user: ") || strings.HasPrefix(s, "image: ")
	})
	return append(lines, line)
}

// compactIfJSON is a text that may be JSON in a form that does not depend on its spaces.
func compactIfJSON(s string) string {
	if t := strings.TrimSpace(s); t == "" || !strings.ContainsAny(t[:1], `{["`) {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}

// difference says in what q is not what was recorded, "" if in nothing.
func (q matchKey) difference(recorded matchKey) string {
	switch {
	case q.input != recorded.input:
		return fmt.Sprintf("it was asked %s, now it is %s", quoteBrief(recorded.input), quoteBrief(q.input))
	case q.subject != recorded.subject:
		return fmt.Sprintf("it was asked about %s, now it is %s", quoteBrief(recorded.subject), quoteBrief(q.subject))
	case q.violations != recorded.violations && q.violations == "":
		return "the recorded request broke the document: " + quoteBrief(recorded.violations)
	case q.violations != recorded.violations:
		return "the request breaks the document: " + quoteBrief(q.violations)
	}
	return ""
}

// maxQuoteLength is how much of a text stands in a reason, in bytes.
const maxQuoteLength = 80

// quoteBrief is a text fit for a line.
func quoteBrief(s string) string {
	if s == "" {
		return "nothing"
	}
	if len(s) > maxQuoteLength {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:maxQuoteLength], ""))
	}
	return fmt.Sprintf("%q", s)
}
