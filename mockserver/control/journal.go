package control

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver/journal"
)

const lines = "application/x-ndjson"

// list answers with the exchanges that are wanted: a page of them, or all as NDJSON.
func (s *server) list(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r, append(chosen[:len(chosen):len(chosen)], "limit", "offset")...)
	if err != nil {
		return err
	}
	f, err := filterOf(q)
	if err != nil {
		return err
	}
	if f.Offset, err = number(q, "offset", 0, 1<<30); err != nil {
		return err
	}
	w.Header().Set("Vary", "Accept")
	if accepts(r, lines) {
		if f.Limit, err = number(q, "limit", 0, 1<<30); err != nil {
			return err
		}
		w.Header().Set("Content-Type", lines)
		_ = s.journal().Export(slow{w}, f) // who left does not want it
		return nil
	}
	if f.Limit, err = number(q, "limit", usualPage, mostPage); err != nil {
		return err
	}
	if q.Has("limit") && f.Limit == 0 {
		return bad("limit is 0: a page has from 1 to %d exchanges", mostPage)
	}
	page, total := s.journal().List(f)
	w.Header().Set("X-Total-Count", strconv.Itoa(total))
	answer(w, map[string]any{"exchanges": page, "total": total})
	return nil
}

// accepts says whether a client names a media type.
func accepts(r *http.Request, kind string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if named, _, err := mime.ParseMediaType(part); err == nil && named == kind {
			return true
		}
	}
	return false
}

// slow is a response that may take its time, as long as it goes on.
type slow struct{ http.ResponseWriter }

func (w slow) Write(p []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeWait))
	return w.ResponseWriter.Write(p)
}

// exchangeOf is the exchange that a path names.
func (s *server) exchangeOf(r *http.Request) (journal.Record, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		return journal.Record{}, missing("%.40q is no number of an exchange, from 1", r.PathValue("id"))
	}
	record, ok := s.journal().Get(id)
	if !ok {
		return record, missing("there is no exchange %d, or it is no longer kept", id)
	}
	return record, nil
}

func (s *server) exchange(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	record, err := s.exchangeOf(r)
	if err != nil {
		return err
	}
	answer(w, record)
	return nil
}

// forget empties the journal, of one test or of all.
func (s *server) forget(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r, "test")
	if err != nil {
		return err
	}
	if q.Has("test") {
		s.journal().Reset(q.Get("test"))
	} else {
		s.journal().Clear()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// stay takes a seat for a request that stays, and says when it has to go.
func (s *server) stay(w http.ResponseWriter, r *http.Request) (context.Context, func(), error) {
	if !s.long.take() {
		w.Header().Set("Retry-After", "1")
		return nil, nil, &wrong{status: http.StatusServiceUnavailable, text: fmt.Sprintf("%d requests wait or listen already, which is the most", mostLong)}
	}
	ctx, stop := context.WithCancel(r.Context())
	if s.cfg.Done != nil {
		go func() {
			select {
			case <-s.cfg.Done:
				stop()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { stop(); s.long.leave() }, nil
}

// silence is how long a feed says nothing at most.
const silence = 15 * time.Second

// feed tells what happens, as it happens.
func (s *server) feed(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r, "test")
	if err != nil {
		return err
	}
	ctx, leave, err := s.stay(w, r)
	if err != nil {
		return err
	}
	defer leave()
	notes := s.journal().Subscribe(ctx)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := slow{w}
	say := func(text string) bool {
		if _, err := out.Write([]byte(text)); err != nil {
			return false
		}
		return http.NewResponseController(w).Flush() == nil
	}
	quiet := time.NewTicker(silence)
	defer quiet.Stop()
	ok := say("retry: 1000\n\n: listening\n\n")
	for ok {
		select {
		case note, open := <-notes:
			if !open {
				return nil
			}
			if q.Has("test") && note.Test != q.Get("test") && note.Kind != journal.NoteDropped {
				continue
			}
			data, _ := json.Marshal(note) // a note can always be spelled
			ok = say("data: " + string(data) + "\n\n")
		case <-quiet.C:
			ok = say(": listening\n\n")
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
