package transcript

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// MaxFileBytes bounds what is read of one file, in bytes.
const MaxFileBytes = 1 << 30

// TimeResolution is how exactly times are written down. It is cut to, never rounded: so what came
// before a request comes before it still when times are added up.
const TimeResolution = time.Microsecond

// A Transcript is one recorded conversation.
type Transcript struct {
	Name    string // the file, or whatever the caller calls it
	Comment string // prose, without the settings

	Dialect       string    // as the command line spells it; "" if nobody said
	FailingChecks []string  // IDs of the checks this conversation is known to break
	Target        string    // base URL of the server that was recorded, if known
	Scenario      string    // what made it talk, if known
	Recorded      time.Time // when, if known

	Trace spec.Trace

	// Cues are, for each exchange of Trace, how its response was said. Parse and
	// Open fill them in; Format goes by Trace alone.
	Playback [][]PlaybackStep

	// Files are, for each exchange, the file it came from, where the conversation
	// was put together from several.
	Files []string

	// Notes say what could not be read as it was meant, one line each: an entry
	// that was left out, a header that no longer fits the body.
	Notes []string

	// Redact and Secrets keep Format from writing down what is nobody's business:
	// the values of these header fields, and these values wherever they occur.
	// Nothing reads them from a file.
	RedactHeaders, Secrets []string
}

// A PlaybackStep is bytes to say, or a direction to follow. What is to be said at once is
// one cue, however many lines it has.
type PlaybackStep struct {
	Data []byte

	// Do is "" or one of wait, cut, reset, left, idle, endless, not-http and end.
	// Arg is the duration of a wait, as time.ParseDuration reads it, and the reason
	// for an end, if one is given.
	Directive, Argument string
}

// StripBasePath takes the path of a base URL off each request's target, for a recording
// knows whole paths and a dialect only what follows the base. The base may be a
// URL or a path. Targets below another path stay as they are.
func (t *Transcript) StripBasePath(base string) {
	if u, err := url.Parse(base); err == nil {
		base = u.EscapedPath()
	}
	base = strings.TrimRight(base, "/")
	for i := range t.Trace.Exchanges {
		target := &t.Trace.Exchanges[i].Request.Target
		rest, ok := strings.CutPrefix(*target, base)
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
			*target = rest
		}
	}
}

// playbackSteps is how a response was said, as far as it was timed.
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

// recordableArrivals are a response's reads, fit to be written down: times in whole ticks
// that never go back, and ends that always go forward and reach the body's.
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

// A position is where in a file something is wrong.
type position struct {
	file string
	line int // from 1
}

func (p position) errorAt(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.file, p.line, fmt.Errorf(format, args...))
}
