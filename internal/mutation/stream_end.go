package mutation

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// alsoOpen lists the ids, for [Mutant.AlsoFails], of the checks that fail in addition to wire.ends
// if the body of a response does not end.
var alsoOpen = []string{"run.closes-after-end", "wire.body-is-whole"}

// streamEndMutants are servers that end streams or texts incorrectly. Some leave a body open, or
// truncate it, after the end of the run. Some send only a part of a text as the completed text.
// Others send events at other times than the prompt asks for.
var streamEndMutants = []*Mutant{
	{
		Name: "comments-after-terminal-event", Doc: "sends comments after the terminal event and keeps the response body open",
		NewEffect: keepOpen(func([]byte) bool { return true }),
		KilledBy:  map[string]string{"wire.ends": "http.close"}, AlsoFails: alsoOpen,
	}, {
		Name: "body-open-after-client-call", Doc: "keeps the response body open after a run that leaves a tool call to the client",
		NewEffect: keepOpen(func(frame []byte) bool { return bytes.Contains(frame, []byte(`"paint"`)) }),
		KilledBy:  map[string]string{"wire.ends": "http.close"}, AlsoFails: alsoOpen,
		Needs: []spec.Kind{spec.InputTool}, Without: []spec.Kind{spec.RunAccepted}, // such runs leave no call to the client
	}, {
		Name: "body-open-after-failure", Doc: "keeps the response body open after a failed run",
		NewEffect: keepOpen(reportsFailure),
		KilledBy:  map[string]string{"wire.ends": "http.close"}, AlsoFails: alsoOpen,
		Needs: []spec.Kind{spec.RunError},
	}, {
		Name: "connection-closed-after-failure", Doc: "closes the connection after the event that reports a failure, without ending the response body",
		NewEffect: atEnd(reportsFailure, func(w fault.StreamSink) error { return w.Finish(fault.Abort) }),
		KilledBy:  map[string]string{"wire.body-is-whole": "http.close"},
		AlsoFails: []string{"script.error*"}, // a truncated response does not count as a proper failure
		Needs:     []spec.Kind{spec.RunEnd, spec.RunError},
	}, {
		Name: "completed-text-end-only", Doc: "sends only the part after the last space as the completed text",
		NewEffect: changeEvents(isCompletedText, func(e *spec.Event) {
			if n := strings.LastIndex(e.Text, " "); n >= 0 {
				e.Text = e.Text[n+1:]
			}
		}),
		KilledBy:  map[string]string{"content.is-whole": "content.end"},
		AlsoFails: []string{"delta.joins-to-whole", "message.content-equals", "script.text"}, // the other contents are unmodified
	}, {
		Name: "completed-text-start-only", Doc: "sends only the part before the first space as the completed text",
		NewEffect: changeEvents(isCompletedText, func(e *spec.Event) { e.Text, _, _ = strings.Cut(e.Text, " ") }),
		KilledBy:  map[string]string{"content.is-whole": "content.end"},
		AlsoFails: []string{"delta.joins-to-whole", "message.content-equals", "script.text"},
	},
	replyMutant("idle-time-halved", "is idle for only half of the idle period that the prompt asks for",
		"idle 400", `[wait: 200ms, text: done]`, "script.idle", "message.delta"),
	{
		Name: "idle-text-too-early", Doc: "sends the text before instead of after the idle period that the prompt asks for",
		Script:    replyScript("idle 400", `[text: done, wait: 400ms]`),
		KilledBy:  map[string]string{"script.idle": "message.delta"},
		AlsoFails: []string{"wire.flushes"}, // the text comes with the start of the run
	}, {
		Name: "slow-deltas-in-burst", Doc: "sends all text deltas but the last at once when the prompt asks for slow text deltas",
		Script:    replyScript("slow 8 ", `[text: '1', text: '2', text: '3', text: '4', wait: 560ms, text: '5']`),
		KilledBy:  map[string]string{"script.slow": "message.delta"},
		AlsoFails: []string{"wire.flushes"}, // the deltas of a burst arrive together
	}, {
		Name: "slow-deltas-in-pairs", Doc: "holds back every other text delta until the next one when the prompt asks for slow text deltas",
		Script: replyScript("slow 8 ", `[wait: 80ms, text: '1', text: '2', wait: 160ms, text: '3', text: '4', wait: 160ms, text: '5', `+
			`text: '6', wait: 160ms, text: '7', text: '8']`),
		KilledBy: map[string]string{"wire.flushes": "message.delta"},
	}, {
		Name: "slow-deltas-one-behind", Doc: "holds back each text delta until the next one when the prompt asks for slow text deltas",
		Script: replyScript("slow 8 ", `[wait: 80ms, text: '1', wait: 80ms, text: '2', wait: 80ms, text: '3', wait: 80ms, text: '4', `+
			`wait: 80ms, text: '5', wait: 80ms, text: '6', wait: 80ms, text: '7', text: '8']`),
		KilledBy: map[string]string{"wire.flushes": "message.delta"},
	}, {
		Name: "compressed-stream-held", Doc: "compresses streams for clients that accept gzip, and sends them only when they end",
		Middleware: compressStreams(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		KilledBy:   map[string]string{"wire.flushes": "message.delta"},
	}, {
		Name: "compressed-stream-unterminated", Doc: "omits the end of the gzip data of compressed streams",
		Middleware: compressStreams(func(w io.Writer) io.WriteCloser { return gzipWithoutEnd{gzip.NewWriter(w)} }),
		KilledBy:   map[string]string{"wire.body-is-whole": "http.close"},
		AlsoFails:  []string{"wire.flushes"},
	}, {
		Name: "gzip-declared-only", Doc: "declares streams as gzip for clients that accept it, but does not compress them",
		Middleware: compressStreams(func(w io.Writer) io.WriteCloser { return uncompressed{w} }),
		KilledBy:   map[string]string{"wire.body-is-whole": "http.close"},
	}, {
		Name: "start-events-held", Doc: "holds back the start and progress events of a run until the first other event",
		Middleware: editStreams(func(v parsedRequest) streamEdit {
			var held []byte
			started := false
			return streamEdit{
				frame: func(frame []byte) []byte {
					k := v.decodeFrame(frame).Kind
					started = started || k != spec.RunStart && k != spec.RunProgress
					if held = append(held, frame...); !started {
						return nil
					}
					out := held
					held = nil
					return out
				},
				end: func() []byte { return held },
			}
		}),
		KilledBy: map[string]string{"wire.flushes": "run.start"}, Needs: []spec.Kind{spec.RunStart},
		AlsoFails: []string{"wire.keeps-alive"}, // a stream that ends at its idle limit sends what was held back at its end
	}, {
		Name: "slow-deltas-short-pauses", Doc: "waits only 20 of 80 ms between slow text deltas, and the rest of the time before the last text delta",
		Script: replyScript("slow 8 ", `[text: '1', wait: 20ms, text: '2', wait: 20ms, text: '3', wait: 20ms, text: '4', wait: 20ms, `+
			`text: '5', wait: 20ms, text: '6', wait: 20ms, text: '7', wait: 300ms, text: '8']`),
		KilledBy: map[string]string{"script.slow": "message.delta"},
	},
}

// compressStreams returns a middleware that compresses event streams for clients that accept gzip.
// It ignores requests to flush them. The function newWriter returns a writer that writes what it
// compresses to w.
func compressStreams(newWriter func(w io.Writer) io.WriteCloser) middleware {
	return func(next dialectHandler) dialectHandler {
		return dialectHandler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				next.ServeHTTP(w, r)
				return
			}
			c := &compressor{ResponseWriter: w, newWriter: newWriter}
			defer c.close()
			next.ServeHTTP(c, r)
		}), next.dialect}
	}
}

// gzipWithoutEnd is a gzip.Writer whose Close does not write the end of the format.
type gzipWithoutEnd struct{ *gzip.Writer }

// Close writes compressed data that is still in the buffer. It returns any error from doing so.
func (w gzipWithoutEnd) Close() error { return w.Flush() }

// uncompressed is a writer that does not compress what it writes.
type uncompressed struct{ io.Writer }

// Close does nothing and returns nil.
func (uncompressed) Close() error { return nil }

// A compressor is a ResponseWriter that compresses event streams. It ignores requests to flush
// them.
type compressor struct {
	http.ResponseWriter
	newWriter func(w io.Writer) io.WriteCloser // see compressStreams
	body      io.WriteCloser                   // nil if the response is not a stream, or if its head was not written yet
}

// WriteHeader sends the header with the given status. If the Content-Type is that of an event
// stream, it first sets Content-Encoding and removes Content-Length; Write then compresses the
// body.
func (c *compressor) WriteHeader(status int) {
	h := c.Header()
	if strings.HasPrefix(h.Get("Content-Type"), spec.EventStream) && c.body == nil {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		c.body = c.newWriter(c.ResponseWriter)
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write writes p to the body and returns any error from doing so. It compresses p if WriteHeader
// was called for an event stream.
func (c *compressor) Write(p []byte) (int, error) {
	if c.body != nil {
		return c.body.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// FlushError does nothing, so that [http.ResponseController] flushes nothing. It returns nil.
func (c *compressor) FlushError() error { return nil }

// close writes the rest of a compressed stream. It does nothing if the response is not compressed.
func (c *compressor) close() {
	if c.body != nil {
		_ = c.body.Close() // an error means that the client has left
	}
}

// isCompletedText reports whether e is the event that completes a content part ([spec.ContentEnd])
// and the type of the part is "text".
func isCompletedText(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Type == "text" }

// reportsFailure reports whether frame contains "scripted failure", the error message that the
// prompts of the scenarios "error" and "error-mid" ask for.
func reportsFailure(frame []byte) bool { return bytes.Contains(frame, []byte("scripted failure")) }

// keepOpen returns the effectFactory of a fault that keeps the body of a stream open for 30 seconds
// after the last frame, and sends comments meanwhile. It affects only streams that have a frame or
// a comment for which fits returns true. The function fits must not modify its argument.
func keepOpen(fits func(frame []byte) bool) effectFactory {
	return atEnd(fits, func(w fault.StreamSink) error {
		return sendComments(w, ": still here\n\n", 200*time.Millisecond, 150)
	})
}
