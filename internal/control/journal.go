package control

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
)

// ndjson is the media type of newline-delimited JSON.
const ndjson = "application/x-ndjson"

// listExchanges handles GET /v1/journal: it responds with the exchanges that match the query,
// oldest first, each as a journal.Record. The response is {"exchanges": LIST, "total": N}, where N
// is the number of all matching exchanges. LIST holds at most 100 exchanges, unless the query sets
// a different limit.
//
// If the client accepts NDJSON, the response has that format. It then contains all matching
// exchanges, unless the query sets a limit. If the query is invalid, the error has status 400.
func (s *server) listExchanges(w http.ResponseWriter, r *http.Request, query url.Values) error {
	f, err := s.parseFilter(query)
	if err != nil {
		return err
	}
	if f.Offset, err = intParam(query, "offset", 0, 0, 1<<30); err != nil {
		return err
	}
	w.Header().Set("Vary", "Accept")
	if accepts(r, ndjson) {
		if f.Limit, err = intParam(query, "limit", 0, 0, 1<<30); err != nil {
			return err
		}
		w.Header().Set("Content-Type", ndjson)
		_ = s.journal().Export(deadlineWriter{w}, f) // fails only if the client left
		return nil
	}
	if f.Limit, err = intParam(query, "limit", defaultPageSize, 1, maxPageSize); err != nil {
		return err
	}
	page, total := s.journal().List(f)
	w.Header().Set("X-Total-Count", strconv.Itoa(total))
	return writeJSON(w, map[string]any{"exchanges": page, "total": total})
}

// accepts reports whether the Accept header of r lists mediaType explicitly, with any weight.
// Wildcards do not count.
func accepts(r *http.Request, mediaType string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if accepted, _, err := mime.ParseMediaType(part); err == nil && accepted == mediaType {
			return true
		}
	}
	return false
}

// A deadlineWriter is a response writer that allows writeTimeout for each write rather than for the
// whole response.
type deadlineWriter struct{ http.ResponseWriter }

// Write sets the write deadline to writeTimeout from now and writes p.
func (w deadlineWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
	return w.ResponseWriter.Write(p)
}

// findExchange returns the exchange whose id is in the path of the request. The error is an
// apiError with status 404 if the id is invalid or the journal does not contain the exchange.
func (s *server) findExchange(r *http.Request) (journal.Record, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		return journal.Record{}, notFound("invalid exchange id %.40q (want an integer, 1 or more)", r.PathValue("id"))
	}
	record, ok := s.journal().Get(id)
	if !ok {
		return record, notFound("exchange %d does not exist or was dropped from the journal", id)
	}
	return record, nil
}

// getExchange handles GET /v1/journal/{id}: it responds with the exchange whose id is in the path,
// as a journal.Record, or returns an error with status 404 if there is none.
func (s *server) getExchange(w http.ResponseWriter, r *http.Request, query url.Values) error {
	record, err := s.findExchange(r)
	if err != nil {
		return err
	}
	return writeJSON(w, record)
}

// clearJournal handles DELETE /v1/journal: it removes the exchanges of the test in the query, or
// all exchanges if the query names no test, and responds with status 204.
func (s *server) clearJournal(w http.ResponseWriter, r *http.Request, query url.Values) error {
	if query.Has("test") {
		s.journal().Reset(query.Get("test"))
	} else {
		s.journal().Clear()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// acquireLong admits a long request: one that waits for exchanges or receives the events of the
// journal. It returns a context that is done when the client leaves or the control port shuts down,
// and a function that the caller must call after serving the request. If maxLongRequests are in
// progress, acquireLong sets Retry-After in the header of w and returns an error with status 503.
func (s *server) acquireLong(w http.ResponseWriter, r *http.Request) (context.Context, func(), error) {
	release, err := s.admitLong(w)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(r.Context())
	go func() {
		select {
		case <-s.cfg.Done: // blocks forever if it is nil
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); release() }, nil
}

// admitLong admits a long request or a call of endAt, up to maxLongRequests at a time. The caller
// must call release exactly once when the request or call has ended. If maxLongRequests are in
// progress, admitLong sets Retry-After in the header of w and returns an error with status 503.
func (s *server) admitLong(w http.ResponseWriter) (release func(), err error) {
	select {
	case s.longRequests <- struct{}{}:
		return func() { <-s.longRequests }, nil
	default:
		w.Header().Set("Retry-After", "1")
		return nil, problemf(http.StatusServiceUnavailable,
			"%d requests are waiting or listening already, the maximum", maxLongRequests)
	}
}

// keepAliveInterval is the time between two comments in the event stream of the journal. The
// comments keep the connection alive.
const keepAliveInterval = 15 * time.Second

// streamEvents handles GET /v1/journal/feed: it sends the changes of the journal as an event stream
// until the client leaves or the control port shuts down. The data of each event is a
// journal.FeedEvent. If the query names a test, streamEvents omits the events of other tests. If
// too many long requests are in progress (see acquireLong), it returns an error with status 503.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request, query url.Values) error {
	ctx, leave, err := s.acquireLong(w, r)
	if err != nil {
		return err
	}
	defer leave()
	events := s.journal().Subscribe(ctx)
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
		case event, open := <-events:
			if !open {
				return nil
			}
			forAll := event.All || event.Kind == journal.EventDropped
			if query.Has("test") && event.Test != query.Get("test") && !forAll {
				continue
			}
			data, _ := json.Marshal(event) // never fails
			ok = write("data: " + string(data) + "\n\n")
		case <-quiet.C:
			ok = write(": listening\n\n")
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
