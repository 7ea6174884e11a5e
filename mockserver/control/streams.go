package control

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/fault"
)

// maxFrame is how large what is sent in between may be, in bytes, and maxEvent the
// highest number of an event.
const (
	maxFrame = maxBody
	maxEvent = 1 << 30
)

func (s *server) listStreams(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	writeJSON(w, map[string]any{"streams": s.streamStatuses(test)})
	return nil
}

func (s *server) streamStatuses(test string) []mockserver.StreamStatus {
	all := []mockserver.StreamStatus{}
	for _, one := range s.mock.Streams(test) {
		all = append(all, one.Status())
	}
	return all
}

// findStream is the stream that a path names.
func (s *server) findStream(r *http.Request) (*mockserver.Stream, error) {
	if _, err := parseQuery(r); err != nil {
		return nil, err
	}
	one := s.mock.Stream(r.PathValue("id"))
	if one == nil {
		return nil, notFound("no stream %.40q is open: /v1/streams lists those that are", r.PathValue("id"))
	}
	return one, nil
}

func (s *server) getStream(w http.ResponseWriter, r *http.Request) error {
	one, err := s.findStream(r)
	if err != nil {
		return err
	}
	writeJSON(w, one.Status())
	return nil
}

// readOptionalJSON reads the body of a request that may have none.
func readOptionalJSON(w http.ResponseWriter, r *http.Request, into any, example string) error {
	if r.ContentLength == 0 {
		return nil
	}
	return readJSON(w, r, into, example)
}

// holdStream makes a stream wait before an event; without one, before the next.
func (s *server) holdStream(w http.ResponseWriter, r *http.Request) error {
	one, err := s.findStream(r)
	if err != nil {
		return err
	}
	var to struct {
		Event *int `json:"event"`
	}
	if err := readOptionalJSON(w, r, &to, `{"event": 3}`); err != nil {
		return err
	}
	if to.Event == nil {
		now := one.Status()
		if to.Event = now.Held; now.Held == nil {
			to.Event = &now.Events
		}
	}
	if *to.Event < 0 || *to.Event > maxEvent {
		return badRequest("event is %d: it is the number of an event, from 0", *to.Event)
	}
	one.Hold(*to.Event)
	writeJSON(w, one.Status())
	return nil
}

// stepStream lets events go that are held.
func (s *server) stepStream(w http.ResponseWriter, r *http.Request) error {
	one, err := s.findStream(r)
	if err != nil {
		return err
	}
	n := 1
	to := struct {
		Events *int `json:"events"`
	}{&n}
	if err := readOptionalJSON(w, r, &to, `{"events": 1}`); err != nil {
		return err
	}
	if to.Events == nil || *to.Events < 1 || *to.Events > maxEvent {
		return badRequest("events is how many are let go, from 1")
	}
	if err := one.Next(*to.Events); err != nil {
		return conflict("%v: hold it first", err)
	}
	writeJSON(w, one.Status())
	return nil
}

func (s *server) releaseStream(w http.ResponseWriter, r *http.Request) error {
	one, err := s.findStream(r)
	if err != nil {
		return err
	}
	one.Release()
	writeJSON(w, one.Status())
	return nil
}

// injectFrame sends a frame in between.
func (s *server) injectFrame(w http.ResponseWriter, r *http.Request) error {
	one, err := s.findStream(r)
	if err != nil {
		return err
	}
	frame, err := readFrame(w, r)
	if err != nil {
		return err
	}
	if err := one.Inject(frame); err != nil {
		return conflict("the stream took nothing more: %v", err)
	}
	writeJSON(w, one.Status())
	return nil
}

// readFrame reads what is to be sent: bytes as they are, or an event.
func readFrame(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, err := requestMediaType(r, "application/json", "text/plain", "text/event-stream", "application/octet-stream")
	if err != nil {
		return nil, err
	}
	const example = `{"frame": "data: {}\n\n"}, {"event": {"type": "X"}}, or text/plain with the bytes as they are`
	if kind != "application/json" {
		frame, err := readBody(w, r, maxFrame)
		if err == nil && len(frame) == 0 {
			err = badRequest("there is nothing to be sent: %s", example)
		}
		return frame, err
	}
	var to struct {
		Frame *string         `json:"frame"`
		Event json.RawMessage `json:"event"`
	}
	if err := readJSON(w, r, &to, example); err != nil {
		return nil, err
	}
	switch {
	case to.Frame != nil && *to.Frame != "" && to.Event == nil:
		return []byte(*to.Frame), nil
	case to.Frame == nil && to.Event != nil:
		line := bytes.NewBufferString("data: ")
		_ = json.Compact(line, to.Event) // it was read as JSON before
		return append(line.Bytes(), "\n\n"...), nil
	}
	return nil, badRequest("one of frame and event is wanted: %s", example)
}

// endReasons are the ways to end a stream.
var endReasons = []string{string(fault.Abort), string(fault.Reset), string(fault.Torn), string(fault.Stall), string(fault.Clean)}

// endStream ends a stream: now, or when it comes to an event.
func (s *server) endStream(w http.ResponseWriter, r *http.Request) error {
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
		return badRequest("how is %.40q: a stream ends by %s", to.How, strings.Join(endReasons, ", "))
	}
	if to.Event == nil {
		endNow(one, fault.StreamEnd(to.How))
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if *to.Event < 0 || *to.Event > maxEvent {
		return badRequest("event is %d: it is the number of an event, from 0", *to.Event)
	}
	if came := one.Status().Events; came > *to.Event && one.Status().Held == nil {
		return conflict("event %d went already: %d came so far", *to.Event, came)
	}
	if !s.longRequests.tryAcquire() {
		return &apiError{status: http.StatusServiceUnavailable, text: "too many requests wait already"}
	}
	one.Hold(*to.Event)
	go func() {
		defer s.longRequests.release()
		s.endAt(one, fault.StreamEnd(to.How), *to.Event)
	}()
	writeBody(w, http.StatusAccepted, "application/json", encodeJSON(one.Status()))
	return nil
}

// pollInterval is how often a stream is looked at that is to be ended at an event.
const pollInterval = 5 * time.Millisecond

// endAt ends a stream when it comes to an event, before which it waits.
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

// endNow ends a stream. A torn one needs a line that is not whole.
func endNow(one *mockserver.Stream, how fault.StreamEnd) {
	if how == fault.Torn {
		_ = one.Inject([]byte("data: ")) // one that is over is not torn
	}
	one.End(how)
}
