package suites

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Limits on the repetition of requests that the server refused because it was busy.
const (
	// maxBusyRepetitions is the maximum number of repetitions of one request. The pauses before
	// them are 1, 2, 4 and 8 times conflictDelay. During these pauses, a server should detect that
	// the client has closed earlier streams.
	maxBusyRepetitions = 4

	// maxBusyRefusals is the number of requests in a test run whose last repetition the server may
	// refuse. After that, the client repeats no more requests.
	maxBusyRefusals = 16
)

// isBusyStatus reports whether status means that the server is busy: 429 (Too Many Requests) or 503
// (Service Unavailable).
func isBusyStatus(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// mayRepeat reports whether the client repeats r if the server is busy. The request must be one of
// [spec.PrimaryUser] that asks for a run or a stream. The result is false while the conversation
// tests the limit on streams.
func (t *Conversation) mayRepeat(r spec.Request) bool {
	o := t.dialect.Operation(r)
	return !t.testsLimit && r.Principal == spec.PrimaryUser && o != nil && (o.IsStream || o.StartsRun)
}

// ignoreBusyResponses returns a copy of limit whose functions are not called for responses with
// which the server refuses a request because it is busy. The functions then need not expect that
// the client repeats the request.
func ignoreBusyResponses(limit wire.StopWhen) wire.StopWhen {
	if until := limit.Until; until != nil {
		limit.Until = func(r spec.Response) bool { return !isBusyStatus(r.Status) && until(r) }
	}
	if linger := limit.Linger; linger != nil {
		limit.Linger = func(r spec.Response) (time.Duration, error) {
			if isBusyStatus(r.Status) {
				return 0, nil
			}
			return linger(r)
		}
	}
	return limit
}

// waitWhileBusy waits for the given pause if status, the status of the response to r, means that
// the server is busy. It reports whether the client can then repeat r, which it has already repeated n
// times. If the server has accepted no run yet, the client repeats r only once. If the server has,
// and is still busy after the last repetition, the conversation is incomplete.
func (t *Conversation) waitWhileBusy(r spec.Request, status, n int, pause time.Duration) bool {
	shared := t.target.resources
	if !isBusyStatus(status) {
		if status/100 == 2 {
			shared.acceptsRuns.Store(true)
		}
		return false
	}
	if t.dialect.Operation(r).IsStream {
		shared.streams.noteRefusal()
	}
	accepts := shared.acceptsRuns.Load()
	if shared.busyRefusals.Load() < maxBusyRefusals && (n == 0 || accepts && n < maxBusyRepetitions) {
		return t.Sleep(pause)
	}
	if shared.busyRefusals.Add(1); accepts {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.busyError = busyError(status)
	}
	return false
}

// statusOf returns the status of the response in exchange i, or 0 if there was none.
func (t *Conversation) statusOf(i int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trace.Exchanges[i].Response.Status
}

// A busyError is the reason why a conversation is incomplete if the server refused valid requests
// because it was busy. Its value is the status code of the last refusal.
type busyError int

func (e busyError) Error() string {
	return fmt.Sprintf("the server refused valid requests with status %d; a lower --parallel may help", int(e))
}
