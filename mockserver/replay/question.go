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

// A question is what makes two requests of one operation the same: what is asked, but
// for the ids that everybody has of their own, and for the history that clients repeat.
type question struct {
	said   string // the prompt, the results of tools or the answers to interrupts
	what   string // the rest: files, days, phrases
	broken string // where it breaks the document
}

// questionOf is what a request asks.
func questionOf(ask *spec.Event) question {
	q := question{said: said(ask.Parts)}
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
	q.what = strings.Join(rest, ", ")
	var broken []string
	for _, b := range ask.Violations {
		broken = append(broken, b.Location+" "+b.Pointer)
	}
	slices.Sort(broken)
	q.broken = strings.Join(broken, ", ")
	return q
}

// said is what is new in the messages of a request: the last message of the user, or
// what was answered to tools and interrupts since.
func said(parts []spec.Event) string {
	var lines []string
	for _, p := range parts {
		switch p.Kind {
		case spec.InputAssistant:
			lines = nil
		case spec.InputUser:
			lines = []string{"user: " + plain(p.Text)}
			for _, inner := range p.Parts {
				if inner.Kind == spec.InputImage {
					lines = append(lines, "image: "+inner.Text)
				}
			}
		case spec.InputImage:
			lines = append(lines, "image: "+p.Text)
		case spec.InputToolResult:
			lines = answered(lines, "tool: "+plain(p.Text))
		case spec.InputResume:
			lines = answered(lines, "resume: "+plain(p.Text))
		}
	}
	return strings.Join(lines, "\n")
}

// answered adds an answer to the server; what the user said before it was answered
// already.
func answered(lines []string, line string) []string {
	lines = slices.DeleteFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "user: ") || strings.HasPrefix(s, "image: ")
	})
	return append(lines, line)
}

// plain is a text that may be JSON in a form that does not depend on its spaces.
func plain(s string) string {
	if t := strings.TrimSpace(s); t == "" || !strings.ContainsAny(t[:1], `{["`) {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
}

// differs says in what q is not what was recorded, "" if in nothing.
func (q question) differs(recorded question) string {
	switch {
	case q.said != recorded.said:
		return fmt.Sprintf("it was asked %s, now it is %s", brief(recorded.said), brief(q.said))
	case q.what != recorded.what:
		return fmt.Sprintf("it was asked about %s, now it is %s", brief(recorded.what), brief(q.what))
	case q.broken != recorded.broken && q.broken == "":
		return "the recorded request broke the document: " + brief(recorded.broken)
	case q.broken != recorded.broken:
		return "the request breaks the document: " + brief(q.broken)
	}
	return ""
}

// mostBrief is how much of a text stands in a reason, in bytes.
const mostBrief = 80

// brief is a text fit for a line.
func brief(s string) string {
	if s == "" {
		return "nothing"
	}
	if len(s) > mostBrief {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:mostBrief], ""))
	}
	return fmt.Sprintf("%q", s)
}
