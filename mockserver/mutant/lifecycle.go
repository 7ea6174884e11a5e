package mutant

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// What a run has to be, requirement by requirement, as the catalogues call it.
var (
	lawsFirst     = []string{"agentscope-java.resp.first"}
	lawsOpensRun  = []string{"agentscope-java.resp.created", "agentscope-java.resp.in-progress", "agentscope.response-first"}
	lawsEnds      = []string{"agentscope-java.resp.last", "agentscope.response-terminal", "runs.stream.no-early-end"}
	lawsEndsOnce  = []string{"agentscope-java.resp.one-terminal", "agentscope.response-terminal", "runs.stream.one-terminal"}
	lawsEndIsLast = []string{"agentscope-java.resp.last", "agentscope.response-last", "runs.stream.last-terminal"}
	lawsCloses    = []string{"agentscope-java.http.closes", "agentscope.response-last", "runs.stream.end-finished", "runs.stream.end-error"}
	lawsRunID     = []string{"agentscope-java.resp.id", "agentscope.response-id-stable"}
	lawsForward   = []string{"agentscope-java.status.order", "agentscope.status-forward"}
	lawsFailed    = []string{"agentscope-java.err.no-completed", "agentscope.status-forward"}
	lawsListed    = []string{"agentscope-java.resp.output", "agentscope.output-complete"}
	lawsListedSo  = []string{"agentscope-java.resp.output", "agentscope.output-matches"}
	lawsOwnRun    = []string{"runs.stream.only-this-run", "runs.stream.run-id-equal", "runs.resume.filter"}
)

// What rightly turns red besides where the end of a run is not told: nobody is told of a
// failure or a cancel either, and of a run that was stopped nobody knows why it said no more.
var noEnd = []string{"script.error", "script.error-mid", "error.visible", "cancel.run-ends", "wire.flushes", "resume.ends"}

var lifecycleMutants = []*Mutant{
	{
		Name: "opening-untold", Doc: "the event that opens the run is not told",
		Fault:  "first-missing",
		Breaks: lawsOpensRun,
		Kills:  map[string]string{"run.opens-first": "message.delta message.end run.end run.error run.progress"},
		Also:   []string{"run.comes-first", "run.progress-precedes-content"}, // where nothing else is told of the run before its end
	}, {
		Name: "opening-late", Doc: "something is told before the run is opened",
		Fault:  "start-late",
		Breaks: slices.Concat(lawsOpensRun, lawsFirst),
		Kills:  map[string]string{"run.opens-first": "message.delta message.end message.start reasoning.start", "run.comes-first": "message.delta message.end message.start"},
		Also:   []string{"run.progress-precedes-content"}, // nor is the run under way when that is told
	}, {
		Name: "run-untold", Doc: "nothing is told about the run but its end",
		Play:   dropping(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && !terminal(e) }),
		Breaks: slices.Concat(lawsOpensRun, lawsFirst),
		Kills:  map[string]string{"run.opens-first": "*", "run.comes-first": "message.delta message.end message.start"},
		Also:   []string{"run.progress-precedes-content", "sequence.never-falls"}, // nor is the run ever under way; and a number is used twice where there is one less
	}, {
		Name: "not-under-way", Doc: "the run is never said to be in progress",
		Fault:  "progress-missing",
		Breaks: []string{"agentscope.response-in-progress"},
		Kills:  map[string]string{"run.progress-precedes-content": "message.start"},
	}, {
		Name: "under-way-late", Doc: "the run is said to be in progress when something of it was told",
		Play:   swapping(fault.Of(spec.RunProgress)),
		Breaks: []string{"agentscope.response-in-progress"},
		Kills:  map[string]string{"run.progress-precedes-content": "message.start reasoning.start"},
	}, {
		Name: "end-untold", Doc: "the run's end, or its failure, is never told",
		Fault:  "end-missing",
		Breaks: lawsEnds,
		Kills:  map[string]string{"run.ends": "http.close"},
		Also:   noEnd,
	}, {
		Name: "stops-after-the-first-word", Doc: "the stream ends, as if it were whole, after the first piece of a text",
		Play:   stoppingAfter(fault.Of(spec.MessageDelta)),
		Breaks: lawsEnds,
		Kills:  map[string]string{"run.ends": "http.close"},
		Also:   slices.Concat(noEnd, []string{"script.*", "history.*"}), // and the rest of the answer is missing
	}, {
		Name: "end-twice", Doc: "the run's end is told twice",
		Fault:  "double-end",
		Breaks: lawsEndsOnce,
		Kills:  map[string]string{"run.ends-once": "run.end run.error"},
		Also:   []string{"cancel.run-ends"}, // so is that of a run that was canceled
	}, {
		Name: "fails-after-its-end", Doc: "the run ends well, and then it fails",
		Fault:  "error-after-end",
		Breaks: slices.Concat(lawsEndsOnce, lawsForward),
		Kills:  map[string]string{"run.ends-once": "run.error", "run.status-moves-forward": "run.error"},
		Also:   []string{"script.*"}, // who was asked to say something has failed
	}, {
		Name: "ends-after-its-failure", Doc: "the run fails, and then it ends well",
		Fault:  "end-after-error",
		Breaks: slices.Concat(lawsFailed, lawsEndsOnce),
		Kills:  map[string]string{"run.stays-failed": "run.end", "run.ends-once": "run.end"},
		// Who was asked to say something has failed; and what a failure may leave open a good end may not.
		Also: []string{"script.*", "message.all-end", "content.all-end", "run.status-moves-forward", "cancel.run-ends"},
	}, {
		Name: "failure-then-end", Doc: "a run that fails is said to have ended well after that",
		Play: adding(fault.Of(spec.RunError), func(e *spec.Event) []spec.Event {
			return []spec.Event{changed(e, func(o *spec.Event) { o.Kind, o.Text, o.Code, o.Completed = spec.RunEnd, "", "", e.Created })}
		}),
		Breaks: slices.Concat(lawsFailed, lawsEndsOnce),
		Kills:  map[string]string{"run.stays-failed": "run.end", "run.ends-once": "run.end"},
		// What a failure may leave open a good end may not.
		Also: []string{"message.all-end", "content.all-end", "run.status-moves-forward", "cancel.run-ends"},
	}, {
		Name: "word-after-the-end", Doc: "after the run's end a piece of its text is told again",
		Fault:  "event-after-end",
		Breaks: lawsEndIsLast,
		Kills:  map[string]string{"run.end-is-last": "message.delta message.end run.progress run.start"},
		// What is told again is told for something that has ended.
		Also: []string{"script.*", "content.ends-once", "message.closed", "message.ids-unique", "run.status-moves-forward", "resume.ends"},
	}, {
		Name: "message-after-the-end", Doc: "after the run's end a message is told that it never had",
		Play:   adding(fault.Of(spec.RunEnd), another),
		Breaks: lawsEndIsLast,
		Kills:  map[string]string{"run.end-is-last": "message.delta"},
		Also:   []string{"script.*", "resume.ends"}, // it was not asked to say that, and who takes the stream up there hears no end
	}, {
		Name: "lingers", Doc: "the body is not ended when the run has",
		Fault:  "linger; for=30s; streams=0",
		Breaks: lawsCloses,
		Kills:  map[string]string{"run.closes-after-end": "run.end run.error"},
		Also:   []string{"wire.body-is-whole"}, // it never ends
	}, {
		Name: "lingers-when-failed", Doc: "the body is not ended when the run has failed",
		Play:   lingering,
		Breaks: lawsCloses,
		Kills:  map[string]string{"run.closes-after-end": "run.error"},
		Also:   []string{"wire.body-is-whole"}, // it never ends
	}, {
		Name: "idle-limit-ignored", Doc: "a client's limit on silence is not heeded",
		Twist:  limited(func(string) string { return "" }),
		Breaks: []string{"runs.stream.idle-end"},
		Kills:  map[string]string{"run.idle-limit-ends": "http.close"},
	}, {
		Name: "idle-limit-misread", Doc: "a limit of 1 is read as 21, one of 2 as 22",
		Twist:  limited(func(limit string) string { return "2" + limit }),
		Breaks: []string{"runs.stream.idle-end"},
		Kills:  map[string]string{"run.idle-limit-ends": "http.close"},
	}, {
		Name: "other-run", Doc: "an event about the run names another run",
		Fault:  "wrong-run; event=1",
		Breaks: slices.Concat(lawsRunID, lawsOwnRun, lawsEchoRun),
		Kills:  map[string]string{"run.id-is-stable": "run.end run.error run.progress run.start", "run.keeps-to-itself": "run.end run.error", "echo.run": "run.end run.error run.progress run.start"},
		Also:   []string{"sequence.never-falls"}, // the opening that is told again under its number is not the same any more
	}, {
		Name: "end-of-another-run", Doc: "the end of the run names another run",
		Play:   everyEvent(fault.Of(spec.RunEnd, spec.RunError), func(e *spec.Event) { e.Run = "another-run" }),
		Breaks: slices.Concat(lawsRunID, lawsOwnRun, lawsEchoRun),
		Kills:  map[string]string{"run.id-is-stable": "run.end run.error", "run.keeps-to-itself": "run.end run.error", "echo.run": "run.end run.error"},
	}, {
		Name: "opened-twice", Doc: "the run is opened again after something was told of it",
		Fault:  "double-start",
		Breaks: lawsForward,
		Kills:  map[string]string{"run.status-moves-forward": "run.start"},
		Also:   []string{"run.progress-precedes-content"}, // what was said to be under way is not any more
	}, {
		Name: "created-later", Doc: "the time at which the run began is another at its end",
		Fault:  "created-changes",
		Breaks: []string{"agentscope-java.resp.created-at"},
		Kills:  map[string]string{"run.created-is-stable": "run.end run.error"},
	}, {
		Name: "created-anew", Doc: "each event of the run says that it began earlier than the one before said",
		Play:   ageing(),
		Breaks: []string{"agentscope-java.resp.created-at"},
		Kills:  map[string]string{"run.created-is-stable": "run.end run.error run.progress run.start"},
		Also:   []string{"sequence.never-falls"}, // the opening that is told again under its number is not the same any more
	}, {
		Name: "ended-before-it-began", Doc: "the time at which the run ended lies before the one at which it began",
		Fault:  "completed-early",
		Breaks: []string{"agentscope-java.resp.completed-at", "agentscope.completed-at"},
		Kills:  map[string]string{"run.completed-after-created": "run.end"},
	}, {
		Name: "ended-in-1970", Doc: "the time at which the run ended is the first second of 1970",
		Play:   everyEvent(fault.Of(spec.RunEnd), func(e *spec.Event) { e.Completed = "1" }),
		Breaks: []string{"agentscope-java.resp.completed-at", "agentscope.completed-at"},
		Kills:  map[string]string{"run.completed-after-created": "run.end"},
		Also:   []string{"wire.matches-schema"}, // a time in milliseconds is told from one in seconds by its size
	}, {
		Name: "list-lacks-the-last", Doc: "the end of the run does not list its last message",
		Fault:  "summary-short",
		Breaks: lawsListed,
		Kills:  map[string]string{"run.output-is-complete": "run.end"},
	}, {
		Name: "list-turned-round", Doc: "the end of the run lists its messages from the last to the first",
		Play: everyEvent(fault.Of(spec.RunEnd), func(e *spec.Event) {
			e.Parts = slices.Clone(e.Parts)
			slices.Reverse(e.Parts)
		}),
		Breaks: lawsListed,
		Kills:  map[string]string{"run.output-is-complete": "run.end"},
	}, {
		Name: "list-says-otherwise", Doc: "the end of the run lists messages with other words than were told",
		Fault:  "wrong-summary",
		Breaks: lawsListedSo,
		Kills:  map[string]string{"run.output-matches": "run.end"},
	}, {
		Name: "list-in-other-roles", Doc: "the end of the run lists messages as the user's",
		Play: everyEvent(fault.Of(spec.RunEnd), func(e *spec.Event) {
			e.Parts = slices.Clone(e.Parts)
			for i := range e.Parts {
				e.Parts[i].Role = "user"
			}
		}),
		Breaks: lawsListedSo,
		Kills:  map[string]string{"run.output-matches": "run.end"},
	}, {
		Name: "word-after-the-sentinel", Doc: "after the sentinel a piece of the text is told again",
		Fault:  "event-after-end",
		Breaks: []string{"agkit.done.last"},
		Kills:  map[string]string{"done.is-last": "message.delta"},
		Also:   []string{"script.*", "tool.starts-first", "tool.all-end"}, // what is told again was asked for once
	}, {
		Name: "sentinel-twice", Doc: "the sentinel comes twice",
		Fault:  "sentinel-twice",
		Breaks: []string{"agkit.done.last"},
		Kills:  map[string]string{"done.is-last": "done"},
	},
}

// another is a message that nobody asked for.
func another(e *spec.Event) []spec.Event {
	m := spec.Event{Thread: e.Thread, Run: e.Run, Message: e.Run + "-another"}
	return []spec.Event{
		changed(&m, func(o *spec.Event) { o.Kind, o.Role = spec.MessageStart, "assistant" }),
		changed(&m, func(o *spec.Event) { o.Kind, o.Text = spec.MessageDelta, "and another thing" }),
	}
}

// stoppingAfter tells nothing after the first event that fits.
func stoppingAfter(fits func(*spec.Event) bool) play {
	return func(fault.Args) fault.Effect {
		over := false
		return fault.Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if !over {
				over = fits(e)
				tell(e)
			}
		}}
	}
}

// ageing lets a run have begun earlier with each event.
func ageing() play {
	return func(fault.Args) fault.Effect {
		n := int64(0)
		return fault.Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			other := *e
			if at, err := strconv.ParseInt(e.Created, 10, 64); err == nil {
				n++
				other.Created = strconv.FormatInt(at-10*n, 10)
			}
			tell(&other)
		}}
	}
}

// lingering leaves a body open whose last frame says what a run was to fail with.
func lingering(fault.Args) fault.Effect {
	return fault.Effect{Body: func(w fault.Writer) fault.Body {
		failed := false
		return &tail{w: w, change: func(frame []byte) []byte {
			failed = bytes.Contains(frame, []byte("scripted failure"))
			return frame
		}, after: func() error {
			if !failed {
				return nil
			}
			return w.Sleep(30 * time.Second)
		}}
	}}
}

// limited serves every stream with another limit to its silence than was asked for.
func limited(other func(limit string) string) twist {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		if !v.says("listen") || v.event.PollLimit == "" {
			next.ServeHTTP(w, v.http)
			return
		}
		bare := v.event
		bare.PollLimit = other(bare.PollLimit)
		asked, err := v.dialect.BuildRequest("listen", bare)
		if err != nil {
			asked = v.request
		}
		next.ServeHTTP(w, v.as(asked))
	})
}
