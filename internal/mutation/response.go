package mutation

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// A streamEdit determines how one event stream is changed while it is sent. A field that is nil
// changes nothing. The calls of the functions do not overlap.
type streamEdit struct {
	// frame and comment return what is sent in place of a frame or a comment: any number of frames
	// or comments, one after the other; nil for none. They may modify and keep their argument.
	frame, comment func([]byte) []byte
	// sent is called with each original frame or comment after its replacement was sent. It must
	// not keep or modify its argument.
	sent func(frame []byte)
	// end is called when the stream is over, and returns frames that are sent after the last one.
	end func() []byte
}

// serveStream passes the request r to next and sends the response to w. If the response is an event
// stream, it is changed by edit.
func serveStream(w http.ResponseWriter, r *http.Request, next http.Handler, edit streamEdit) {
	if a := serveEdited(w, r, next, edit); a != nil {
		a.send(w)
	}
}

// editStreams returns a middleware that edits the event streams of the server. It calls begin with
// each request v before the server receives v. If the response is an event stream, it is changed by
// the edit that begin returned. Otherwise, the response is sent unchanged.
func editStreams(begin func(v parsedRequest) streamEdit) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		serveStream(w, v.httpRequest, next, begin(v))
	})
}

// editFrames is like editStreams, but changes only the frames of a stream, and not the comments.
// The function that begin returns becomes the field frame of the edit. If it is nil, the stream is
// sent unchanged.
func editFrames(begin func(v parsedRequest) func(frame []byte) []byte) middleware {
	return editStreams(func(v parsedRequest) streamEdit { return streamEdit{frame: begin(v)} })
}

// serveEdited passes the request r to next. If the response is an event stream, serveEdited sends
// it to w, changed by edit, and returns nil. Otherwise, it sends nothing and returns the response,
// which the caller can edit and must send. If next did not respond, the result is nil.
func serveEdited(w http.ResponseWriter, r *http.Request, next http.Handler, edit streamEdit) *completeResponse {
	h := &editingResponseWriter{w: w, edit: edit, plain: completeResponse{header: http.Header{}}}
	next.ServeHTTP(h, r)
	switch {
	case h.isStream:
		h.finish()
		return nil
	case h.plain.status == 0:
		return nil
	}
	return &h.plain
}

// An editingResponseWriter is an [http.ResponseWriter] that changes event streams while it passes
// them on to w, frame by frame. It keeps any other response in memory, so that the caller can edit
// it.
type editingResponseWriter struct {
	w        http.ResponseWriter // receives the response if it is a stream
	plain    completeResponse    // the response; for a stream, only its status and header
	isStream bool                // whether the response is a stream; known after WriteHeader
	edit     streamEdit          // what to change in the stream
	frames   sse.FrameSplitter   // splits the written bytes of the stream into frames
}

// Header returns the header of the response. The first call of WriteHeader or Write sends the
// header if the response is an event stream. The header of any other response is sent later, by the
// caller of serveEdited.
func (h *editingResponseWriter) Header() http.Header { return h.plain.header }

// WriteHeader sets the status. If the Content-Type is that of an event stream, it also sends the
// status and the header. Only the first call has an effect.
func (h *editingResponseWriter) WriteHeader(status int) {
	if h.plain.status != 0 {
		return
	}
	h.plain.status = status
	if h.isStream = strings.HasPrefix(h.plain.header.Get("Content-Type"), spec.EventStream); h.isStream {
		maps.Copy(h.w.Header(), h.plain.header)
		h.w.WriteHeader(status)
	}
}

func (h *editingResponseWriter) Write(data []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	switch {
	case !h.isStream:
		h.plain.body = append(h.plain.body, data...)
	case h.edit.frame == nil && h.edit.comment == nil && h.edit.sent == nil:
		return h.w.Write(data)
	default:
		for frame := range h.frames.Split(data) {
			if err := h.writeFrame(frame); err != nil {
				return 0, err
			}
		}
	}
	return len(data), nil
}

// writeFrame sends what the edit returns in place of the given frame or comment, and then calls
// h.edit.sent, unless it is nil. If sending fails, writeFrame returns the error and does not call
// h.edit.sent.
func (h *editingResponseWriter) writeFrame(frame []byte) error {
	change := h.edit.frame
	if !sse.HasFields(frame) {
		change = h.edit.comment
	}
	out := frame
	if change != nil {
		out = change(bytes.Clone(frame))
	}
	if _, err := h.w.Write(out); err != nil {
		return err
	}
	if h.edit.sent != nil {
		_ = h.FlushError() // an error means that the client has left
		h.edit.sent(frame)
	}
	return nil
}

// finish ends an event stream. It sends the incomplete frame at the end of the stream, if there is
// one, and then the frames that h.edit.end returns, unless it is nil.
func (h *editingResponseWriter) finish() {
	_, _ = h.w.Write(h.frames.Rest()) // an error means that the client has left
	if h.edit.end != nil {
		_, _ = h.w.Write(h.edit.end())
	}
}

// FlushError flushes an event stream and returns any error from doing so. For any other response,
// which is sent later, it does nothing. It is called by [http.ResponseController].
func (h *editingResponseWriter) FlushError() error {
	if !h.isStream {
		return nil
	}
	return http.NewResponseController(h.w).Flush()
}

// Unwrap returns the underlying writer, through which [http.ResponseController] sets deadlines.
func (h *editingResponseWriter) Unwrap() http.ResponseWriter { return h.w }

// A completeResponse is a complete response that is not an event stream.
type completeResponse struct {
	status int
	header http.Header
	body   []byte
}

// editResponses returns a middleware that edits responses that are not event streams. It calls edit
// for each of them before it is sent. The argument v of edit is the request, and a is the response,
// which edit changes in place.
func editResponses(edit func(v parsedRequest, a *completeResponse)) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if a := serveEdited(w, v.httpRequest, next, streamEdit{}); a != nil {
			edit(v, a)
			a.send(w)
		}
	})
}

// decodeReply decodes a, the response to the request v. The result ok is false if the status is not
// 2xx, if the body is empty, or if v is not a request for an operation of the dialect. If the body
// cannot be decoded, ok is true, and the kind of reply is [spec.Undecodable] or
// [spec.Unrecognized].
func (v parsedRequest) decodeReply(a *completeResponse) (reply spec.Event, ok bool) {
	response := spec.Response{Status: a.status, Body: a.body}
	for name, values := range a.header {
		response.Header = append(response.Header, spec.HeaderField{Name: name, Value: values[0]})
	}
	recorded := spec.Trace{Exchanges: []spec.Exchange{{Request: v.raw, Response: response}}}
	for e := range v.dialect.Events(recorded) {
		switch e.Kind {
		case spec.HTTPRequest, spec.HTTPResponse, spec.BodyEnd:
		default:
			reply = e
		}
	}
	return reply, reply.Kind != "" && a.status/100 == 2
}

// encodeReply replaces the body of a, the response to the request v, with the encoding of e in the
// dialect. It does not change the status or the header.
func (v parsedRequest) encodeReply(a *completeResponse, e spec.Event) {
	a.body = v.dialect.Operation(v.raw).EncodeResponse(e).Body
}

// editReplies returns a middleware that edits replies, which are responses that are not event
// streams. It decodes each reply with a 2xx status and, if the result e has the given kind, calls
// edit with e and the request v. The function edit changes e in place, and the changed reply is
// encoded and sent.
func editReplies(kind spec.Kind, edit func(v parsedRequest, e *spec.Event)) middleware {
	return editResponses(func(v parsedRequest, a *completeResponse) {
		if e, ok := v.decodeReply(a); ok && e.Kind == kind {
			edit(v, &e)
			v.encodeReply(a, e)
		}
	})
}

func (a *completeResponse) send(w http.ResponseWriter) {
	clear(w.Header())
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.status == http.StatusNoContent {
		a.body = nil
		w.Header().Del("Content-Length")
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // an error means that the client has left
}

// refuse turns a, the response to the request v, into a refusal with the given status code. The
// argument text is the error message. The body has the form in which the dialect reports problems.
func (a *completeResponse) refuse(v parsedRequest, status int, text string) {
	problem := spec.Event{Kind: spec.Problem, StatusCode: status, Text: text}
	encoded := v.dialect.Operation(v.raw).EncodeResponse(problem)
	a.status, a.body = encoded.Status, encoded.Body
	a.header.Set("Content-Type", encoded.MediaType)
}
