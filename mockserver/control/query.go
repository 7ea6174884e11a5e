package control

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver/journal"
)

// parseQuery reads the query of a request strictly: what is not known, or there twice, is
// refused.
func parseQuery(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("the query cannot be read: %v", err)
	}
	for name, values := range q {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, badRequest("nothing is called %.40q: no query is wanted here", name)
		case !slices.Contains(known, name):
			return nil, badRequest("nothing is called %.40q: the query has %s", name, strings.Join(known, ", "))
		case len(values) > 1:
			return nil, badRequest("%s is there %d times: once is right", name, len(values))
		case len(values[0]) > 1024:
			return nil, badRequest("%s has %d bytes: at most 1024 are taken", name, len(values[0]))
		}
	}
	return q, nil
}

// testParam is the test that a request is about; "" is all.
func testParam(r *http.Request) (string, error) {
	q, err := parseQuery(r, "test")
	return q.Get("test"), err
}

// filterParams are the parameters that choose exchanges.
var filterParams = []string{"dialect", "op", "method", "path", "status", "test", "thread", "run", "rule", "ended", "finding", "contains", "since", "after"}

// parseFilter reads which exchanges are wanted.
func parseFilter(q url.Values) (f journal.Filter, err error) {
	f = journal.Filter{
		Dialect: q.Get("dialect"), Op: q.Get("op"), Method: q.Get("method"), Path: q.Get("path"), Status: q.Get("status"),
		Thread: q.Get("thread"), Run: q.Get("run"), Rule: q.Get("rule"), Ended: q.Get("ended"), Finding: q.Get("finding"),
		Contains: q.Get("contains"),
	}
	if q.Has("test") {
		test := q.Get("test")
		f.Test = &test
	}
	if since := q.Get("since"); since != "" {
		if f.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return f, badRequest("since is %.40q: a time is such as 2026-01-01T00:00:00Z", since)
		}
	}
	if after := q.Get("after"); after != "" {
		if f.After, err = strconv.ParseUint(after, 10, 64); err != nil {
			return f, badRequest("after is %.40q: it is the number of an exchange", after)
		}
	}
	return f, checkFilter(f)
}

func checkFilter(f journal.Filter) error {
	if err := f.Check(); err != nil {
		return badRequest("%v", err)
	}
	return nil
}

// intParam reads a whole number of the query.
func intParam(q url.Values, name string, fallback, limit int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > limit {
		return 0, badRequest("%s is %.40q: it is a whole number from 0 to %d", name, text, limit)
	}
	return n, nil
}
