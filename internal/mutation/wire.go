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
		Name: "stream-is-text", Doc: "streams are called text/plain",
		Fault:    "content-type; streams=0",
		KilledBy: map[string]string{"wire.opens-stream": "http.response"},
	}, {
		Name: "stream-is-created", Doc: "streams are answered 201",
		Fault:    "wrong-status; streams=0",
		KilledBy: map[string]string{"wire.opens-stream": "http.response"},
	}, {
		Name: "stream-is-compressed", Doc: "streams are compressed, although the client accepts only identity",
		Fault:     "gzip; streams=0",
		KilledBy:  map[string]string{"wire.opens-stream": "http.response"},
		AlsoFails: []string{"wire.ends"}, // with many open streams, output that is not flushed counts as idle time
	}, {
		Name: "frame-breaks-off", Doc: "the data of an event is JSON without its last brace",
		NewEffect: insertFrame(`{"type":"x-unknown"`),
		KilledBy:  map[string]string{"wire.frames-are-json": "?"},
	}, {
		Name: "frame-is-a-word", Doc: "the data of an event is a bare word",
		NewEffect: insertFrame("hello"),
		KilledBy:  map[string]string{"wire.frames-are-json": "?"},
	}, {
		Name: "frame-has-a-name", Doc: "one event has the SSE field event",
		Fault:     "other-fields; streams=0",
		KilledBy:  map[string]string{"wire.frames-are-plain": "run.progress run.start"},
		AlsoFails: []string{"sequence.never-falls"}, // a replayed event differs from the original one with the same number
	}, {
		Name: "frame-has-an-unknown-field", Doc: "all events have a field that SSE does not define",
		NewEffect: changeFrames(func(frame []byte) []byte { return append([]byte("version: 1\n"), frame...) }),
		KilledBy:  map[string]string{"wire.frames-are-plain": "*"},
	}, {
		Name: "byte-is-no-text", Doc: "an event has a byte that is not UTF-8",
		NewEffect: insertFrame("{\"type\":\"x-\xff\"}"),
		KilledBy:  map[string]string{"wire.utf-8": "?"},
	}, {
		Name: "latin-1", Doc: "texts are sent in Latin-1",
		NewEffect: replaceText("ü", "\xfc"),
		KilledBy:  map[string]string{"wire.utf-8": "?"},
		AlsoFails: alsoWithoutFrame,
	}, {
		Name: "last-line-open", Doc: "the blank line after the last event is missing",
		Fault:     "no-last-blank-line; streams=0",
		KilledBy:  map[string]string{"wire.last-frame-is-terminated": "rest"},
		AlsoFails: alsoWithoutLastFrame,
	}, {
		Name: "last-line-unended", Doc: "the last event has not even the end of its line",
		NewEffect: changeLastFrame(func(frame []byte) []byte { return bytes.TrimRight(frame, "\n") }),
		KilledBy:  map[string]string{"wire.last-frame-is-terminated": "rest"},
		AlsoFails: alsoWithoutLastFrame,
	}, {
		Name: "cut-after-the-end", Doc: "the connection is closed after the last event, and the body not ended",
		Fault:     "abort-late; streams=0",
		KilledBy:  map[string]string{"wire.body-is-whole": "http.close"},
		AlsoFails: []string{"script.*"}, // a truncated response does not count as a successful answer
	}, {
		Name: "promises-more", Doc: "the head of a stream promises ten million bytes, and the body has fewer",
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
		Name: "stalls", Doc: "after a few events nothing comes any more, and the stream stays open",
		Fault:     "stall; event=2; streams=0",
		KilledBy:  map[string]string{"wire.ends": "http.close"},
		AlsoFails: []string{matchesSchema}, // no stream that answers a plain prompt has a text
	}, {
		Name: "goes-on-and-on", Doc: "in place of the last event comments come, without end",
		NewEffect: replaceLast(func(w fault.StreamSink, _ []byte) error {
			return sendComments(w, ": and on\n\n", 100*time.Millisecond, math.MaxInt) // until the client leaves
		}),
		KilledBy: map[string]string{"wire.ends": "http.close"},
	}, {
		Name: "all-at-the-end", Doc: "all events come at once, when the run is over",
		Fault:     "gathered; streams=0",
		KilledBy:  map[string]string{"wire.flushes": "message.delta"},
		AlsoFails: []string{"wire.ends"}, // with many open streams, output that is held back counts as idle time
	}, {
		Name: "texts-at-the-end", Doc: "the pieces of a text are held until the message is whole",
		NewEffect: delayDeltas,
		KilledBy:  map[string]string{"wire.flushes": "message.delta"},
		AlsoFails: []string{"wire.ends"}, // the silence may be longer than the idle timeout
	}, {
		Name: "held-after-a-comment", Doc: "after the first keep-alive comment, all events are held until the end of the run",
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
		Name: "silent", Doc: "a stream on which nothing happens carries no comments",
		Fault:     "no-keep-alive; streams=0",
		KilledBy:  map[string]string{"wire.keeps-alive": "http.close"},
		AlsoFails: []string{"wire.ends"}, // a stream that sends nothing is given up before its limit ends it
	}, {
		Name: "still-here", Doc: "the keep-alive comments have another text",
		Fault:    "other-keep-alive; streams=0",
		KilledBy: map[string]string{"wire.keep-alive-text": "comment"},
	}, {
		Name: "silent-when-limited", Doc: "a stream whose silence is limited is not kept alive until it ends",
		Middleware: editStreams(func(parsedRequest) streamEdit { return streamEdit{comment: dropFrame} }),
		KilledBy:   map[string]string{"wire.keeps-alive": "http.close"},
		AlsoFails:  []string{"wire.ends"}, // a stream that sends nothing is given up before its limit ends it
	}, {
		Name: "silent-after-text", Doc: "a silence after some text is not kept alive",
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
		Name: "keep-alive-in-capitals", Doc: "the comments in a silence are spelled in capitals",
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
