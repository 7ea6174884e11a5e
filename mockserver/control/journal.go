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

const ndjson = "application/x-ndjson"

// listExchanges answers with the exchanges that are wanted: a page of them, or all as NDJSON.
func (s *server) listExchanges(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, append(filterParams[:len(filterParams):len(filterParams)], "limit", "offset")...)
	if err != nil {
		return err
	}
	f, err := parseFilter(q)
	if err != nil {
		return err
	}
	if f.Offset, err = intParam(q, "offset", 0, 1<<30); err != nil {
		return err
	}
	w.Header().Set("Vary", "Accept")
	if accepts(r, ndjson) {
		if f.Limit, err = intParam(q, "limit", 0, 1<<30); err != nil {
			return err
		}
		w.Header().Set("Content-Type", ndjson)
		_ = s.journal().Export(deadlineWriter{w}, f) // who left does not want it
		return nil
	}
	if f.Limit, err = intParam(q, "limit", defaultPageSize, maxPageSize); err != nil {
		return err
	}
	if q.Has("limit") && f.Limit == 0 {
		return badRequest("limit is 0: a page has from 1 to %d exchanges", maxPageSize)
	}
	page, total := s.journal().List(f)
	w.Header().Set("X-Total-Count", strconv.Itoa(total))
	writeJSON(w, map[string]any{"exchanges": page, "total": total})
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

// deadlineWriter is a response that may take its time, as long as it goes on.
type deadlineWriter struct{ http.ResponseWriter }

func (w deadlineWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
	return w.ResponseWriter.Write(p)
}

// findExchange is the exchange that a path names.
func (s *server) findExchange(r *http.Request) (journal.Record, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		return journal.Record{}, notFound("%.40q is no number of an exchange, from 1", r.PathValue("id"))
	}
	record, ok := s.journal().Get(id)
	if !ok {
		return record, notFound("there is no exchange %d, or it is no longer kept", id)
	}
	return record, nil
}

func (s *server) getExchange(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	record, err := s.findExchange(r)
	if err != nil {
		return err
	}
	writeJSON(w, record)
	return nil
}

// clearJournal empties the journal, of one test or of all.
func (s *server) clearJournal(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, "test")
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

// acquireLong takes a seat for a request that stays, and says when it has to go.
func (s *server) acquireLong(w http.ResponseWriter, r *http.Request) (context.Context, func(), error) {
	if !s.longRequests.tryAcquire() {
		w.Header().Set("Retry-After", "1")
		return nil, nil, &apiError{status: http.StatusServiceUnavailable, text: fmt.Sprintf("%d requests wait or listen already, which is the most", maxLongRequests)}
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
	return ctx, func() { stop(); s.longRequests.release() }, nil
}

// keepAliveInterval is how long a feed says nothing at most.
const keepAliveInterval = 15 * time.Second

// streamNotes tells what happens, as it happens.
func (s *server) streamNotes(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r, "test")
	if err != nil {
		return err
	}
	ctx, leave, err := s.acquireLong(w, r)
	if err != nil {
		return err
	}
	defer leave()
	notes := s.journal().Subscribe(ctx)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := deadlineWriter{w}
	write := func(text string) bool {
		if _, err := out.Write([]byte(text)); err != nil {
			return false
		}
		return http.NewResponseController(w).Flush() == nil
	}
	quiet := time.NewTicker(keepAliveInterval)
	defer quiet.Stop()
	ok := write("retry: 1000\n\n: listening\n\n")
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
			ok = write("data: " + string(data) + "\n\n")
		case <-quiet.C:
			ok = write(": listening\n\n")
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
