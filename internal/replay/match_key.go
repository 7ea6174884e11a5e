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

// A matchKey holds the content of a request by which recorded responses are selected: a recorded
// request matches only if its key is equal. Ids that clients choose, and the history that some
// clients repeat, are not part of the key.
type matchKey struct {
	input      string // the prompt, the tool results or the answers to interrupts, see newInput
	subject    string // the fields ID, Name, Day and PollLimit of the request (see spec.Event), and its files
	violations string // locations at which the request violates the OpenAPI document; "" if it is valid
}

// newMatchKey returns the match key of a parsed request.
func newMatchKey(request *spec.Event) matchKey {
	q := matchKey{input: newInput(request.Parts)}
	var rest []string
	add := func(name, value string) {
		if value != "" {
			rest = append(rest, name+" "+value)
		}
	}
	add("id", request.ID)
	add("name", request.Name)
	add("day", request.Day)
	add("limit", request.PollLimit)
	for _, p := range request.Parts {
		if p.Kind == spec.InputFile {
			sum := sha256.Sum256([]byte(p.Text))
			add("file", fmt.Sprintf("%s (%s, %s)", p.Name, p.Type, hex.EncodeToString(sum[:8])))
		}
	}
	q.subject = strings.Join(rest, ", ")
	var violations []string
	for _, b := range request.Violations {
		violations = append(violations, b.Location+" "+b.Pointer)
	}
	slices.Sort(violations)
	q.violations = strings.Join(violations, ", ")
	return q
}

// newInput returns the new input in parts, the parts of a request, as text with one item per line.
// The new input is the last message of the user, or the tool results and answers to interrupts that
// follow it. The result is "" if there is none.
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

// appendReply removes the lines of user messages and images, which the server has already answered,
// from lines, the input of a request. It returns the remaining lines, followed by line, a tool
// result or an answer to an interrupt. It modifies lines.
func appendReply(lines []string, line string) []string {
	lines = slices.DeleteFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "user: ") || strings.HasPrefix(s, "image: ")
	})
	return append(lines, line)
}

// compactIfJSON returns s without insignificant white space if s is a JSON object, array or string.
// It returns any other s unchanged, also a JSON number, true, false or null.
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

// difference returns a description of the first difference between q, the key of a request, and
// recorded, the key of a recorded request. It returns "" if the keys are equal.
func (q matchKey) difference(recorded matchKey) string {
	switch {
	case q.input != recorded.input:
		return fmt.Sprintf("its input is %s, the request's is %s", quoteBrief(recorded.input), quoteBrief(q.input))
	case q.subject != recorded.subject:
		return fmt.Sprintf("it is about %s, the request is about %s", quoteBrief(recorded.subject), quoteBrief(q.subject))
	case q.violations != recorded.violations && q.violations == "":
		return "the recorded request violates the document: " + quoteBrief(recorded.violations)
	case q.violations != recorded.violations:
		return "the request violates the document: " + quoteBrief(q.violations)
	}
	return ""
}

// maxQuoteLength is the maximum number of bytes of a string that quoteBrief quotes.
const maxQuoteLength = 80

// quoteBrief returns s in quotes, or "nothing" if s is empty. If s is longer than maxQuoteLength
// bytes, only the beginning is quoted, followed by an ellipsis.
func quoteBrief(s string) string {
	if s == "" {
		return "nothing"
	}
	if len(s) > maxQuoteLength {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:maxQuoteLength], ""))
	}
	return fmt.Sprintf("%q", s)
}
