package mutation

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// alsoWithoutEnd lists the ids, for [Mutant.AlsoFails], of the checks that may fail if the terminal
// event of a run is missing. Some of them judge failures and cancellations, which are reported only
// by that event.
var alsoWithoutEnd = []string{"script.error", "script.error-mid", "error.visible", "cancel.run-ends", "wire.flushes", "wire.keeps-alive", "resume.ends"}

// alsoMuted lists globs, for [Mutant.AlsoFails], that match the ids of the checks that may fail if
// the server sends no more frames after some event of a stream. It does not repeat the checks in
// alsoWithoutEnd, which may fail, too, because such a stream lacks its terminal event.
var alsoMuted = []string{"script.*", "history.*", "run.outlives-others", "cancel.spares-others", "wire.ends"}

// lifecycleMutants are servers that violate the rules about the start, progress and end of a run.
var lifecycleMutants = []*Mutant{
	{
		Name: "run-start-missing", Doc: "omits the start event of the run",
		Fault: "first-missing",
		KilledBy: map[string]string{
			"run.opens-first": "message.delta message.end run.end run.error run.progress", "run.opens-or-fails": "message.start run.end",
		},
		AlsoFails: []string{"run.comes-first", "run.progress-precedes-content"}, // if no other event of the run precedes its end
	}, {
		Name: "run-start-late", Doc: "sends an event before the start event of the run",
		Fault:     "start-late",
		KilledBy:  map[string]string{"run.opens-first": "message.delta message.end message.start reasoning.start", "run.comes-first": "message.delta message.end message.start", "run.opens-or-fails": "message.start reasoning.start"},
		AlsoFails: []string{"run.progress-precedes-content"}, // the progress event is missing before the content
	}, {
		Name: "run-terminal-event-only", Doc: "sends no events about the run except the terminal event",
		NewEffect: dropEvents(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && !isTerminal(e) }),
		KilledBy:  map[string]string{"run.opens-first": "*", "run.opens-or-fails": "*", "run.comes-first": "message.delta message.end message.start"},
		AlsoFails: []string{"run.progress-precedes-content", "sequence.never-falls"}, // the progress event is missing; with one event less, a sequence number is used twice
	}, {
		Name: "run-progress-missing", Doc: "never reports the run as in progress",
		Fault:    "progress-missing",
		KilledBy: map[string]string{"run.progress-precedes-content": "message.start"},
	}, {
		Name: "run-progress-late", Doc: "reports the run as in progress only after its first content",
		NewEffect: swapEvents(fault.OfKind(spec.RunProgress)),
		KilledBy:  map[string]string{"run.progress-precedes-content": "message.start reasoning.start"},
	}, {
		Name: "terminal-event-missing", Doc: "omits the terminal event of the run",
		Fault:     "end-missing",
		KilledBy:  map[string]string{"run.ends": "http.close"},
		AlsoFails: append([]string{"script.interrupt", "script.slow"}, alsoWithoutEnd...), // the terminal event may carry interrupts, or that the run was cancelled
	}, {
		Name: "stream-ends-after-first-delta", Doc: "omits all events after the first text delta and ends the stream normally",
		NewEffect: stopAfter(fault.OfKind(spec.MessageDelta)),
		KilledBy:  map[string]string{"run.ends": "http.close"},
		// The rest of the response is missing, too, and the body ends only when the run does, after
		// a silence that may be longer than a client waits.
		AlsoFails: slices.Concat(alsoWithoutEnd, alsoMuted),
	}, {
		Name: "terminal-event-twice", Doc: "sends the terminal event of the run twice",
		Fault:     "double-end",
		KilledBy:  map[string]string{"run.ends-once": "run.end run.error", "run.ends-in-turn": "run.end run.error"},
		AlsoFails: []string{"cancel.run-ends", "script.interrupt"}, // the terminal event of a cancelled run is affected, too; it may have interrupts
	}, {
		Name: "run-fails-after-completion", Doc: "reports the run as completed and then as failed",
		Fault:     "error-after-end",
		KilledBy:  map[string]string{"run.ends-once": "run.error", "run.status-moves-forward": "run.error"},
		AlsoFails: []string{"script.*", "cancel.run-ends"}, // the run fails although the prompt asked for an answer; a cancelled run has two ends
	}, {
		Name: "run-fails-before-completion", Doc: "reports every run as failed and then as completed",
		Fault:    "end-after-error",
		KilledBy: map[string]string{"run.stays-failed": "run.end", "run.ends-once": "run.end", "run.ends-in-turn": "run.end"},
		// The prompt asked for an answer, and messages that a failure may leave open must be closed
		// at a good end.
		AlsoFails: []string{
			"script.*", "message.all-end", "content.all-end", "run.status-moves-forward", "cancel.run-ends", "result.continues",
			"resume.continues",
			"tool.client-call-run-succeeds",
		},
	}, {
		Name: "failed-run-completes-afterwards", Doc: "reports a failed run as completed after its failure",
		NewEffect: insertAfter(fault.OfKind(spec.RunError), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{withChange(e, func(o *spec.Event) {
				o.Kind, o.Text, o.Code, o.Completed = spec.RunEnd, "", "", e.Created
			})}
		}),
		KilledBy: map[string]string{"run.stays-failed": "run.end", "run.ends-once": "run.end", "run.ends-in-turn": "run.end"},
		// Messages that a failure may leave open must be closed at a good end.
		AlsoFails: []string{"message.all-end", "content.all-end", "run.status-moves-forward", "cancel.run-ends"},
	}, {
		Name: "delta-after-terminal-event", Doc: "sends a delta again after the terminal event",
		Fault: "event-after-end",
		KilledBy: map[string]string{
			"run.end-is-last": "message.delta message.end run.progress run.start", "run.ends-in-turn": "message.delta tool.end",
		},
		// The repeated delta belongs to a message that has ended, or the end to a call that has;
		// a start has no end.
		AlsoFails: []string{"script.*", "tool.starts-first", "run.ends", "content.ends-once", "message.closed", "message.ids-unique", "run.status-moves-forward", "resume.ends"},
	}, {
		Name: "message-after-terminal-event", Doc: "sends a new message after the terminal event",
		NewEffect: insertAfter(fault.OfKind(spec.RunEnd), extraMessage),
		KilledBy:  map[string]string{"run.end-is-last": "message.start message.progress message.delta", "run.ends-in-turn": "message.start"},
		AlsoFails: []string{"script.*", "resume.ends"}, // the prompt did not ask for that text, and a stream resumed there has no terminal event
	}, {
		Name: "body-unended-after-run", Doc: "does not end the body after the run has ended",
		Fault:     "linger; for=30s; streams=0",
		KilledBy:  map[string]string{"run.closes-after-end": "run.end run.error"},
		AlsoFails: []string{"wire.body-is-whole", "wire.ends"}, // the body never ends
	}, {
		Name: "body-unended-after-failure", Doc: "does not end the body after the run has failed",
		NewEffect: replaceLast(func(w fault.StreamSink, last []byte) error {
			if err := sendNow(w, last); err != nil || !bytes.Contains(last, []byte("failure")) {
				return err
			}
			return w.Sleep(30 * time.Second)
		}),
		KilledBy: map[string]string{"run.closes-after-end": "run.error"},
		// The body never ends, and is not kept alive until a client's limit ends it. In order to
		// know the last event, the mutant sends each event with the next one.
		AlsoFails: []string{"wire.body-is-whole", "wire.ends", "wire.keeps-alive", "wire.flushes"},
	}, {
		Name: "idle-limit-ignored", Doc: "ignores the idle limit that a client requests",
		Middleware: changeIdleLimit(func(string) string { return "" }),
		KilledBy:   map[string]string{"run.idle-limit-ends": "message.delta message.start run.end"},
	}, {
		Name: "idle-limit-misread", Doc: "reads an idle limit of 1 as 61, and one of 2 as 62",
		Middleware: changeIdleLimit(func(limit string) string {
			if len(limit) > 1 { // the ends of the range stay within it
				return limit
			}
			return "6" + limit
		}),
		KilledBy: map[string]string{"run.idle-limit-ends": "message.delta message.start run.end"},
	}, {
		Name: "idle-limit-cancels-run", Doc: "cancels the run when a stream with an idle limit ends",
		Middleware: interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			next.ServeHTTP(w, v.httpRequest)
			if v.isOperation("listen") && v.event.PollLimit != "" {
				if cancel, err := v.dialect.BuildRequest("cancel", v.event); err == nil {
					serveEdited(w, v.withRequest(cancel), next, streamEdit{}) // the reply is not sent
				}
			}
		}),
		Needs:     []spec.Kind{"slot.limit"},
		KilledBy:  map[string]string{"script.idle": "run.error"},
		AlsoFails: []string{"cancel.spares-others"}, // the run ends when another run of the thread is canceled
	}, {
		Name: "idle-limit-cumulative", Doc: "applies the idle limit of a stream to the sum of its idle periods",
		Middleware: limitTotalSilence,
		KilledBy:   map[string]string{"run.idle-limit-ends": "http.close"},
	}, {
		Name: "events-stop-after-pause", Doc: "sends no more events of a run after a pause of two seconds",
		Middleware: muteAfterSilence(2*time.Second, func(spec.Kind) bool { return true }),
		KilledBy:   map[string]string{"run.ends": "http.close", "script.idle": "http.close"},
		AlsoFails:  slices.Concat(alsoWithoutEnd, alsoMuted),
	}, {
		Name: "events-stop-between-deltas", Doc: "sends no more events of a run when one second has passed after a text delta",
		Middleware: muteAfterSilence(time.Second, func(k spec.Kind) bool { return k == spec.MessageDelta }),
		KilledBy:   map[string]string{"run.ends": "http.close", "wire.ends": "http.close", "script.slow": "message.delta"},
		AlsoFails:  slices.Concat(alsoWithoutEnd, alsoMuted),
	}, {
		Name: "run-event-wrong-run-id", Doc: "names another run in an event about the run",
		Fault:     "wrong-run; event=1",
		KilledBy:  map[string]string{"run.id-is-stable": "run.end run.error run.progress run.start", "run.keeps-to-itself": "run.end run.error", "echo.run": "run.end run.error run.progress"},
		AlsoFails: []string{"sequence.never-falls", "resume.keeps-to-run"}, // a resumed stream has the wrong id, too, in an event whose number the original had
	}, {
		Name: "terminal-event-wrong-run-id", Doc: "names another run in the terminal event",
		NewEffect: changeEvents(fault.OfKind(spec.RunEnd, spec.RunError), func(e *spec.Event) { e.Run = "another-run" }),
		KilledBy:  map[string]string{"run.id-is-stable": "run.end run.error", "run.keeps-to-itself": "run.end run.error", "echo.run": "run.end run.error"},
		AlsoFails: []string{"resume.keeps-to-run"}, // the end of a resumed stream has the wrong id, too
	}, {
		Name: "run-start-after-content", Doc: "sends the start event of the run again after its first content",
		Fault:     "double-start",
		KilledBy:  map[string]string{"run.status-moves-forward": "run.start", "run.starts-in-turn": "run.start"},
		AlsoFails: []string{"run.progress-precedes-content"}, // a run reported as in progress is reported as created afterwards
	}, {
		Name: "run-created-time-changes", Doc: "reports another creation time of the run in the terminal event",
		Fault:    "created-changes",
		KilledBy: map[string]string{"run.created-is-stable": "run.end run.error"},
	}, {
		Name: "run-created-time-decreases", Doc: "reports an earlier creation time in each event of the run than in the one before",
		NewEffect: shiftCreated,
		KilledBy:  map[string]string{"run.created-is-stable": "run.end run.error run.progress run.start"},
		AlsoFails: []string{"sequence.never-falls", "run.times-span-the-run"}, // the replayed opening event differs from the original one with the same number; the times do not fit a silence
	}, {
		Name: "run-completed-before-created", Doc: "reports a completion time of the run that is before its creation time",
		Fault:    "completed-early",
		KilledBy: map[string]string{"run.completed-after-created": "run.end"},
		// The times do not fit a silence either.
		AlsoFails: []string{"run.times-span-the-run"},
	}, {
		Name: "run-completed-in-1970", Doc: "reports the first second of 1970 as the completion time of the run",
		NewEffect: changeEvents(fault.OfKind(spec.RunEnd), func(e *spec.Event) { e.Completed = "1" }),
		KilledBy:  map[string]string{"run.completed-after-created": "run.end"},
		AlsoFails: []string{"wire.matches-schema"}, // the schema distinguishes milliseconds from seconds by the magnitude of the value
	}, {
		Name: "run-output-lacks-last", Doc: "omits the last message of the run from the list in the terminal event",
		Fault:    "summary-short",
		KilledBy: map[string]string{"run.output-is-complete": "run.end"},
	}, {
		Name: "run-output-reversed", Doc: "lists the messages of the run in reverse order in the terminal event",
		NewEffect: changeEvents(fault.OfKind(spec.RunEnd), func(e *spec.Event) {
			e.Parts = slices.Clone(e.Parts)
			slices.Reverse(e.Parts)
		}),
		KilledBy: map[string]string{"run.output-is-complete": "run.end"},
	}, {
		Name: "run-output-other-texts", Doc: "lists messages in the terminal event with texts that differ from the streamed texts",
		Fault:    "wrong-summary",
		KilledBy: map[string]string{"run.output-matches": "run.end"},
	}, {
		Name: "run-output-as-user", Doc: "lists messages in the terminal event with the role user",
		NewEffect: changeEvents(fault.OfKind(spec.RunEnd), func(e *spec.Event) {
			e.Parts = slices.Clone(e.Parts)
			for i := range e.Parts {
				e.Parts[i].Role = "user"
			}
		}),
		KilledBy: map[string]string{"run.output-matches": "run.end"},
	}, {
		Name: "delta-after-sentinel", Doc: "sends a delta again after the sentinel",
		Fault:     "event-after-end",
		KilledBy:  map[string]string{"done.is-last": "message.delta"},
		AlsoFails: []string{"script.*", "tool.starts-first", "tool.all-end"}, // the prompt asked only once for what is repeated
	}, {
		Name: "sentinel-twice", Doc: "sends the sentinel twice",
		Fault:    "sentinel-twice",
		KilledBy: map[string]string{"done.is-last": "done"},
	},
}

// extraMessage returns the start event and one delta of a message that the prompt did not ask for.
// Both events have the thread and the run of e.
func extraMessage(e *spec.Event) []*spec.Event {
	m := spec.Event{Thread: e.Thread, Run: e.Run, Message: e.Run + "-another"}
	return []*spec.Event{
		withChange(&m, func(o *spec.Event) { o.Kind, o.Role = spec.MessageStart, "assistant" }),
		withChange(&m, func(o *spec.Event) { o.Kind, o.Text = spec.MessageDelta, "and another thing" }),
	}
}

// stopAfter returns the effectFactory of a fault that drops all events of a run after the first one
// for which fits returns true.
func stopAfter(fits func(*spec.Event) bool) effectFactory {
	return func(a fault.Args) fault.Effect {
		over := false
		return dropEvents(func(e *spec.Event) bool {
			drops := over
			over = over || fits(e)
			return drops
		})(a)
	}
}

// shiftCreated is the effectFactory of a fault that changes the creation time in the events of a
// run. Each event states an earlier time than the previous one.
func shiftCreated(a fault.Args) fault.Effect {
	shift := int64(0)
	return changeEvents(anyEvent, func(e *spec.Event) {
		shift -= 10
		e.Created = addToNumber(e.Created, shift)
	})(a)
}

// changeIdleLimit returns a middleware that replaces the idle limit in requests for a stream with
// newLimit(limit). The idle limit is the number of polls without an event after which the stream
// must end, as a decimal number. If newLimit returns "", the limit is removed. Requests without a
// limit are not changed.
func changeIdleLimit(newLimit func(limit string) string) middleware {
	return editRequests(func(v parsedRequest) *http.Request {
		if !v.isOperation("listen") || v.event.PollLimit == "" {
			return v.httpRequest
		}
		asked := v.event
		asked.PollLimit = newLimit(asked.PollLimit)
		other, err := v.dialect.BuildRequest("listen", asked)
		if err != nil {
			return v.httpRequest
		}
		return v.withRequest(other)
	})
}

// muteAfterSilence returns a middleware that drops the rest of a stream after a silence longer than
// limit. The function starts reports whether the silence after a frame of the kind k counts; k is
// "" for the silence between the request and the first frame. Comments do not count as frames.
func muteAfterSilence(limit time.Duration, starts func(k spec.Kind) bool) middleware {
	return editFrames(func(v parsedRequest) func(frame []byte) []byte {
		counts, since, isMute := starts(""), time.Now(), false
		return func(frame []byte) []byte {
			isMute = isMute || counts && time.Since(since) > limit
			if counts, since = starts(v.decodeFrame(frame).Kind), time.Now(); isMute {
				return nil
			}
			return frame
		}
	})
}

// Parameters of limitTotalSilence, which measures an idle limit in polls of its own. Each of them
// takes totalPoll, as long as pollsPerTotal polls of the server.
const (
	totalPoll       = time.Second
	pollsPerTotal   = int(totalPoll / pollInterval)
	maxLimitInTotal = 10 // in polls of limitTotalSilence; larger limits are not changed
)

// limitTotalSilence is a middleware that applies the idle limit of a stream to the sum of all
// periods without events. A correct server applies it to each of these periods. The limit is a
// number of polls, each of which takes totalPoll. Streams with a limit greater than maxLimitInTotal
// are not affected.
func limitTotalSilence(next dialectHandler) dialectHandler {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		left, err := strconv.Atoi(v.event.PollLimit) // number of polls without an event until the stream ends
		if !v.isOperation("listen") || !v.event.Valid() || err != nil || left > maxLimitInTotal {
			next.ServeHTTP(w, v.httpRequest)
			return
		}
		asked := v.event
		asked.PollLimit = strconv.Itoa(left * pollsPerTotal)
		r := v.httpRequest
		if longer, err := v.dialect.BuildRequest("listen", asked); err == nil {
			r = v.withRequest(longer)
		}
		ctx, end := context.WithCancel(r.Context())
		defer end()
		since := time.Now() // the request or the last event
		timer := time.AfterFunc(time.Duration(left)*totalPoll, end)
		defer timer.Stop()
		serveStream(w, r.WithContext(ctx), next, streamEdit{sent: func(frame []byte) {
			if sse.HasFields(frame) {
				left -= int(time.Since(since) / totalPoll)
				since = time.Now()
				timer.Reset(time.Duration(left) * totalPoll)
			}
		}})
	})(next)
}
