package suites

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestEndpointURLs checks that the URLs in messages about a dialect without paths are those that
// are requested, with no slash appended.
func TestEndpointURLs(t *testing.T) {
	agui, err := dialect.Open("agui")
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"http://h/agent", "http://h/"} {
		u, _ := url.Parse(base)
		target := Target{Dialect: agui, Base: u}
		if got := target.url(exchangeSummary{requestTarget: "/"}); got != base {
			t.Errorf("got the URL %s, want %s", got, base)
		}
		o := exchangeSummary{operation: "POST /", header: spec.Header{{Name: "Location", Value: base + "/"}}}
		if got := redirectBase(agui, o); got != base+"/" {
			t.Errorf("redirected to %s/, got the base URL %s", base, got)
		}
	}
	agkit, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	if got := otherPromptOperations(agkit); !strings.Contains(got+",", "agui has POST /agent,") {
		t.Errorf("got %s", got)
	}
}

// TestRouteInBaseURL checks the advice about a path that is not found because the base URL already
// contains the route, or lacks the path of an endpoint.
func TestRouteInBaseURL(t *testing.T) {
	runs, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	agui, err := dialect.Open("agui")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		dialect         *dialect.Dialect
		operation, path string
		want            string
	}{
		{runs, "POST /runs", "/v1/agent/runs", "the base URL already ends in /runs: use http://h/v1/agent"},
		{runs, "POST /runs", "/v1/agent", "either the base URL or the dialect is wrong: other dialects"},
		{agui, "POST /", "", "for agui, TARGET is the URL of the endpoint itself, e.g. http://h/agent"},
		{agui, "POST /", "/", "for agui, TARGET is the URL of the endpoint itself, e.g. http://h/agent"},
		{agui, "POST /", "/wrong", "either the base URL or the dialect is wrong: other dialects"},
	} {
		o := exchangeSummary{operation: test.operation, status: 404}
		target := Target{Dialect: test.dialect, Base: &url.URL{Scheme: "http", Host: "h", Path: test.path}}
		_, advice := Cause{Kind: symptomNotFound, exchange: o}.text(target)
		if !strings.HasPrefix(advice, test.want) {
			t.Errorf("%s: advice %q, want %q", test.path, advice, test.want)
		}
	}
}

// TestElapsedTime checks that a test run which continues others ends when they have used up the
// time, and that the reason names the whole time.
func TestElapsedTime(t *testing.T) {
	agkit, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Dialect: agkit, Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}
	target.Limits.RunTimeout, target.Limits.RunElapsed = 6*time.Second, 7*time.Second
	parts, err := Run(t.Context(), target, nil)
	const want = "the run was stopped after 6s (--max-time)"
	if err != nil || len(parts) == 0 || parts[0].IncompleteReason == nil || parts[0].IncompleteReason.Error() != want {
		t.Errorf("%v, %+v, want %q", err, parts, want)
	}
}

// TestSimilarDialect checks how large the share of valid events must be for a stream to look like
// one of another dialect.
func TestSimilarDialect(t *testing.T) {
	own, err := dialect.Open("agentscope")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		valid, frames int
		want          string
	}{
		{100, 100, "agkit@0.0.10"}, {80, 100, "agkit@0.0.10"}, {4, 5, "agkit@0.0.10"},
		{159, 200, ""}, {79, 100, ""}, {0, 100, ""}, {0, 0, ""},
	} {
		body := strings.Repeat("data: {\"type\":\"text\",\"content\":\"x\"}\n\n", test.valid) +
			strings.Repeat("data: {\"object\":\"chat.completion.chunk\"}\n\n", test.frames-test.valid)
		if got := similarDialect(own, []byte(body)); got != test.want {
			t.Errorf("%d of %d events are valid: got %q, want %q", test.valid, test.frames, got, test.want)
		}
	}
}
