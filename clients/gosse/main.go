// Command gosse reads event streams with github.com/tmaxmax/go-sse. It reads jobs from
// standard input, one per line, and writes for each what the client received.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tmaxmax/go-sse"
)

// A streamRequest is one event stream to read, as decoded from the JSON object on a line of
// standard input.
type streamRequest struct {
	Job      int               `json:"job"`  // number of the job, which the result repeats
	Kind     string            `json:"kind"` // "again": the client reconnects; "once": it does not; see ending
	URL      string            `json:"url"`
	First    map[string]string `json:"first"`    // header of the first request
	Every    map[string]string `json:"every"`    // header of every request
	Patience int               `json:"patience"` // maximum time without an event, in milliseconds
}

// A receivedEvent is an event that the client received.
type receivedEvent struct {
	ID   string `json:"id"` // last event ID: the id of this event or, if it has none, of an earlier one
	Data string `json:"data"`
}

// A receivedStream is what the client received for a job.
type receivedStream struct {
	Job    int             `json:"job"` // number of the job
	Events []receivedEvent `json:"events"`
	End    string          `json:"end"`             // "ends", "waits", "endless" or "error"; see ending
	Error  string          `json:"error,omitempty"` // description of the error if End is "error"
}

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var j streamRequest
		if err := json.Unmarshal(in.Bytes(), &j); err != nil {
			panic(err)
		}
		wg.Go(func() {
			r := read(j)
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(r) // who does not listen has ended
		})
	}
	wg.Wait()
}

// maxRequests is the maximum number of requests of one job. A client that wants to send another
// request is stopped.
const maxRequests = 4

// A headerTransport is an http.RoundTripper that sets the header of each request of a job and
// limits the number of requests.
type headerTransport struct {
	job      streamRequest
	end      func() // stops the client
	requests int    // number of requests sent
}

// RoundTrip sends r with the header of the job. If maxRequests requests were sent already, it stops
// the client and returns errEndless.
func (s *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.requests == maxRequests {
		s.end()
		return nil, errEndless
	}
	r = r.Clone(r.Context())
	if s.requests == 0 {
		set(r.Header, s.job.First)
	}
	set(r.Header, s.job.Every)
	s.requests++
	return http.DefaultTransport.RoundTrip(r)
}

// errEndless is the error for a request that exceeds maxRequests.
var errEndless = errors.New("it does not stop coming back")

// set sets the given fields in h. They replace fields of the same names.
func set(h http.Header, fields map[string]string) {
	for name, value := range fields {
		h.Set(name, value)
	}
}

// read runs the job j and returns what the client received. It panics if the URL of the job is
// invalid.
func read(j streamRequest) receivedStream {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	patience := time.Duration(j.Patience) * time.Millisecond
	quiet := time.AfterFunc(patience, end)
	defer quiet.Stop()

	transport := &headerTransport{job: j, end: end}
	client := sse.Client{
		HTTPClient: &http.Client{Transport: transport},
		Backoff:    sse.Backoff{InitialInterval: 100 * time.Millisecond, Multiplier: 1, Jitter: -1},
	}
	if j.Kind == "once" {
		client.Backoff.MaxRetries = -1
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, j.URL, http.NoBody)
	if err != nil {
		panic(err)
	}
	r := receivedStream{Job: j.Job, Events: []receivedEvent{}}
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(e sse.Event) {
		quiet.Reset(patience)
		r.Events = append(r.Events, receivedEvent{e.LastEventID, e.Data})
	})
	err = connection.Connect()
	r.End, r.Error = ending(err, j.Kind, transport.requests)
	return r
}

// ending returns how a connection ended. The parameter err is the error from the connection, kind
// is the kind of the job, and requests is the number of requests that were sent. The result end is
// "ends" for a regular end, "endless" if the client was stopped after maxRequests requests, "waits"
// if it was stopped earlier because nothing arrived, and "error" for any other error. Only in the
// last case, text is not "": it describes the error. If kind is "once", io.EOF is a regular end, as
// in the README of go-sse for streams of model output.
func ending(err error, kind string, requests int) (end, text string) {
	var failed *sse.ConnectionError
	switch {
	case err == nil: // it happens: see ../faults/said.mjs
		return "ends", ""
	case requests == maxRequests && errors.Is(err, context.Canceled), errors.Is(err, errEndless):
		return "endless", ""
	case errors.Is(err, context.Canceled):
		return "waits", ""
	case kind == "once" && errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return "ends", ""
	case errors.As(err, &failed):
		why := failed.Err.Error()
		if i := strings.Index(why, "->"); i >= 0 { // addresses: they differ
			why = why[strings.LastIndex(why, ": ")+2:]
		}
		return "error", failed.Reason + ": " + why
	}
	return "error", err.Error()
}
