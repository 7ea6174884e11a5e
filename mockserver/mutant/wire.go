package mutant

import (
	"bytes"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// What a stream has to be, requirement by requirement, as the catalogues call it.
var (
	lawsOpens      = []string{"agentscope-java.http.sse", "agentscope-java.http.status", "agentscope.http-ok", "agkit.http.status", "agkit.sse.content-type", "runs.stream.status-200", "runs.stream.content-type"}
	lawsJSON       = []string{"agentscope-java.frame.json", "agentscope.frame-json", "agkit.sse.frame", "runs.stream.json"}
	lawsPlain      = []string{"agentscope-java.frame.nothing-else", "agentscope.frame-plain"}
	lawsUTF8       = []string{"agentscope-java.http.utf-8", "agentscope.utf-8", "agkit.sse.utf-8", "runs.stream.utf-8"}
	lawsTerminated = []string{"agentscope-java.http.terminated", "agentscope.frame-terminated", "agkit.sse.lf-framing", "runs.stream.framing"}
	lawsWhole      = []string{"agentscope-java.http.whole", "agentscope.body-whole", "agkit.sse.whole", "runs.stream.whole"}
	lawsAnswerEnds = []string{"agentscope-java.http.ends", "agentscope.ends", "agkit.http.ends", "runs.http.ends"}
	lawsFlushed    = []string{"agentscope-java.http.flushes", "agentscope.flushed", "agkit.sse.incremental", "runs.stream.live"}
)

// What rightly turns red besides where a frame cannot be read: it is as good as not sent,
// and whatever it said is missing.
var lostFrame = []string{"script.*", "sequence.dense", "run.*", "tool.*", "message.*", "delta.joins-to-whole", "history.tells-the-answer"}

// Likewise where the last frame is cut off: the standard discards it.
var lostEnd = []string{"script.error", "script.error-mid", "run.ends", "cancel.run-ends", "error.visible", "resume.ends", "resume.loses-nothing", "resume.tells-the-same", "wire.flushes"}

var wireMutants = []*Mutant{
	{
		Name: "stream-is-text", Doc: "streams are called text/plain",
		Fault:  "content-type; streams=0",
		Breaks: lawsOpens,
		Kills:  map[string]string{"wire.opens-stream": "http.response"},
	}, {
		Name: "stream-is-created", Doc: "streams are answered 201",
		Fault:  "wrong-status; streams=0",
		Breaks: lawsOpens,
		Kills:  map[string]string{"wire.opens-stream": "http.response"},
	}, {
		Name: "stream-is-compressed", Doc: "streams are compressed, though the client asked that they be not",
		Fault:  "gzip; streams=0",
		Breaks: lawsOpens,
		Kills:  map[string]string{"wire.opens-stream": "http.response"},
		Also:   []string{"wire.ends"}, // what is not flushed is silence, where many streams are held open
	}, {
		Name: "frame-breaks-off", Doc: "an event comes whose data is JSON that lacks its last brace",
		Play:   extraFrame(`{"type":"x-unknown"`),
		Breaks: lawsJSON,
		Kills:  map[string]string{"wire.frames-are-json": "?"},
	}, {
		Name: "frame-is-a-word", Doc: "an event comes whose data is a bare word",
		Play:   extraFrame("hello"),
		Breaks: lawsJSON,
		Kills:  map[string]string{"wire.frames-are-json": "?"},
	}, {
		Name: "frame-has-a-name", Doc: "one event has the SSE field event",
		Fault:  "other-fields; streams=0",
		Breaks: lawsPlain,
		Kills:  map[string]string{"wire.frames-are-plain": "run.progress run.start"},
		Also:   []string{"sequence.never-falls"}, // an event that is told again under its number is not the same any more
	}, {
		Name: "frame-has-an-id", Doc: "all events have the SSE field id",
		Play:   everyFrame(func(frame []byte) []byte { return append([]byte("id: 1\n"), frame...) }),
		Breaks: lawsPlain,
		Kills:  map[string]string{"wire.frames-are-plain": "*"},
	}, {
		Name: "byte-is-no-text", Doc: "an event comes that has a byte which is no UTF-8",
		Play:   extraFrame("{\"type\":\"x-\xff\"}"),
		Breaks: lawsUTF8,
		Kills:  map[string]string{"wire.utf-8": "?"},
	}, {
		Name: "latin-1", Doc: "texts are sent in Latin-1",
		Play:   everyFrame(func(frame []byte) []byte { return bytes.ReplaceAll(frame, []byte("ü"), []byte{0xfc}) }),
		Breaks: lawsUTF8,
		Kills:  map[string]string{"wire.utf-8": "?"},
		Also:   lostFrame,
	}, {
		Name: "last-line-open", Doc: "the blank line after the last event is missing",
		Fault:  "no-last-blank-line; streams=0",
		Breaks: lawsTerminated,
		Kills:  map[string]string{"wire.last-frame-is-terminated": "rest"},
		Also:   lostEnd,
	}, {
		Name: "last-line-unended", Doc: "the last event has not even the end of its line",
		Play:   lastFrame(func(frame []byte) []byte { return bytes.TrimRight(frame, "\n") }),
		Breaks: lawsTerminated,
		Kills:  map[string]string{"wire.last-frame-is-terminated": "rest"},
		Also:   lostEnd,
	}, {
		Name: "cut-after-the-end", Doc: "the connection is closed after the last event, and the body not ended",
		Fault:  "abort-late; streams=0",
		Breaks: lawsWhole,
		Kills:  map[string]string{"wire.body-is-whole": "http.close"},
		Also:   []string{"script.*"}, // an answer whose transfer breaks off has not ended well
	}, {
		Name: "promises-more", Doc: "the head of a stream promises ten million bytes, and the body has fewer",
		Play: func(fault.Args) fault.Effect {
			return fault.Effect{Head: func(h *fault.Head) {
				if h.Header.Get("Content-Type") == spec.EventStream {
					h.Header.Del("Transfer-Encoding")
					h.Header.Set("Content-Length", "10000000")
				}
			}}
		},
		Breaks: lawsWhole,
		Kills:  map[string]string{"wire.body-is-whole": "http.close"},
		Also:   []string{"script.*"}, // as above
	}, {
		Name: "stalls", Doc: "after a few events nothing comes any more, and the stream stays open",
		Fault:  "stall; event=2; streams=0",
		Breaks: lawsAnswerEnds,
		Kills:  map[string]string{"wire.ends": "http.close"},
	}, {
		Name: "goes-on-and-on", Doc: "in place of the last event comments come, without end",
		Play:   goingOn,
		Breaks: lawsAnswerEnds,
		Kills:  map[string]string{"wire.ends": "http.close"},
	}, {
		Name: "all-at-the-end", Doc: "all events come at once, when the run is over",
		Fault:  "gathered; streams=0",
		Breaks: lawsFlushed,
		Kills:  map[string]string{"wire.flushes": "message.delta"},
		Also:   []string{"wire.ends"}, // what is held back is silence, where many streams are held open
	}, {
		Name: "texts-at-the-end", Doc: "the pieces of a text are held until the message is whole",
		Play:   holdingDeltas,
		Breaks: lawsFlushed,
		Kills:  map[string]string{"wire.flushes": "message.delta"},
	}, {
		Name: "silent", Doc: "a stream on which nothing happens carries no comments",
		Fault:  "no-keep-alive; streams=0",
		Breaks: []string{"runs.stream.keepalive"},
		Kills:  map[string]string{"wire.keeps-alive": "http.close"},
		Also:   []string{"wire.keep-alive-text"}, // of comments that do not come nobody can say what they say
	}, {
		Name: "still-here", Doc: "the comments in a silence say something else",
		Fault:  "other-keep-alive; streams=0",
		Breaks: []string{"runs.stream.keepalive-text"},
		Kills:  map[string]string{"wire.keep-alive-text": "comment"},
	}, {
		Name: "silent-when-limited", Doc: "a stream whose silence is limited is not kept alive until it ends",
		Twist:  comments(func(r *http.Request, comment []byte) []byte { return nil }),
		Breaks: []string{"runs.stream.keepalive"},
		Kills:  map[string]string{"wire.keeps-alive": "http.close"},
		Also:   []string{"wire.keep-alive-text"}, // as above
	}, {
		Name: "keep-alive-in-capitals", Doc: "the comments in a silence are spelled in capitals",
		Twist:  comments(func(_ *http.Request, comment []byte) []byte { return bytes.ToUpper(comment) }),
		Breaks: []string{"runs.stream.keepalive-text"},
		Kills:  map[string]string{"wire.keep-alive-text": "comment"},
	},
}

// goingOn ends no stream.
func goingOn(fault.Args) fault.Effect {
	return fault.Effect{Body: func(w fault.Writer) fault.Body {
		return &tail{w: w, change: func([]byte) []byte { return nil }, after: func() error {
			for {
				if _, err := w.Write([]byte(": and on\n\n")); err != nil {
					return err
				}
				if err := w.Flush(); err != nil {
					return err
				}
				if err := w.Sleep(100 * time.Millisecond); err != nil {
					return err
				}
			}
		}}
	}}
}

// holdingDeltas holds the pieces of texts until something else is told.
func holdingDeltas(fault.Args) fault.Effect {
	var held []spec.Event
	release := func(tell func(*spec.Event)) {
		for i := range held {
			tell(&held[i])
		}
		held = nil
	}
	return fault.Effect{
		Event: func(e *spec.Event, tell func(*spec.Event)) {
			if e.Kind == spec.MessageDelta {
				held = append(held, *e)
				return
			}
			release(tell)
			tell(e)
		},
		End: release,
	}
}
