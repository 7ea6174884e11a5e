package rules

import (
	"bytes"
	"regexp"

	"github.com/streamassay/streamassay/spec"
)

var wireLineChecks = []*spec.Check{LinesEndWithLF, NoTerminator}

// LinesEndWithLF judges whether all lines of each event in a stream, and all comments, end with a
// single LF, and not with CR or CRLF.
var LinesEndWithLF = &spec.Check{
	ID: "wire.lines-end-with-lf",
	Doc: `the lines of events and comments end with LF

The HTML standard also permits CR and CRLF (section 9.2.6). This check is for protocols that
permit only LF. The blank line that ends an event is judged as well.`,
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Comment:
				p.Judge(e, !e.EndsWithCR, "a comment ends with CR or CRLF; expected LF")
			case e.IsFrame() && !e.Implied:
				hasCR := e.EndsWithCR || bytes.Contains(e.Raw, []byte("\r"))
				p.Judge(e, !hasCR, "a line of the event ends with CR or CRLF; expected LF")
			}
		}
	}),
}

// terminator matches the data of an in-band terminator, that is, of an event that only marks the
// end of a stream, such as "[DONE]".
var terminator = regexp.MustCompile(`^\[[A-Z]+\]$`)

// NoTerminator judges whether a stream has no in-band terminator, that is, no event such as "[DONE]"
// that only marks the end of the stream.
var NoTerminator = &spec.Check{
	ID: "done.absent",
	Doc: `a stream has no in-band terminator, such as a word in brackets

Clients that parse the data of every event as JSON fail when they receive one.`,
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		found := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Undecodable && terminator.MatchString(frameData(e.Raw)):
				found = true
				p.Judge(e, false, "stream has the terminator %s; expected none", frameData(e.Raw))
			case isCleanEnd(e) && !found:
				p.Judge(e, true, "")
			}
		}
	}),
}
