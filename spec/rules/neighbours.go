package rules

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var neighbours = []*spec.Check{OutlivesOthers, CancelEndsRun, CancelSparesOthers}

// CancelEndsRun judges what becomes of a canceled run.
var CancelEndsRun = &spec.Check{
	ID: "cancel.run-ends",
	Doc: `after a cancel that was accepted the stream still tells one end of the run

A stream that was asked to end after some silence may end without. A cancel that names
no run is for the one that its conversation is busy with.`,
	Needs: []spec.Kind{spec.CancelAccepted, spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		var fates []fate
		var cancels []spec.Event
		var ask spec.Event
		ends, streams := 0, false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask, ends, streams = e, 0, false
			case e.Kind == spec.Answered:
				streams = e.HTTP == 200 && e.Streams() && ask.Whole() && ask.Cursor == ""
			case e.Kind == spec.CancelAccepted:
				cancels = append(cancels, ask)
			case terminal(e):
				ends++
			case whole(e) && streams && (ends > 0 || ask.Limit == ""):
				fates = append(fates, fate{ask, ends, e})
			case e.Kind == "":
				for _, f := range fates {
					if slices.ContainsFunc(cancels, f.concerns) {
						p.Judge(f.closed, f.ends == 1, "the run was canceled, and its stream told %d ends", f.ends)
					}
				}
			}
		}
	},
}

// A fate is how a stream ended that told a run from its start.
type fate struct {
	ask    spec.Event
	ends   int
	closed spec.Event
}

// concerns says that a cancel was for the run of the stream.
func (f fate) concerns(cancel spec.Event) bool {
	if cancel.Run != "" {
		return run(cancel) == run(f.ask)
	}
	return cancel.Thread != "" && cancel.Thread == f.ask.Thread && cancel.Exchange > f.ask.Exchange && cancel.At <= f.closed.At
}

// A lived is the stream of a run as others of its conversation see it: when it was open,
// and whether it told the end of its run.
type lived struct {
	ask    spec.Event
	opened time.Duration
	ended  bool
	closed spec.Event
}

// during says that something happened while the stream was open, or so much later.
func (l lived) during(at, later time.Duration) bool { return l.opened < at && at < l.closed.At+later }

// beside says that two requests are about two runs of one conversation.
func beside(a, b spec.Event) bool {
	return a.Thread != "" && a.Thread == b.Thread && a.Run != "" && b.Run != "" && a.Run != b.Run
}

// lives lets a rule compare, at the end of a conversation, the streams that were told from
// their start to the server's own end with what happened to other runs: what ended, and
// which were canceled (the requests that were accepted). asked is when each run was asked
// for.
func lives(judge func(p *spec.Pass, streams []lived, ends, cancels []spec.Event, asked map[string]time.Duration)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		var streams []lived
		var ends, cancels []spec.Event
		asked := map[string]time.Duration{}
		note := tellings(func(_ *spec.Pass, ask spec.Event) func(spec.Event) {
			l := lived{ask: ask}
			return func(e spec.Event) {
				if l.opened == 0 {
					l.opened = e.At
				}
				switch {
				case terminal(e):
					l.ended = true
					own := ask
					own.At = e.At
					ends = append(ends, own)
				case whole(e):
					l.closed = e
					streams = append(streams, l)
				}
			}
		})(p)
		var ask spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				if ask = e; e.Text != "" && e.Run != "" {
					if _, again := asked[run(e)]; !again {
						asked[run(e)] = e.At
					}
				}
			case e.Kind == spec.CancelAccepted:
				cancels = append(cancels, ask)
			case e.Kind == "":
				judge(p, streams, ends, cancels, asked)
				return
			}
			note(e)
		}
	}
}

// duration is how long a scripted target was asked to take for a run, at least.
func duration(ask spec.Event) (time.Duration, bool) {
	if words, ok := strings.CutPrefix(ask.Text, "conformance:idle "); ok {
		ms, err := strconv.Atoi(words)
		return time.Duration(ms) * time.Millisecond, ask.Scripted && err == nil
	}
	return slowness(ask)
}

// OutlivesOthers judges streams beside which another run ended.
var OutlivesOthers = &spec.Check{
	ID: "run.outlives-others",
	Doc: `the end of another run does not end the stream of this one

Judged where the end of another run of the conversation was heard while the stream was
open. A stream that was asked to end after some silence may end without its run.`,
	Needs: []spec.Kind{spec.RunEnd},
	Watch: lives(func(p *spec.Pass, streams []lived, ends, _ []spec.Event, _ map[string]time.Duration) {
		for _, l := range streams {
			later := time.Duration(0)
			if !l.ended { // who hears two streams may hear of the cause after the effect
				later = time.Second
			}
			i := slices.IndexFunc(ends, func(e spec.Event) bool { return beside(e, l.ask) && l.during(e.At, later) })
			if i >= 0 && (l.ended || l.ask.Limit == "") {
				p.Judge(l.closed, l.ended, "the stream ended without the end of its run %q, after run %q of its conversation had ended", l.ask.Run, ends[i].Run)
			}
		}
	}),
}

// CancelSparesOthers judges runs beside which another one was canceled.
var CancelSparesOthers = &spec.Check{
	ID: "cancel.spares-others",
	Doc: `a cancel ends no other run than the one that it names

Judged where a scripted target was asked to take some time over a run (slow, idle), and
another one of the conversation was canceled before half of that was over: the run takes
its time all the same. A quarter of it is left to the clocks.`,
	Needs: []spec.Kind{spec.CancelAccepted, spec.RunEnd},
	Watch: lives(func(p *spec.Pass, streams []lived, _, cancels []spec.Event, asked map[string]time.Duration) {
		for _, l := range streams {
			least, takes := duration(l.ask)
			begun, known := asked[run(l.ask)]
			own := func(e spec.Event) bool { return run(e) == run(l.ask) }
			i := slices.IndexFunc(cancels, func(e spec.Event) bool { return beside(e, l.ask) && l.during(e.At, 0) && e.At-begun < least/2 })
			if takes && known && i >= 0 && !slices.ContainsFunc(cancels, own) {
				took := l.closed.At - begun
				p.Judge(l.closed, took >= least*3/4, "run %q was to take %v and was over after %v: run %q of its conversation had been canceled",
					l.ask.Run, least, took.Round(time.Millisecond), cancels[i].Run)
			}
		}
	}),
}
