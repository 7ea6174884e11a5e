package suites_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestLate checks that a server which always sends at once what its agent produces over time gets a
// finding, and that a server which does so only once, as on a busy machine, gets none. Nor does one
// if the run is interrupted before the scenario has been repeated often enough.
func TestLate(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		late int64 // answers that come at once
		last int64 // the answer after which the run is interrupted; 0: none
		want spec.Verdict
	}{
		{"never", 0, 0, spec.Passed}, {"once", 1, 0, spec.Passed}, {"always", 1000, 0, spec.Warned},
		{"interrupted", 1000, 2, spec.Silent},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
			defer interrupt()
			right := reference.New(d, reference.Scripted, reference.Config{})
			var asked atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
				r.Body = io.NopCloser(bytes.NewReader(body))
				if strings.Contains(string(body), "conformance:slow") && asked.Add(1) <= c.late {
					held := httptest.NewRecorder()
					right.ServeHTTP(held, r)
					w.Header().Set("Content-Type", held.Header().Get("Content-Type"))
					_, _ = w.Write(held.Body.Bytes())
					if asked.Load() == c.last {
						interrupt()
					}
					return
				}
				right.ServeHTTP(w, r)
			}))
			defer srv.Close()
			base, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := suites.Run(ctx, suites.Target{Dialect: d, Base: base, Only: []string{"slow"}, Seed: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			judged := false
			for _, p := range parts {
				for _, r := range p.Evaluation.Results {
					if r.PlannedCheck.Check.ID == "wire.flushes" && p.Scenario.Name == "slow" {
						judged = true
						if r.Verdict != c.want {
							t.Errorf("%s, not %s, after %d answers: %v", r.Verdict, c.want, asked.Load(), r.Findings)
						}
					}
				}
			}
			if !judged {
				t.Error("nobody judged it")
			}
		})
	}
}

// TestLateBesideAnotherDefect checks that a scenario in which deltas were late only at first, and
// which has a finding of another check, keeps only the other finding.
func TestLateBesideAnotherDefect(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	right := reference.New(d, reference.Scripted, reference.Config{})
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		r.Body = io.NopCloser(bytes.NewReader(body))
		held := httptest.NewRecorder()
		switch {
		case strings.Contains(string(body), "conformance:messages"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"type\":\"text\",\"content\":7}\n\ndata: [DONE]\n\n")
		case strings.Contains(string(body), "conformance:slow") && asked.Add(1) == 1:
			right.ServeHTTP(held, r)
			w.Header().Set("Content-Type", held.Header().Get("Content-Type"))
			_, _ = w.Write(held.Body.Bytes())
		default:
			right.ServeHTTP(w, r)
		}
	}))
	defer srv.Close()
	base, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	both := suites.Scenario{Name: "both", Templates: []string{"prompt"}, Run: func(c *suites.Conversation) {
		c.SendAndRead("prompt", c.PromptEvent("slow", "8 80"))
		c.SendAndRead("prompt", c.PromptEvent("messages", ""))
	}}
	target := suites.Target{
		Dialect: d, Base: base, ClaimedCapabilities: []string{"scripted"}, Scenarios: []suites.Scenario{both}, Only: []string{"both"}, Seed: 1,
	}
	parts, err := suites.Run(context.WithoutCancel(t.Context()), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			failed[r.PlannedCheck.Check.ID] = failed[r.PlannedCheck.Check.ID] || r.Verdict > spec.Passed
		}
	}
	if failed["wire.flushes"] || !failed["wire.matches-schema"] || asked.Load() < 2 {
		t.Errorf("after %d slow prompts, these checks failed: %v", asked.Load(), failed)
	}
}

// TestLongStreamExceedsTimeout checks that a long stream which exceeds the time-out once, as on a busy
// machine, is not a finding, and that one which exceeds it again is.
func TestLongStreamExceedsTimeout(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		slow int64 // number of streams that exceed the time-out
		want int   // number of findings
	}{{"once", 1, 0}, {"always", 1000, 1}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reference := reference.New(d, reference.Scripted, reference.Config{})
			var requests atomic.Int64
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
				r.Body = io.NopCloser(bytes.NewReader(body))
				if !strings.Contains(string(body), "conformance:many") || requests.Add(1) > c.slow {
					reference.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				comments := time.NewTicker(100 * time.Millisecond)
				defer comments.Stop()
				for {
					_, _ = io.WriteString(w, ": not yet\n\n")
					_ = http.NewResponseController(w).Flush()
					select {
					case <-comments.C:
					case <-r.Context().Done():
						return
					}
				}
			}))
			defer srv.Close()
			base, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			target := suites.Target{Dialect: d, Base: base, Only: []string{"many"}, Seed: 1, Timeout: 2 * time.Second}
			parts, err := suites.Run(context.WithoutCancel(t.Context()), target, nil)
			if err != nil {
				t.Fatal(err)
			}
			findings := 0
			for _, p := range parts {
				for _, r := range p.Evaluation.Results {
					if r.PlannedCheck.Check.ID == "wire.ends" {
						findings += len(r.Findings)
					}
				}
			}
			if findings != c.want || requests.Load() < 2 {
				t.Errorf("got %d findings after %d requests, want %d after 2 or more", findings, requests.Load(), c.want)
			}
		})
	}
}
