package control

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/mockserver"
)

// Limits of requests about streams. The number of an event is its index in the stream, from 0.
const (
	maxFrame = maxBody // bytes of an injected frame
	maxEvent = 1 << 30 // greatest number of an event
)

// listStreams handles GET /v1/streams: it responds with {"streams": LIST}, where LIST holds a
// mockserver.StreamStatus for each open stream of the test in the query, or of all tests if the
// query names none.
func (s *server) listStreams(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return writeJSON(w, map[string]any{"streams": s.streamStatuses(query.Get("test"))})
}

// streamStatuses returns the states of the open streams of the test with the id test, or of all
// tests if test is "".
func (s *server) streamStatuses(test string) []mockserver.StreamStatus {
	all := []mockserver.StreamStatus{}
	for _, one := range s.mock.Streams(test) {
		all = append(all, one.Status())
	}
	return all
}

// findStream returns the open stream whose id is in the path of the request. It returns an error
// with status 404 if there is no such stream.
func (s *server) findStream(r *http.Request) (*mockserver.Stream, error) {
	one := s.mock.Stream(r.PathValue("id"))
	if one == nil {
		return nil, notFound("stream %.40q is not open (see /v1/streams)", r.PathValue("id"))
	}
	return one, nil
}

// onStream returns a handler that calls change with the stream whose id is in the path of the
// request, and then responds with the mockserver.StreamStatus of the stream. If change returns an
// error, the handler returns that error instead. If there is no such stream, the error has status
// 404.
func (s *server) onStream(
	change func(w http.ResponseWriter, r *http.Request, one *mockserver.Stream) error,
) routeHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, query url.Values) error {
		one, err := s.findStream(r)
		if err != nil {
			return err
		}
		if err := change(w, r, one); err != nil {
			return err
		}
		return writeJSON(w, one.Status())
	}
}

// getStream handles GET /v1/streams/{id}. It changes nothing; the handler from onStream responds
// with the state of the stream.
func getStream(w http.ResponseWriter, r *http.Request, one *mockserver.Stream) error { return nil }

// checkEvent returns an error with status 400 if event, the index of an event in a stream, is
// negative or greater than maxEvent.
func checkEvent(event int) error {
	if event < 0 || event > maxEvent {
		return badRequest("invalid event %d (want a number from 0 to %d)", event, maxEvent)
	}
	return nil
}

// holdStream handles POST /v1/streams/{id}/hold: it holds the stream before an event. The body is
// {"event": N}, where N is the index of the event, from 0. Without N or without a body, a held
// stream is left unchanged, and any other stream is held before its next event.
func holdStream(w http.ResponseWriter, r *http.Request, one *mockserver.Stream) error {
	var to struct {
		Event *int `json:"event"`
	}
	if r.ContentLength != 0 {
		if err := readJSON(w, r, &to, `{"event": 3}`); err != nil {
			return err
		}
	}
	now := one.Status()
	event := cmp.Or(to.Event, now.Held, &now.Events)
	if err := checkEvent(*event); err != nil {
		return err
	}
	one.Hold(*event)
	return nil
}

// stepStream handles POST /v1/streams/{id}/next: it lets the next N events of a held stream pass.
// The body is {"events": N}; without a body, N is 1. The error has status 409 if the stream is not
// held, and status 400 if N is invalid. Other errors are those of readJSON.
func stepStream(w http.ResponseWriter, r *http.Request, one *mockserver.Stream) error {
	n := 1
	to := struct {
		Events *int `json:"events"`
	}{&n}
	if r.ContentLength != 0 {
		if err := readJSON(w, r, &to, `{"events": 1}`); err != nil {
			return err
		}
	}
	if to.Events == nil || *to.Events < 1 || *to.Events > maxEvent {
		return badRequest("invalid events (want a number from 1 to %d)", maxEvent)
	}
	if err := one.Next(*to.Events); err != nil {
		return conflict("%v; hold it first", err)
	}
	return nil
}

// releaseStream handles POST /v1/streams/{id}/release: it stops holding the stream, so that the
// events that are held and all later ones are sent. It returns an error if the request has a body.
func releaseStream(w http.ResponseWriter, r *http.Request, one *mockserver.Stream) error {
	if err := refuseBody(w, r, "release takes no body"); err != nil {
		return err
	}
	one.Release()
	return nil
}

// injectFrame handles POST /v1/streams/{id}/inject: it sends the frame in the body unchanged to the
// client of the stream, between two frames of the run. It returns an error with status 409 if the
// stream has ended or the client has left. Other errors are those of readFrame.
func injectFrame(w http.ResponseWriter, r *http.Request, one *mockserver.Stream) error {
	frame, err := readFrame(w, r)
	if err != nil {
		return err
	}
	if err := one.Inject(frame); err != nil {
		return conflict("cannot write to the stream: %v", err)
	}
	return nil
}

// readFrame returns the frame in the body of a request. With the media type application/json, the
// body is {"frame": TEXT}, where TEXT is the frame, or {"event": VALUE}, where VALUE is a JSON
// value that becomes the data of the frame. With any other media type, the body is the frame
// itself. If the body is invalid, readFrame returns an error with status 400. Other errors are
// those of readBody.
func readFrame(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, mediaType, err := readBody(w, r, maxFrame,
		"application/json", "text/plain", "text/event-stream", "application/octet-stream")
	if err != nil {
		return nil, err
	}
	const example = `{"frame": "data: {}\n\n"}, {"event": {"type": "X"}}, or the raw frame as text/plain`
	if mediaType != "application/json" {
		if len(data) == 0 {
			return nil, badRequest("missing body (e.g. %s)", example)
		}
		return data, nil
	}
	var to struct {
		Frame *string         `json:"frame"`
		Event json.RawMessage `json:"event"`
	}
	if err := decodeBody(data, &to, example); err != nil {
		return nil, err
	}
	switch {
	case to.Frame != nil && *to.Frame != "" && to.Event == nil:
		return []byte(*to.Frame), nil
	case to.Frame == nil && to.Event != nil:
		var data bytes.Buffer
		_ = json.Compact(&data, to.Event) // never fails for valid JSON
		return sse.Append(nil, sse.Frame{Data: data.Bytes()})
	}
	return nil, badRequest("want either frame or event (e.g. %s)", example)
}

// endReasons lists the ways in which a request can end a stream.
var endReasons = []string{
	string(fault.Abort), string(fault.Reset), string(fault.Torn), string(fault.Stall), string(fault.Clean),
}

// endStream handles POST /v1/streams/{id}/end, whose body is {"how": HOW} or {"how": HOW, "event":
// N}: it ends a stream. HOW is one of endReasons. Without N, endStream ends the stream immediately
// and responds with status 204. N is the index of an event, from 0: the stream will end before that
// event, and endStream responds with status 202 and the current state of the stream.
//
// The error has status 409 if event N has already been sent, and status 400 if HOW or N is invalid.
// Other errors are those of findStream, readJSON and admitLong.
func (s *server) endStream(w http.ResponseWriter, r *http.Request, query url.Values) error {
	one, err := s.findStream(r)
	if err != nil {
		return err
	}
	var to struct {
		How   string `json:"how"`
		Event *int   `json:"event"`
	}
	if err := readJSON(w, r, &to, `{"how": "abort"}`); err != nil {
		return err
	}
	if !slices.Contains(endReasons, to.How) {
		return badRequest("invalid how %.40q (want one of %s)", to.How, strings.Join(endReasons, ", "))
	}
	if to.Event == nil {
		endNow(one, fault.StreamEnd(to.How))
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := checkEvent(*to.Event); err != nil {
		return err
	}
	status := one.Status()
	sent := status.Events
	if status.Held != nil {
		sent = min(sent, *status.Held) // the event at the hold is counted, but waits
	}
	if sent > *to.Event {
		return conflict("event %d has been sent already (%d events so far)", *to.Event, sent)
	}
	release, err := s.admitLong(w)
	if err != nil {
		return err
	}
	one.Hold(*to.Event)
	go func() {
		defer release()
		s.endAt(one, fault.StreamEnd(to.How), *to.Event)
	}()
	return writeEncoded(w, http.StatusAccepted, "application/json", one.Status())
}

// pollInterval is the interval at which endAt polls the stream.
const pollInterval = 5 * time.Millisecond

// endAt waits until the stream has reached the event with the index event, from 0, and then ends
// the stream with endNow in the way that how states. The caller must have held the stream before
// that event. If the stream ends earlier or the control port shuts down, endAt returns without
// doing anything.
func (s *server) endAt(one *mockserver.Stream, how fault.StreamEnd, event int) {
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for s.mock.Stream(one.ID) == one {
		if one.Status().Events > event {
			endNow(one, how)
			return
		}
		select {
		case <-again.C:
		case <-s.cfg.Done:
			return
		}
	}
}

// endNow ends the stream. The parameter how states what happens to the connection, such as
// fault.Reset. For fault.Torn, endNow first sends the beginning of a line, so that the stream ends
// within a line.
func endNow(one *mockserver.Stream, how fault.StreamEnd) {
	if how == fault.Torn {
		_ = one.Inject([]byte("data: ")) // fails only if the stream has ended
	}
	one.End(how)
}
