package mutation

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// rangeMutants are servers that refuse valid values at the end of a documented range, or unusual
// values such as leap days.
var rangeMutants = []*Mutant{
	{
		Name: "longest-run-id-stream-refused", Doc: "refuses a stream request with a run id of the maximum length",
		Needs:     []spec.Kind{spec.RunAccepted},
		KilledBy:  map[string]string{"wire.opens-stream": "http.response"},
		AlsoFails: append([]string{acceptsAsDocumented}, alsoIfRefused...),
		Middleware: refuseRequests(func() {}, func(v parsedRequest) bool {
			return v.isOperation("listen") && len(v.parsed().Run) == v.dialect.MaxRunID("listen")
		}),
	}, {
		Name: "longest-run-id-cancel-refused", Doc: "refuses a cancel request with a run id of the maximum length",
		Needs:     []spec.Kind{spec.RunAccepted},
		KilledBy:  map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails: append([]string{repliesAsPromised}, alsoIfRefused...),
		Middleware: refuseRequests(func() {}, func(v parsedRequest) bool {
			return v.isOperation("cancel") && len(v.parsed().Run) == v.dialect.MaxRunID("cancel")
		}),
	}, {
		Name: "history-leap-day-refused", Doc: "refuses a request for the history before a leap day",
		Needs:      []spec.Kind{spec.History, "slot.day"},
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  append([]string{repliesAsPromised}, alsoIfRefused...),
		Middleware: refuseHistory(func(day string) bool { return strings.HasSuffix(day, "-02-29") }),
	}, {
		Name: "history-other-century-refused", Doc: "refuses a request for the history before a day of another century",
		Needs:      []spec.Kind{spec.History, "slot.day"},
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  append([]string{repliesAsPromised}, alsoIfRefused...),
		Middleware: refuseHistory(func(day string) bool { return day != "" && !strings.HasPrefix(day, "20") }),
	},
}

// refuseHistory returns a middleware that makes the server refuse the valid requests for a history
// for which refuses(day) is true. The argument day is the day before which the history is
// requested, in the form YYYY-MM-DD, or "" if the request names no day.
func refuseHistory(refuses func(day string) bool) middleware {
	return refuseRequests(func() {}, func(v parsedRequest) bool {
		return v.isOperation("history") && refuses(v.parsed().Day)
	})
}
