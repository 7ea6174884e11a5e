package mutation

import (
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// rangeMutants are servers that refuse valid values at the end of a documented range, or unusual
// values such as leap days.
var rangeMutants = []*Mutant{
	{
		Name: "longest-run-unheard", Doc: "a stream request with a run id of the greatest length is refused",
		Needs:     []spec.Kind{spec.RunAccepted},
		KilledBy:  map[string]string{"wire.opens-stream": "http.response"},
		AlsoFails: append([]string{acceptsAsDocumented, refusesAsDocumented}, contentChecks...), // as for any refused request
		Middleware: refuseRequests(func(v parsedRequest) bool {
			return v.isOperation("listen") && len(v.parsed().Run) == v.dialect.MaxRunID("listen")
		}),
	}, {
		Name: "longest-run-uncanceled", Doc: "a cancel request with a run id of the greatest length is refused",
		Needs:     []spec.Kind{spec.RunAccepted},
		KilledBy:  map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails: append([]string{repliesAsPromised, refusesAsDocumented}, contentChecks...), // as for any refused request
		Middleware: refuseRequests(func(v parsedRequest) bool {
			return v.isOperation("cancel") && len(v.parsed().Run) == v.dialect.MaxRunID("cancel")
		}),
	}, {
		Name: "leap-day-refused", Doc: "the history before a leap day is refused",
		Needs:      []spec.Kind{spec.History, "slot.day"},
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  append([]string{repliesAsPromised, refusesAsDocumented}, contentChecks...), // as for any refused request
		Middleware: refuseHistory(func(day string) bool { return strings.HasSuffix(day, "-02-29") }),
	}, {
		Name: "far-days-refused", Doc: "the history before a day of another century is refused",
		Needs:      []spec.Kind{spec.History, "slot.day"},
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  append([]string{repliesAsPromised, refusesAsDocumented}, contentChecks...), // as for any refused request
		Middleware: refuseHistory(func(day string) bool { return day != "" && !strings.HasPrefix(day, "20") }),
	},
}

// refuseHistory returns a middleware that makes the server refuse the valid requests for a history
// for which refuses(day) is true. The argument day is the day before which the history is
// requested, in the form YYYY-MM-DD, or "" if the request names no day.
func refuseHistory(refuses func(day string) bool) middleware {
	return refuseRequests(func(v parsedRequest) bool { return v.isOperation("history") && refuses(v.parsed().Day) })
}

// refuseRequests returns a middleware that makes the server refuse the valid requests for which
// refuses returns true. For each of them, it passes on an invalid variant of the request instead,
// so that the refusal is the server's own. A request that has no such variant is passed on
// unchanged.
func refuseRequests(refuses func(parsedRequest) bool) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		r := v.httpRequest
		if v.parsed().Valid() && refuses(v) {
			if bad, ok := v.withDefect(); ok {
				r = v.withRequest(bad)
			}
		}
		next.ServeHTTP(w, r)
	})
}
