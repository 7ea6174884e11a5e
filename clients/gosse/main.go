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

type job struct {
	Job      int               `json:"job"`
	Kind     string            `json:"kind"` // "again": as it is by default; "once": as its README has it for answers of models
	URL      string            `json:"url"`
	First    map[string]string `json:"first"` // headers of the first request
	Every    map[string]string `json:"every"`
	Patience int               `json:"patience"` // milliseconds
}

type event struct {
	ID   string `json:"id"`
	Data string `json:"data"`
}

type result struct {
	Job    int     `json:"job"`
	Events []event `json:"events"`
	End    string  `json:"end"`
	Error  string  `json:"error,omitempty"`
}

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var j job
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

// mostAsks is how often a client that comes back may ask, here.
const mostAsks = 4

// headed is a transport that sets headers, and counts.
type headed struct {
	job  job
	end  func()
	asks int
}

func (s *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.asks == mostAsks {
		s.end()
		return nil, errEndless
	}
	r = r.Clone(r.Context())
	if s.asks == 0 {
		set(r.Header, s.job.First)
	}
	set(r.Header, s.job.Every)
	s.asks++
	return http.DefaultTransport.RoundTrip(r)
}

var errEndless = errors.New("it does not stop coming back")

func set(h http.Header, fields map[string]string) {
	for name, value := range fields {
		h.Set(name, value)
	}
}

func read(j job) result {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	patience := time.Duration(j.Patience) * time.Millisecond
	quiet := time.AfterFunc(patience, end)
	defer quiet.Stop()

	transport := &headed{job: j, end: end}
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
	r := result{Job: j.Job, Events: []event{}}
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(e sse.Event) {
		quiet.Reset(patience)
		r.Events = append(r.Events, event{e.LastEventID, e.Data})
	})
	err = connection.Connect()
	r.End, r.Error = ending(err, j.Kind, transport.asks)
	return r
}

// ending returns how a connection ended, and the text of the error. The package's README treats
// io.EOF as the regular end of a stream of model output.
func ending(err error, kind string, asks int) (end, text string) {
	var failed *sse.ConnectionError
	switch {
	case err == nil: // it happens: see ../faults/said.mjs
		return "ends", ""
	case asks == mostAsks && errors.Is(err, context.Canceled), errors.Is(err, errEndless):
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
