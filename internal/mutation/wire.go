package mutation

import (
	"bytes"
	"math"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// alsoWithoutFrame lists globs, for [Mutant.AlsoFails], that match the ids of the checks that may
// fail if a frame cannot be decoded, because they miss the content of that frame.
var alsoWithoutFrame = []string{"script.*", "sequence.dense", "run.*", "tool.*", "message.*", "delta.joins-to-whole", "history.tells-the-answer"}

// alsoWithoutLastFrame lists the ids, for [Mutant.AlsoFails], of the checks that may fail if the
// last frame of a stream is not terminated, because clients discard such a frame.
var alsoWithoutLastFrame = []string{"script.error", "script.error-mid", "run.ends", "cancel.run-ends", "error.visible", "resume.ends", "resume.loses-nothing", "resume.tells-the-same", "wire.flushes", "wire.keeps-alive", "script.interrupt"}

// wireMutants are servers that violate the rules about HTTP and event streams, such as media types,
// framing and comments.
var wireMutants = []*Mutant{
	{
		Name: "stream-content-type-plain", Doc: "sends event streams with the Content-Type text/plain",
		Fault:    "content-type; streams=0",
		KilledBy: map[string]string{"wire.opens-stream": "http.response"},
	}, {
		Name: "stream-status-201", Doc: "responds to requests for a stream with status 201",
		Fault:    "wrong-status; streams=0",
		KilledBy: map[string]string{"wire.opens-stream": "http.response"},
	}, {
		Name: "stream-gzip-not-accepted", Doc: "compresses streams although the client accepts only identity",
		Fault:     "gzip; streams=0",
		KilledBy:  map[string]string{"wire.opens-stream": "http.response"},
		AlsoFails: []string{"wire.ends"}, // with many open streams, output that is not flushed counts as idle time
	}, {
		Name: "event-data-truncated", Doc: "sends an event whose data is JSON without its last brace",
		NewEffect: insertFrame(`{"type":"x-unknown"`),
		KilledBy:  map[string]string{"wire.frames-are-json": "?"},
	}, {
		Name: "event-data-not-json", Doc: "sends an event whose data is unquoted text instead of JSON",
		NewEffect: insertFrame("hello"),
		KilledBy:  map[string]string{"wire.frames-are-json": "?"},
	}, {
		Name: "sse-event-field", Doc: "sends one event with the SSE field event",
		Fault:     "other-fields; streams=0",
		KilledBy:  map[string]string{"wire.frames-are-plain": "run.progress run.start"},
		AlsoFails: []string{"sequence.never-falls"}, // a replayed event differs from the original one with the same number
	}, {
		Name: "sse-unknown-field", Doc: "sends all events with a field that SSE does not define",
		NewEffect: changeFrames(func(frame []byte) []byte { return append([]byte("version: 1\n"), frame...) }),
		KilledBy:  map[string]string{"wire.frames-are-plain": "*"},
	}, {
		Name: "event-invalid-utf-8", Doc: "sends an event that contains a byte that is not valid UTF-8",
		NewEffect: insertFrame("{\"type\":\"x-\xff\"}"),
		KilledBy:  map[string]string{"wire.utf-8": "?"},
	}, {
		Name: "text-in-latin-1", Doc: "encodes texts in Latin-1 instead of UTF-8",
		NewEffect: replaceText("ü", "\xfc"),
		KilledBy:  map[string]string{"wire.utf-8": "?"},
		AlsoFails: alsoWithoutFrame,
	}, {
		Name: "last-blank-line-missing", Doc: "omits the blank line after the last event",
		Fault:     "no-last-blank-line; streams=0",
		KilledBy:  map[string]string{"wire.last-frame-is-terminated": "rest"},
		AlsoFails: alsoWithoutLastFrame,
	}, {
		Name: "last-line-end-missing", Doc: "omits the blank line after the last event and the end of its last line",
		NewEffect: changeLastFrame(func(frame []byte) []byte { return bytes.TrimRight(frame, "\n") }),
		KilledBy:  map[string]string{"wire.last-frame-is-terminated": "rest"},
		AlsoFails: alsoWithoutLastFrame,
	}, {
		Name: "body-aborted-after-end", Doc: "closes the connection after the last event without ending the body",
		Fault:     "abort-late; streams=0",
		KilledBy:  map[string]string{"wire.body-is-whole": "http.close"},
		AlsoFails: []string{"script.*"}, // a truncated response does not count as a successful answer
	}, {
		Name: "content-length-too-large", Doc: "sends a stream with a Content-Length of ten million bytes but a shorter body",
		NewEffect: func(fault.Args) fault.Effect {
			return fault.Effect{OnHead: func(h *fault.ResponseHead) {
				if h.Header.Get("Content-Type") == spec.EventStream {
					h.Header.Del("Transfer-Encoding")
					h.Header.Set("Content-Length", "10000000")
				}
			}}
		},
		KilledBy:  map[string]string{"wire.body-is-whole": "http.close"},
		AlsoFails: []string{"script.*"}, // a truncated response does not count as a successful answer
	}, {
		Name: "stream-stalls", Doc: "sends nothing after a few events and keeps the stream open",
		Fault:     "stall; event=2; streams=0",
		KilledBy:  map[string]string{"wire.ends": "http.close"},
		AlsoFails: []string{matchesSchema}, // no stream that answers a plain prompt has a text
	}, {
		Name: "endless-comments-at-end", Doc: "sends comments without end in place of the last event",
		NewEffect: replaceLast(func(w fault.StreamSink, _ []byte) error {
			return sendComments(w, ": and on\n\n", 100*time.Millisecond, math.MaxInt) // until the client leaves
		}),
		KilledBy: map[string]string{"wire.ends": "http.close"},
	}, {
		Name: "events-held-until-end", Doc: "holds back all events until the end of the run and sends them at once",
		Fault:     "gathered; streams=0",
		KilledBy:  map[string]string{"wire.flushes": "message.delta"},
		AlsoFails: []string{"wire.ends"}, // with many open streams, output that is held back counts as idle time
	}, {
		Name: "text-deltas-held", Doc: "holds back the text deltas of a message until the message is complete",
		NewEffect: delayDeltas,
		KilledBy:  map[string]string{"wire.flushes": "message.delta"},
		AlsoFails: []string{"wire.ends"}, // the silence may be longer than the idle timeout
	}, {
		Name: "held-after-keep-alive", Doc: "holds back all events after the first keep-alive comment until the end of the run",
		Middleware: editStreams(func(parsedRequest) streamEdit {
			var held []byte
			holds := false
			return streamEdit{
				comment: func(comment []byte) []byte { holds = true; return comment },
				frame: func(frame []byte) []byte {
					if !holds {
						return frame
					}
					held = append(held, frame...)
					return nil
				},
				end: func() []byte { return held },
			}
		}),
		Needs:    []spec.Kind{"slot.limit"}, // other dialects have no such comments
		KilledBy: map[string]string{"wire.flushes": "message.delta"},
	}, {
		Name: "keep-alive-missing", Doc: "sends no keep-alive comments in an idle stream",
		Fault:     "no-keep-alive; streams=0",
		KilledBy:  map[string]string{"wire.keeps-alive": "http.close"},
		AlsoFails: []string{"wire.ends"}, // a stream that sends nothing is given up before its limit ends it
	}, {
		Name: "keep-alive-other-text", Doc: "sends keep-alive comments with another text",
		Fault:    "other-keep-alive; streams=0",
		KilledBy: map[string]string{"wire.keep-alive-text": "comment"},
	}, {
		Name: "keep-alive-missing-with-limit", Doc: "sends no keep-alive comments in a stream with an idle limit until it ends",
		Middleware: editStreams(func(parsedRequest) streamEdit { return streamEdit{comment: dropFrame} }),
		KilledBy:   map[string]string{"wire.keeps-alive": "http.close"},
		AlsoFails:  []string{"wire.ends"}, // a stream that sends nothing is given up before its limit ends it
	}, {
		Name: "keep-alive-missing-after-text", Doc: "sends no keep-alive comments in a stream that is idle after a text delta",
		Middleware: editStreams(func(v parsedRequest) streamEdit {
			begun := false
			return streamEdit{
				comment: func(comment []byte) []byte {
					if begun {
						return nil
					}
					return comment
				},
				sent: func(frame []byte) { begun = begun || v.decodeFrame(frame).Kind == spec.MessageDelta },
			}
		}),
		KilledBy: map[string]string{"wire.keeps-alive": "http.close"},
	}, {
		Name: "keep-alive-uppercase", Doc: "sends keep-alive comments in upper case",
		Middleware: editStreams(func(parsedRequest) streamEdit { return streamEdit{comment: bytes.ToUpper} }),
		KilledBy:   map[string]string{"wire.keep-alive-text": "comment"},
	},
}

// delayDeltas is the effectFactory of a fault that holds back the text deltas of a run until an
// event of another kind is sent or the run ends.
func delayDeltas(fault.Args) fault.Effect {
	var held []spec.Event
	release := func(emit func(*spec.Event)) {
		for i := range held {
			emit(&held[i])
		}
		held = nil
	}
	return fault.Effect{
		OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if e.Kind == spec.MessageDelta {
				held = append(held, *e)
				return
			}
			release(emit)
			emit(e)
		},
		OnEnd: release,
	}
}
