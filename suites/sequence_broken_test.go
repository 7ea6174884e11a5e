package suites_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// amnesia returns a faulty server: after it refuses the second request of a conversation, it has
// forgotten the first. The handler right is a correct server.
func amnesia(right http.Handler) http.Handler {
	var mu sync.Mutex
	accepted, lost := map[string]int{}, map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var said struct {
			ConversationID string `json:"conversationId"`
		}
		if json.Unmarshal(body, &said) == nil && said.ConversationID != "" {
			mu.Lock()
			anew := fmt.Sprint(said.ConversationID, "-", lost[said.ConversationID])
			mu.Unlock()
			body = bytes.ReplaceAll(body, []byte(`"`+said.ConversationID+`"`), []byte(`"`+anew+`"`))
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		refused := &watched{ResponseWriter: w}
		right.ServeHTTP(refused, r)
		mu.Lock()
		defer mu.Unlock()
		if refused.status < 400 {
			accepted[said.ConversationID]++
		} else if accepted[said.ConversationID] == 1 {
			lost[said.ConversationID]++
		}
	})
}

// A watched is a ResponseWriter that stores the status code of the response.
type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// eavesdropped returns a faulty server: once it has refused another user's request about a run, it
// leaves out the last event of the streams of that run. The handler right is a correct server.
func eavesdropped(right http.Handler) http.Handler {
	var mu sync.Mutex
	touched := map[string]bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := r.URL.Query().Get("runId")
		mu.Lock()
		cut := run != "" && touched[run] && strings.HasSuffix(r.URL.Path, "/events")
		mu.Unlock()
		if cut {
			whole := httptest.NewRecorder()
			right.ServeHTTP(whole, r)
			maps.Copy(w.Header(), whole.Header())
			w.WriteHeader(whole.Code)
			body := whole.Body.String()
			if last := strings.LastIndex(strings.TrimRight(body, "\n"), "\n\n"); whole.Code == http.StatusOK && last > 0 {
				body = body[:last+2]
			}
			_, _ = io.WriteString(w, body)
			return
		}
		answer := &watched{ResponseWriter: w}
		if right.ServeHTTP(answer, r); answer.status == http.StatusForbidden {
			mu.Lock()
			touched[run] = true
			mu.Unlock()
		}
	})
}

// TestSequencesFind checks that sequences find faults that no scenario finds, and that they are
// shrunk to the smallest number of actions that shows the fault.
func TestSequencesFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dialect string
		wrong         func(http.Handler) http.Handler
		law           string
		steps         int
	}{
		{"amnesia", "agkit", amnesia, "script.recall agkit.conv.history", 3},
		{"eavesdropped", "runs", eavesdropped, "run.ends runs.stream.no-early-end", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Open(c.dialect)
			if err != nil {
				t.Fatal(err)
			}
			all, sequences := wander(t, c.wrong(upright(t, d)), d, func(target *suites.Target) { target.Only = nil })
			for _, p := range all {
				isScenario := p.Scenario.Run != nil // and neither a sequence nor a combination
				if isScenario && slices.Contains(complaints(p), c.law) {
					t.Errorf("%s finds %s too", p.Scenario.Name, c.law)
				}
			}
			found, shortest := 0, ""
			for _, p := range sequences {
				if slices.Contains(complaints(p), c.law) {
					if found++; shortest == "" || steps(p) < strings.Count(shortest, ". ") {
						shortest = p.Scenario.Doc
					}
				}
			}
			t.Logf("%d of %d sequences find it: %s", found, len(sequences), shortest)
			if n := strings.Count(shortest, ". "); n != c.steps {
				t.Errorf("%s was found in %d steps, and %d are enough", c.law, n, c.steps)
			}
		})
	}
}

// steps returns the number of actions in the sequence of p.
func steps(p suites.ScenarioResult) int { return strings.Count(p.Scenario.Doc, ". ") }

// TestSequencesBudget checks that a sequence whose finding does not occur again is tried only a
// limited number of times, and that it is reported with all of its actions.
func TestSequencesBudget(t *testing.T) {
	d, err := dialect.Open("agentscope-java@1.0")
	if err != nil {
		t.Fatal(err)
	}
	right := upright(t, d)
	var asked atomic.Int64
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 12 {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\n\n")
			return
		}
		right.ServeHTTP(w, r)
	})
	_, played := wander(t, h, d, func(target *suites.Target) { target.Sequences, target.Parallel = 5, 1 })
	planned := 0
	var bad []suites.ScenarioResult
	for _, p := range played {
		planned += steps(p)
		if len(complaints(p)) > 0 {
			bad = append(bad, p)
		}
	}
	if len(bad) != 1 {
		t.Fatalf("%d sequences have findings", len(bad))
	}
	tries, of := 0, steps(bad[0])
	if _, said, _ := strings.Cut(bad[0].Scenario.Doc, "("); said != "" {
		_, _ = fmt.Sscanf(said, "no shorter sequence found in %d tries", &tries)
	}
	if tries < 1 || tries > 60 {
		t.Errorf("%s: %d steps were tried %d times", bad[0].Scenario.Doc, of, tries)
	}
	if most := int64(2*planned + 2*tries*of); asked.Load() > most { // two runs at once are two requests
		t.Errorf("%d requests for %d planned steps and %d tries", asked.Load(), planned, tries)
	}
}
