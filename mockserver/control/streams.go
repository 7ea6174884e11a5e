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

// mostFrame is how large what is sent in between may be, in bytes, and mostEvent the
// highest number of an event.
const (
	mostFrame = mostBody
	mostEvent = 1 << 30
)

func (s *server) streams(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	answer(w, map[string]any{"streams": s.sights(test)})
	return nil
}

func (s *server) sights(test string) []mockserver.Sight {
	all := []mockserver.Sight{}
	for _, one := range s.mock.Streams(test) {
		all = append(all, one.Look())
	}
	return all
}

// streamOf is the stream that a path names.
func (s *server) streamOf(r *http.Request) (*mockserver.Stream, error) {
	if _, err := query(r); err != nil {
		return nil, err
	}
	one := s.mock.Stream(r.PathValue("id"))
	if one == nil {
		return nil, missing("no stream %.40q is open: /v1/streams lists those that are", r.PathValue("id"))
	}
	return one, nil
}

func (s *server) stream(w http.ResponseWriter, r *http.Request) error {
	one, err := s.streamOf(r)
	if err != nil {
		return err
	}
	answer(w, one.Look())
	return nil
}

// optional reads the body of a request that may have none.
func optional(w http.ResponseWriter, r *http.Request, into any, example string) error {
	if r.ContentLength == 0 {
		return nil
	}
	return read(w, r, into, example)
}

// hold makes a stream wait before an event; without one, before the next.
func (s *server) hold(w http.ResponseWriter, r *http.Request) error {
	one, err := s.streamOf(r)
	if err != nil {
		return err
	}
	var to struct {
		Event *int `json:"event"`
	}
	if err := optional(w, r, &to, `{"event": 3}`); err != nil {
		return err
	}
	if to.Event == nil {
		now := one.Look()
		if to.Event = now.Held; now.Held == nil {
			to.Event = &now.Events
		}
	}
	if *to.Event < 0 || *to.Event > mostEvent {
		return bad("event is %d: it is the number of an event, from 0", *to.Event)
	}
	one.Hold(*to.Event)
	answer(w, one.Look())
	return nil
}

// next lets events go that are held.
func (s *server) next(w http.ResponseWriter, r *http.Request) error {
	one, err := s.streamOf(r)
	if err != nil {
		return err
	}
	n := 1
	to := struct {
		Events *int `json:"events"`
	}{&n}
	if err := optional(w, r, &to, `{"events": 1}`); err != nil {
		return err
	}
	if to.Events == nil || *to.Events < 1 || *to.Events > mostEvent {
		return bad("events is how many are let go, from 1")
	}
	if err := one.Next(*to.Events); err != nil {
		return conflict("%v: hold it first", err)
	}
	answer(w, one.Look())
	return nil
}

func (s *server) release(w http.ResponseWriter, r *http.Request) error {
	one, err := s.streamOf(r)
	if err != nil {
		return err
	}
	one.Release()
	answer(w, one.Look())
	return nil
}

// inject sends a frame in between.
func (s *server) inject(w http.ResponseWriter, r *http.Request) error {
	one, err := s.streamOf(r)
	if err != nil {
		return err
	}
	frame, err := frameOf(w, r)
	if err != nil {
		return err
	}
	if err := one.Inject(frame); err != nil {
		return conflict("the stream took nothing more: %v", err)
	}
	answer(w, one.Look())
	return nil
}

// frameOf reads what is to be sent: bytes as they are, or an event.
func frameOf(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, err := media(r, "application/json", "text/plain", "text/event-stream", "application/octet-stream")
	if err != nil {
		return nil, err
	}
	const example = `{"frame": "data: {}\n\n"}, {"event": {"type": "X"}}, or text/plain with the bytes as they are`
	if kind != "application/json" {
		frame, err := body(w, r, mostFrame)
		if err == nil && len(frame) == 0 {
			err = bad("there is nothing to be sent: %s", example)
		}
		return frame, err
	}
	var to struct {
		Frame *string         `json:"frame"`
		Event json.RawMessage `json:"event"`
	}
	if err := read(w, r, &to, example); err != nil {
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
	return nil, bad("one of frame and event is wanted: %s", example)
}

// endings are the ways to end a stream.
var endings = []string{string(fault.Abort), string(fault.Reset), string(fault.Torn), string(fault.Stall), string(fault.Clean)}

// end ends a stream: now, or when it comes to an event.
func (s *server) end(w http.ResponseWriter, r *http.Request) error {
	one, err := s.streamOf(r)
	if err != nil {
		return err
	}
	var to struct {
		How   string `json:"how"`
		Event *int   `json:"event"`
	}
	if err := read(w, r, &to, `{"how": "abort"}`); err != nil {
		return err
	}
	if !slices.Contains(endings, to.How) {
		return bad("how is %.40q: a stream ends by %s", to.How, strings.Join(endings, ", "))
	}
	if to.Event == nil {
		finish(one, fault.StreamEnd(to.How))
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if *to.Event < 0 || *to.Event > mostEvent {
		return bad("event is %d: it is the number of an event, from 0", *to.Event)
	}
	if came := one.Look().Events; came > *to.Event && one.Look().Held == nil {
		return conflict("event %d went already: %d came so far", *to.Event, came)
	}
	if !s.long.take() {
		return &wrong{status: http.StatusServiceUnavailable, text: "too many requests wait already"}
	}
	one.Hold(*to.Event)
	go func() {
		defer s.long.leave()
		s.endAt(one, fault.StreamEnd(to.How), *to.Event)
	}()
	send(w, http.StatusAccepted, "application/json", encoded(one.Look()))
	return nil
}

// look is how often a stream is looked at that is to be ended at an event.
const look = 5 * time.Millisecond

// endAt ends a stream when it comes to an event, before which it waits.
func (s *server) endAt(one *mockserver.Stream, how fault.StreamEnd, event int) {
	again := time.NewTicker(look)
	defer again.Stop()
	for s.mock.Stream(one.ID) == one {
		if one.Look().Events > event {
			finish(one, how)
			return
		}
		select {
		case <-again.C:
		case <-s.cfg.Done:
			return
		}
	}
}

// finish ends a stream. A torn one needs a line that is not whole.
func finish(one *mockserver.Stream, how fault.StreamEnd) {
	if how == fault.Torn {
		_ = one.Inject([]byte("data: ")) // one that is over is not torn
	}
	one.End(how)
}
