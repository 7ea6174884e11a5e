package transcript

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// MaxFileBytes is the maximum size of a recording, in bytes. It is limited because recordings are
// read into memory.
const MaxFileBytes = 1 << 30

// TimeResolution is the resolution of the times in a transcript. More precise times are truncated.
const TimeResolution = time.Microsecond

// A Transcript is one recorded conversation with what is known about it, such as its dialect and
// the checks that it fails. The package comment describes its text form.
type Transcript struct {
	Name    string // file name, or any other name, for messages
	Comment string // prose, without the settings

	Dialect       string    // the dialect, as a value of --dialect, such as "runs@2026-04"; "" if unknown
	FailingChecks []string  // IDs of the checks that this conversation is known to fail
	Target        string    // base URL of the server that was recorded; "" if unknown
	Scenario      string    // name of the scenario that was played; "" if unknown
	Recorded      time.Time // time of the recording; zero if unknown

	// ExpectedFindings holds the checks that are known to fail at a certain event. Format does not
	// write it.
	ExpectedFindings []ExpectedFinding

	Trace spec.Trace // the recorded exchanges

	// Playback holds, for each exchange of Trace, the steps to send its response again.
	// The functions that read recordings set it; Format ignores it.
	Playback [][]PlaybackStep

	// Files holds, for each exchange, the path of the file from which it was read, if the
	// conversation was combined from several files. Otherwise Files is nil.
	Files []string

	// Notes describes what could not be read as intended, one line each, such as an entry
	// that was left out or a header that does not match the body.
	Notes []string

	// RedactHeaders names header fields whose values Format redacts, in addition to
	// credentials. Secrets holds values that Format redacts wherever they occur. Neither
	// is read from a file.
	RedactHeaders, Secrets []string
}

// An ExpectedFinding states that a check is known to fail at a certain event. In a transcript, it
// is the directive ":@ want".
type ExpectedFinding struct {
	Check    string       // ID of the check
	Exchange int          // index of the exchange, starting at 0
	Part     ExchangePart // the part of the exchange in which the event begins
	Offset   int          // for PartBody, the offset of the event in the body, in bytes
}

// An ExchangePart is the part of an exchange, such as the request, in which an event begins.
type ExchangePart int

// The parts of an exchange. The end of the body counts as an event at the end of PartBody.
const (
	PartRequest ExchangePart = iota
	PartHead                 // the head of the response
	PartBody                 // the body of the response
)

// A PlaybackStep is one step of sending a response again: either data to send in one piece or a
// directive to execute.
type PlaybackStep struct {
	Data []byte // the bytes to send; nil for a directive

	// Directive is "" for data. Otherwise it is the name of a directive that the package comment
	// describes: wait, or one that ends the body (end, cut, reset, left, left-after-end, open,
	// idle, endless, not-http).
	//
	// The Argument of wait is a duration in the format of time.ParseDuration. The Argument of end
	// is "". For the other directives, it is the reason for the end, or "" if the reason is
	// unknown.
	Directive, Argument string
}

// StripBasePath removes the path of base, a URL or a path, from the beginning of the request
// targets. Recordings contain complete paths, but dialects describe paths relative to their base.
// Targets that do not begin with the path are not changed. The result found reports whether at
// least one target began with the path.
func (t *Transcript) StripBasePath(base string) (found bool) {
	if u, err := url.Parse(base); err == nil {
		base = u.EscapedPath()
	}
	base = strings.TrimRight(base, "/")
	for i := range t.Trace.Exchanges {
		target := &t.Trace.Exchanges[i].Request.Target
		rest, ok := strings.CutPrefix(*target, base)
		if ok && *target != "" && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			*target = "/" + strings.TrimPrefix(rest, "/")
			found = true
		}
	}
	return found
}

// playbackSteps returns the steps that send the response r again, with the recorded timing and the
// recorded end. The steps share the memory of r.Body.
func playbackSteps(r spec.Response) []PlaybackStep {
	var all []PlaybackStep
	done, clock := 0, time.Duration(0)
	for _, read := range recordableArrivals(r) {
		all = append(all, PlaybackStep{Directive: "wait", Argument: (read.At - clock).String()},
			PlaybackStep{Data: r.Body[done:read.End:read.End]})
		done, clock = read.End, read.At
	}
	if done < len(r.Body) {
		all = append(all, PlaybackStep{Data: r.Body[done:len(r.Body):len(r.Body)]})
	}
	if word, why := endDirective(r.End); word != "end" {
		all = append(all, PlaybackStep{Directive: word, Argument: why})
	}
	return all
}

// recordableArrivals returns the arrivals of the response r as Format writes them: times are
// truncated to [TimeResolution] and never decrease, empty pieces are left out, and the last piece
// ends at the end of the body.
func recordableArrivals(r spec.Response) []spec.Arrival {
	var out []spec.Arrival
	end, clock := 0, time.Duration(0)
	for i, read := range r.Arrivals {
		read.End, read.At = min(read.End, len(r.Body)), read.At.Truncate(TimeResolution)
		if i == len(r.Arrivals)-1 {
			read.End = len(r.Body)
		}
		if read.End <= end {
			continue
		}
		end, clock = read.End, max(clock, read.At)
		out = append(out, spec.Arrival{End: end, At: clock})
	}
	return out
}

// A position is a line of a file, for errors.
type position struct {
	file string
	line int // from 1
}

// errorAt returns an error of the form "FILE:LINE: MESSAGE", where FILE and LINE are the fields of
// p. The message is formatted as by [fmt.Errorf], so an error that %w formats is wrapped.
func (p position) errorAt(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.file, p.line, fmt.Errorf(format, args...))
}
