package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// An everyThird is a correct server, except that every third response to the prompt
// conformance:messages has a second end marker.
type everyThird struct {
	http.Handler
	mu    sync.Mutex
	asked int
}

func (h *everyThird) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.Handler.ServeHTTP(w, r)
	if !bytes.Contains(body, []byte("conformance:messages")) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked++; h.asked%3 == 0 {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

func rightServer(t *testing.T, name string) http.Handler {
	t.Helper()
	d, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return reference.New(d, reference.Scripted, reference.Config{})
}

// flakyLaws reads a JSON report and returns the number of rounds and, for each flaky requirement,
// the number of rounds with each verdict.
func flakyLaws(t *testing.T, file string) (rounds int, flaky map[string]map[string]int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Rounds   int
		Dialects []struct {
			Requirements []struct {
				ID    string
				Flaky map[string]int
			}
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	flaky = map[string]map[string]int{}
	for _, d := range r.Dialects {
		for _, law := range d.Requirements {
			if law.Flaky != nil {
				flaky[law.ID] = law.Flaky
			}
		}
	}
	return r.Rounds, flaky
}

// TestRepeatFlakyTarget checks that --repeat reports a requirement that is violated in every third
// round as flaky.
func TestRepeatFlakyTarget(t *testing.T) {
	srv := httptest.NewServer(&everyThird{Handler: rightServer(t, "agkit")})
	defer srv.Close()
	dir := t.TempDir()
	code, out, said := streamassay(t, dir, "run", srv.URL, "--dialect", "agkit", "--only", "messages", "--repeat", "6", "--report", "json=r.json", "--transcripts", "all", "--seed", "3", "--report", "text")
	if code != exitFailed {
		t.Fatalf("exit %d: one round in three is broken\n%s%s", code, out, said)
	}
	rounds, flaky := flakyLaws(t, filepath.Join(dir, "r.json"))
	twice := false
	for id, n := range flaky {
		twice = twice || n["failed"] == 2 && n["passed"] == 4
		if n["failed"]+n["passed"]+n["warned"]+n["silent"] != 6 {
			t.Errorf("%s: %v are not six rounds", id, n)
		}
	}
	if rounds != 6 || !twice || !strings.Contains(out, "failed 2, passed 4") || !strings.Contains(out, "6 rounds") {
		t.Errorf("%d rounds, flaky: %v\n%s", rounds, flaky, out)
	}
	for _, round := range []string{"round-1", "round-6"} {
		if _, err := os.Stat(filepath.Join(dir, "all", round, "agkit@0.0.10", "messages.txtar")); err != nil {
			t.Error(err)
		}
	}
}

// TestRepeatReference checks that the reference has no flaky requirements in three rounds.
// scripts/steady.sh does the same two hundred times, under load.
func TestRepeatReference(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out, said := streamassay(t, dir, "run", "--dialect", "agkit", "--skip", "refusals", "--skip", "slow", "--skip", "payloads*", "--skip", "combination-*", "--repeat", "3", "--report", "json=r.json")
	rounds, flaky := flakyLaws(t, filepath.Join(dir, "r.json"))
	if code != exitOK || rounds != 3 || len(flaky) > 0 || !strings.Contains(out, "the same in 3 rounds") {
		t.Errorf("exit %d, %d rounds, flaky: %v\n%s%s", code, rounds, flaky, out, said)
	}
}

// TestRepeatFlakyHarness checks that verdicts that differ when the same conversation is judged
// again are reported as an internal error.
func TestRepeatFlakyHarness(t *testing.T) {
	srv := httptest.NewServer(rightServer(t, "agkit"))
	defer srv.Close()
	options := newTargetOptions()
	options.URL, options.Dialects, options.Repeat = srv.URL, []string{"agkit"}, 2
	options.suite.Only, options.suite.Seed = []string{"text"}, 9
	j, err := newTargetRun(options)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	j.reparse = func(p suites.ScenarioResult) (spec.Trace, error) {
		trace, err := reparseTranscript(p)
		if asked++; asked == 2 { // in the second round, a byte is lost
			body := &trace.Exchanges[0].Response.Body
			*body = bytes.Replace(*body, []byte(`{"`), []byte(`{`), 1)
		}
		return trace, err
	}
	var out bytes.Buffer
	sh := stdio{out: &out, err: io.Discard, env: func(string) string { return "" }}
	report, _, err := j.run(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	if asked != 2 || report.Exit != exitInternal || len(report.Harness) == 0 || !strings.HasPrefix(report.Harness[0], "round 2: agkit@0.0.10 text: ") {
		t.Errorf("read %d times, exit %d, what differed: %q", asked, report.Exit, report.Harness)
	}
	if err := writeReports(report, nil, sh, textStyle(sh, false)); err != nil || !strings.Contains(out.String(), "INTERNAL ERROR") {
		t.Errorf("%v\n%s", err, &out)
	}
	j.reparse = nil
	if report, _, err = j.run(t.Context(), sh); err != nil || report.Exit != exitOK {
		t.Errorf("with all bytes: %v, exit %d, %q", err, report.Exit, report.Harness)
	}
}
