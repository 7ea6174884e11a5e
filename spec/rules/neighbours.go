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
	Watch: lives(func(p *spec.Pass, a *lifetimes) {
		for _, l := range a.streams {
			if (l.ends > 0 || l.ask.PollLimit == "") && a.canceled(l) {
				p.Judge(l.closed, l.ends == 1, "the run was canceled, and its stream told %s of it; expected 1", counted(l.ends, "end"))
			}
		}
	}),
}

// A lived is a stream that told a run from its start to the server's own end.
type lived struct {
	ask         spec.Event
	opened      time.Duration
	ends        int        // how often it told the end of its run
	failed      bool       // one of them was a failure
	first, last spec.Event // deltas of messages
	closed      spec.Event
}

// lifetimes are the streams of a conversation, and what happened to its runs meanwhile.
type lifetimes struct {
	streams []lived
	ends    []spec.Event             // the request that heard of it, at the time when the run ended
	cancels []spec.Event             // requests that were accepted
	asked   map[string]time.Duration // run → when it was asked for
}

// canceled says that one of the cancels was for the run of the stream.
func (a *lifetimes) canceled(l lived) bool { return slices.ContainsFunc(a.cancels, l.concerns) }

// concerns says that a cancel was for the run of the stream.
func (l lived) concerns(cancel spec.Event) bool {
	if cancel.Run != "" {
		return run(cancel) == run(l.ask)
	}
	return cancel.Thread != "" && cancel.Thread == l.ask.Thread && cancel.Exchange > l.ask.Exchange && cancel.At <= l.closed.At
}

// during says that something happened while the stream was open, or so much later.
func (l lived) during(at, later time.Duration) bool { return l.opened < at && at < l.closed.At+later }

// beside says that two requests are about two runs of one conversation.
func beside(a, b spec.Event) bool {
	return a.Thread != "" && a.Thread == b.Thread && a.Run != "" && b.Run != "" && a.Run != b.Run
}

// lives lets a rule judge, at the end of a conversation, what became of its streams.
func lives(judge func(p *spec.Pass, a *lifetimes)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		all := &lifetimes{asked: map[string]time.Duration{}}
		note := tellings(all.live)(p)
		var ask spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				if _, again := all.asked[run(e)]; e.Text != "" && e.Run != "" && !again {
					all.asked[run(e)] = e.At
				}
				ask = e
			case e.Kind == spec.CancelAccepted:
				all.cancels = append(all.cancels, ask)
			case e.Kind == "":
				judge(p, all)
			}
			note(e)
		}
	}
}

// live notes one telling of a run.
func (a *lifetimes) live(_ *spec.Pass, ask spec.Event) func(spec.Event) {
	l := lived{ask: ask}
	return func(e spec.Event) {
		if l.opened == 0 {
			l.opened = e.At
		}
		switch {
		case terminal(e):
			l.ends++
			l.failed = l.failed || e.Kind == spec.RunError
			end := ask
			end.At = e.At
			a.ends = append(a.ends, end)
		case e.Kind == spec.MessageDelta:
			if l.last = e; l.first.Raw == nil {
				l.first = e
			}
		case whole(e):
			l.closed = e
			a.streams = append(a.streams, l)
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
	Watch: lives(func(p *spec.Pass, a *lifetimes) {
		for _, l := range a.streams {
			later := time.Duration(0)
			if l.ends == 0 { // who hears two streams may hear of the cause after the effect
				later = time.Second
			}
			i := slices.IndexFunc(a.ends, func(e spec.Event) bool { return beside(e, l.ask) && l.during(e.At, later) })
			if i >= 0 && (l.ends > 0 || l.ask.PollLimit == "") {
				p.Judge(l.closed, l.ends > 0, "the stream ended without the end of its run %q, after run %q of its conversation had ended", l.ask.Run, a.ends[i].Run)
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
	Watch: lives(func(p *spec.Pass, a *lifetimes) {
		for _, l := range a.streams {
			least, takes := duration(l.ask)
			begun, known := a.asked[run(l.ask)]
			i := slices.IndexFunc(a.cancels, func(e spec.Event) bool { return beside(e, l.ask) && l.during(e.At, 0) && e.At-begun < least/2 })
			if takes && known && i >= 0 && !a.canceled(l) {
				took := l.closed.At - begun
				p.Judge(l.closed, took >= least*3/4, "run %q was to take %v and was over after %v: run %q of its conversation had been canceled",
					l.ask.Run, least, took.Round(time.Millisecond), a.cancels[i].Run)
			}
		}
	}),
}
