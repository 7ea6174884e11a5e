package control

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/journal"
)

// parseQuery returns the query parameters of a request. The parameter known lists their valid
// names. If known is nil, parseQuery ignores the query and returns nil. It returns an error with
// status 400 if the query is malformed, if a parameter is unknown or repeated, or if its value has
// more than 1024 bytes.
func parseQuery(r *http.Request, known []string) (url.Values, error) {
	if known == nil {
		return nil, nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("invalid query: %v", err)
	}
	for name, values := range q {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, badRequest("unknown query parameter %.40q (this request has no query)", name)
		case !slices.Contains(known, name):
			return nil, badRequest("unknown query parameter %.40q (want %s)", name, strings.Join(known, ", "))
		case len(values) > 1:
			return nil, badRequest("query parameter %s occurs %d times, want 1", name, len(values))
		case len(values[0]) > 1024:
			return nil, badRequest("query parameter %s has %d bytes, want at most 1024", name, len(values[0]))
		}
	}
	return q, nil
}

// filterParams lists the query parameters that select exchanges.
var filterParams = []string{
	"dialect", "op", "method", "path", "status", "test", "thread", "run", "rule", "ended", "finding", "contains",
	"since", "after",
}

// parseFilter returns the filter that the query parameters q describe. It returns an error with
// status 400 if a value is invalid.
func (s *server) parseFilter(q url.Values) (f journal.Filter, err error) {
	f = journal.Filter{
		Dialect: q.Get("dialect"), Op: q.Get("op"), Method: q.Get("method"), Path: q.Get("path"), Status: journal.StatusPattern(q.Get("status")),
		Thread: q.Get("thread"), Run: q.Get("run"), Rule: q.Get("rule"), Ended: q.Get("ended"), Finding: q.Get("finding"),
		Contains: q.Get("contains"),
	}
	if q.Has("test") {
		test := q.Get("test")
		f.Test = &test
	}
	if since := q.Get("since"); since != "" {
		if f.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return f, badRequest("invalid since %.40q (e.g. 2026-01-01T00:00:00Z)", since)
		}
	}
	if after := q.Get("after"); after != "" {
		if f.After, err = strconv.ParseUint(after, 10, 64); err != nil {
			return f, badRequest("invalid after %.40q (want the id of an exchange)", after)
		}
	}
	if err := f.Check(s.mock.Dialects()); err != nil {
		return f, badRequest("%v", err)
	}
	return f, nil
}

// intParam returns the integer value of the parameter with the given name in the query q, or
// fallback if the parameter is absent or empty. It returns an error with status 400 if the value is
// not an integer from least to limit.
func intParam(q url.Values, name string, fallback, least, limit int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > limit {
		return 0, badRequest("invalid %s %.40q (want an integer from %d to %d)", name, text, least, limit)
	}
	return n, nil
}
