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

// A streamEdit edits one stream. It sends the frames frame(f) in place of each frame f, the frames
// comment(c) in place of each comment c, and the frames end() after the last one. A nil function
// changes nothing. Unless sent is nil, it is called with each original frame, or comment, after the
// client was sent what replaces it.
type streamEdit struct {
	frame   func(frame []byte) [][]byte
	comment func(comment []byte) [][]byte
	sent    func(frame []byte)
	end     func() [][]byte
}

// editStreams returns a middleware that edits the streams of the server: begin(v) returns the edit
// of the stream that is the response to request v.
func editStreams(begin func(v parsedRequest) streamEdit) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if a := serveEdited(w, v.httpRequest, next, begin(v)); a != nil {
			a.send(w)
		}
	})
}

// serveEdited has next respond to the request r. If the response is a stream, serveEdited sends it
// to w, edited by edit, and returns nil. Otherwise it returns the response, which the caller must
// send, or nil if next has not responded.
func serveEdited(w http.ResponseWriter, r *http.Request, next http.Handler, edit streamEdit) *plainResponse {
	h := &responseEditor{w: w, edit: edit, plain: plainResponse{header: http.Header{}}}
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

// A responseEditor is a response writer that keeps a plain response in memory, so that it can be
// edited, and passes a stream on frame by frame, with the frames edited.
type responseEditor struct {
	w        http.ResponseWriter
	plain    plainResponse // of a stream, only the status and the header
	isStream bool
	edit     streamEdit
	frames   sse.FrameSplitter
}

// Header returns the header, which is sent with a stream at once, and otherwise with the response.
func (h *responseEditor) Header() http.Header { return h.plain.header }

// WriteHeader keeps the status of a plain response, or sends that of a stream. Only the first call
// counts.
func (h *responseEditor) WriteHeader(status int) {
	if h.plain.status != 0 {
		return
	}
	h.plain.status = status
	if h.isStream = strings.HasPrefix(h.plain.header.Get("Content-Type"), spec.EventStream); h.isStream {
		maps.Copy(h.w.Header(), h.plain.header)
		h.w.WriteHeader(status)
	}
}

func (h *responseEditor) Write(data []byte) (int, error) {
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

// writeFrame sends what replaces a frame or comment. It returns any error from writing.
func (h *responseEditor) writeFrame(frame []byte) error {
	change := h.edit.frame
	if !sse.HasFields(frame) {
		change = h.edit.comment
	}
	out := [][]byte{frame}
	if change != nil {
		out = change(bytes.Clone(frame))
	}
	for _, o := range out {
		if _, err := h.w.Write(o); err != nil {
			return err
		}
	}
	if h.edit.sent != nil {
		_ = h.FlushError() // an error means that the client has left
		h.edit.sent(frame)
	}
	return nil
}

// finish sends the incomplete frame at the end of a stream, and the frames that the edit adds.
func (h *responseEditor) finish() {
	_, _ = h.w.Write(h.frames.Rest()) // an error means that the client has left
	if h.edit.end != nil {
		for _, o := range h.edit.end() {
			_, _ = h.w.Write(o)
		}
	}
}

// FlushError flushes a stream and returns any error from that. It does nothing for a plain
// response, which is sent later.
func (h *responseEditor) FlushError() error {
	if !h.isStream {
		return nil
	}
	return http.NewResponseController(h.w).Flush()
}

// Unwrap returns the writer to which the response is sent, so that deadlines can be set.
func (h *responseEditor) Unwrap() http.ResponseWriter { return h.w }

// A plainResponse is a complete response, with status, header and body, that is not a stream.
type plainResponse struct {
	status int
	header http.Header
	body   []byte
}

// editResponses returns a middleware that calls edit to change each response before it is sent,
// except streams. a is the response and v the request.
func editResponses(edit func(v parsedRequest, a *plainResponse)) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if a := serveEdited(w, v.httpRequest, next, streamEdit{}); a != nil {
			edit(v, a)
			a.send(w)
		}
	})
}

// decodeReply returns the response a, which is not a stream, as an event. If it is not successful, ok
// is false.
func (v parsedRequest) decodeReply(a *plainResponse) (reply spec.Event, ok bool) {
	response := spec.Response{Status: a.status, Body: a.body}
	for name, values := range a.header {
		response.Header = append(response.Header, spec.Field{Name: name, Value: values[0]})
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

// encodeReply replaces the body of a with the encoding of e in the dialect.
func (v parsedRequest) encodeReply(a *plainResponse, e spec.Event) {
	a.body = v.dialect.Operation(v.raw).EncodeResponse(e).Body
}

// editReplies returns a middleware that calls edit to change each successful reply of the given
// kind to a request v. The reply is decoded before the edit and encoded again after it.
func editReplies(kind spec.Kind, edit func(v parsedRequest, e *spec.Event)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if e, ok := v.decodeReply(a); ok && e.Kind == kind {
			edit(v, &e)
			v.encodeReply(a, e)
		}
	})
}

func (a *plainResponse) send(w http.ResponseWriter) {
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

// setNotFound turns the response to v into the refusal with status 404 that the dialect has for an
// unknown thread.
func (a *plainResponse) setNotFound(v parsedRequest) {
	problem := spec.Event{Kind: spec.Problem, StatusCode: http.StatusNotFound, Text: "conversation not found"}
	encoded := v.dialect.Operation(v.raw).EncodeResponse(problem)
	a.status, a.body = encoded.Status, encoded.Body
	a.header.Set("Content-Type", encoded.MediaType)
}
