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

// query reads the query of a request strictly: what is not known, or there twice, is
// refused.
func query(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("the query cannot be read: %v", err)
	}
	for name, values := range q {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return nil, bad("nothing is called %.40q: no query is wanted here", name)
		case !slices.Contains(known, name):
			return nil, bad("nothing is called %.40q: the query has %s", name, strings.Join(known, ", "))
		case len(values) > 1:
			return nil, bad("%s is there %d times: once is right", name, len(values))
		case len(values[0]) > 1024:
			return nil, bad("%s has %d bytes: at most 1024 are taken", name, len(values[0]))
		}
	}
	return q, nil
}

// testOf is the test that a request is about; "" is all.
func testOf(r *http.Request) (string, error) {
	q, err := query(r, "test")
	return q.Get("test"), err
}

// chosen are the parameters that choose exchanges.
var chosen = []string{"dialect", "op", "method", "path", "status", "test", "thread", "run", "rule", "ended", "finding", "contains", "since", "after"}

// filterOf reads which exchanges are wanted.
func filterOf(q url.Values) (f journal.Filter, err error) {
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
			return f, bad("since is %.40q: a time is such as 2026-01-01T00:00:00Z", since)
		}
	}
	if after := q.Get("after"); after != "" {
		if f.After, err = strconv.ParseUint(after, 10, 64); err != nil {
			return f, bad("after is %.40q: it is the number of an exchange", after)
		}
	}
	return f, checked(f)
}

func checked(f journal.Filter) error {
	if err := f.Check(); err != nil {
		return bad("%v", err)
	}
	return nil
}

// number reads a whole number of the query.
func number(q url.Values, name string, usual, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, bad("%s is %.40q: it is a whole number from 0 to %d", name, text, most)
	}
	return n, nil
}
