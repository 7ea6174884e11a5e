package vary_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/vary"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// recorded runs scenarios of the suite against the reference in every dialect and returns the
// results by the name of the dialect. It leaves out the scenarios that send the same forms of
// requests with other texts. Unless the environment variable VARY_SEEDS is set, it runs only one in
// five of the others.
func recorded() map[string][]suites.ScenarioResult {
	var names []string
	for i, s := range suites.Scenarios() {
		if os.Getenv("VARY_SEEDS") != "" || i%5 == 1 {
			names = append(names, s.Name)
		}
	}
	all := map[string][]suites.ScenarioResult{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, name := range dialect.Names() {
		wait.Go(func() {
			parts := record(name, names)
			mu.Lock()
			defer mu.Unlock()
			all[name] = parts
		})
	}
	wait.Wait()
	return all
}

// record runs the given scenarios against the reference in the dialect with the given name.
func record(name string, scenarios []string) []suites.ScenarioResult {
	d, err := dialect.Open(name)
	if err != nil {
		panic(err)
	}
	srv := httptest.NewServer(server(d))
	defer srv.Close()
	base, _ := url.Parse(srv.URL + d.Base)
	target := suites.Target{Dialect: d, Base: base, Only: scenarios, Skip: []string{"combination-*", "payloads*"}}
	known(&target)
	parts, err := suites.Run(context.Background(), target, nil)
	if err != nil {
		panic(err)
	}
	return parts
}

// TestLegal checks that conversations with varied responses cause no additional findings and decode
// to the same events. Each conversation is varied with another seed.
func TestLegal(t *testing.T) {
	seen := map[vary.Trait]bool{}
	seed := uint64(0)
	recordings := recorded()
	for _, name := range slices.Sorted(maps.Keys(recordings)) {
		parts := recordings[name]
		t.Run(name, func(t *testing.T) {
			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			exchanges, baseline := 0, 0
			for _, part := range parts {
				if part.Err != nil {
					t.Fatalf("%s was not played: %v", part.Scenario.Name, part.Err)
				}
				seed++
				v := vary.New(seed, d)
				for _, trait := range v.Traits() {
					seen[trait] = true
				}
				plain, varied := part.Trace, encodeTrace(v, seed, part.Trace)
				exchanges += len(varied.Exchanges)
				before := findings(d, plain)
				baseline += len(before)
				for _, f := range findings(d, varied) {
					if !slices.Contains(before, f) {
						t.Errorf("seed %d %v, %s: %s", seed, v.Traits(), part.Scenario.Name, f)
					}
				}
				if want, got := decodedEvents(d, plain), decodedEvents(d, varied); !reflect.DeepEqual(want, got) {
					t.Errorf("seed %d %v, %s: other events (-plain, +varied):\n%.3000s", seed, v.Traits(), part.Scenario.Name, cmp.Diff(want, got))
				}
			}
			t.Logf("%d exchanges, %d findings without variation", exchanges, baseline)
			if exchanges == 0 {
				t.Error("no exchange was recorded")
			}
		})
	}
	for _, trait := range vary.Traits {
		if !seen[trait] {
			t.Errorf("no conversation was varied with %s", trait)
		}
	}
}

// encodeTrace returns a copy of conversation t with varied responses. It also varies the cursors in
// requests that were sent in earlier responses.
func encodeTrace(v *vary.Variation, seed uint64, t spec.Trace) spec.Trace {
	handed := map[string]bool{} // cursors
	out := t
	out.Exchanges = nil
	for _, x := range t.Exchanges {
		if cursor := x.Request.Header.Get("Last-Event-ID"); handed[cursor] {
			x.Request.Header = x.Request.Header.Without("Last-Event-ID").With("Last-Event-ID", v.EncodeCursor(cursor))
		}
		seed++
		switch media := x.Response.Header.MediaType(); {
		case media == spec.EventStream:
			for line := range strings.Lines(string(x.Response.Body)) {
				if id, ok := strings.CutPrefix(line, "id: "); ok {
					handed[strings.TrimSpace(id)] = true
				}
			}
			x.Response.Body, x.Response.Arrivals = stream(v.NewStream(seed), x.Response)
		case strings.HasSuffix(media, "json"):
			before := len(x.Response.Body)
			x.Response.Body = v.EncodeReply(seed, x.Response.Body)
			if n := len(x.Response.Arrivals); n > 0 && before > 0 {
				last := x.Response.Arrivals[n-1]
				last.End = len(x.Response.Body)
				x.Response.Arrivals = []spec.Arrival{last}
			}
		}
		h := http.Header{}
		for _, f := range x.Response.Header {
			h.Add(f.Name, f.Value)
		}
		v.EncodeHeader(h)
		x.Response.Header = nil
		for name, values := range h {
			for _, value := range values {
				x.Response.Header = append(x.Response.Header, spec.HeaderField{Name: name, Value: value})
			}
		}
		out.Exchanges = append(out.Exchanges, x)
	}
	return out
}

// stream varies the body of r frame by frame. It returns the new body and the arrival times of the
// frames, with the offsets at which they end in the new body.
func stream(s *vary.StreamEncoder, r spec.Response) (body []byte, reads []spec.Arrival) {
	rest, at := r.Body, 0
	for len(rest) > 0 {
		n := len(rest)
		if i := bytes.Index(rest, []byte("\n\n")); i >= 0 {
			n = i + 2
		}
		body = append(body, bytes.Join(s.EncodeFrame(nil, rest[:n]), nil)...)
		rest, at = rest[n:], at+n
		for _, read := range r.Arrivals {
			if read.End >= at {
				reads = append(reads, spec.Arrival{At: read.At, End: len(body)})
				break
			}
		}
	}
	return body, reads
}

// findings returns the check and the message of each finding in a conversation.
func findings(d *dialect.Dialect, t spec.Trace) (all []string) {
	for _, r := range spec.Run(d.Plan(rules.All), d.Events(t), nil).Results {
		for _, f := range r.Findings {
			all = append(all, fmt.Sprintf("%s: %.500s", r.PlannedCheck.Check.ID, f.Message))
		}
	}
	return all
}

// decodedEvents returns the events of a conversation without what a variation may change: comments,
// requests, events of unknown types, and fields such as the raw form and the cursor.
func decodedEvents(d *dialect.Dialect, t spec.Trace) (all []spec.Event) {
	for e := range d.Events(t) {
		if e.Kind == spec.Comment || e.Kind == spec.HTTPRequest || e.Kind == spec.Unrecognized && e.IsFrame() {
			continue
		}
		e.Raw, e.EndsWithCR, e.Line, e.Offset, e.Frame, e.Fields, e.Header, e.At = nil, false, 0, 0, 0, nil, nil, time.Duration(0)
		e.Cursor = "" // compared by the rules about resuming
		all = append(all, normalizeEvent(e))
	}
	return all
}

// normalizeEvent replaces the error of an event by its text, because equal errors may be
// different values.
func normalizeEvent(e spec.Event) spec.Event {
	if e.Err != nil {
		e.Text, e.Err = e.Text+" "+e.Err.Error(), nil
	}
	return e
}
