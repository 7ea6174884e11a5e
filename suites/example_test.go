package suites_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// newHandler returns the server that the examples test. Use your own in its place.
func newHandler() http.Handler {
	d, err := dialect.Open("agkit@0.0.10")
	if err != nil {
		panic(err)
	}
	return reference.New(d, reference.Scripted, reference.Config{})
}

// startServer starts the server of [newHandler] and returns it with a target for it.
func startServer() (*httptest.Server, suites.Target) {
	d, err := dialect.Open("agkit@0.0.10")
	if err != nil {
		panic(err)
	}
	srv := httptest.NewServer(newHandler())
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		panic(err)
	}
	return srv, suites.Target{Dialect: d, Base: base}
}

// A handler is tested in one line of a Go test.
func ExampleTest() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		suites.Test(t, newHandler(), "agkit@0.0.10")
	}
}

// In a Ginkgo suite, each check in each scenario is a spec.
func ExampleDeclare() {
	d, err := dialect.Open("agkit@0.0.10")
	if err != nil {
		panic(err)
	}
	var srv *httptest.Server
	_ = ginkgo.BeforeSuite(func() { srv = httptest.NewServer(newHandler()) })
	_ = ginkgo.AfterSuite(func() { srv.Close() })
	_ = ginkgo.Describe("my agent", func() {
		suites.Declare(suites.Target{Dialect: d}, func() *url.URL {
			base, err := url.Parse(srv.URL + d.Base)
			gomega.Expect(err).NotTo(gomega.HaveOccurred())
			return base
		})
	})
}

// A scenario of one's own sends requests and reads the responses; the checks judge them.
func ExampleTarget_scenarios() {
	srv, target := startServer()
	defer srv.Close()
	target.Only = []string{"two-prompts"}
	target.Scenarios = []suites.Scenario{{
		Name: "two-prompts", Doc: "a prompt during the stream of another", Templates: []string{"prompt"},
		ExpectedChecks: []string{"wire.frames-are-json"}, Required: true,
		Run: func(c *suites.Conversation) {
			slow := c.BuildRequest("prompt", spec.Event{Text: "conformance:slow 5 20"})
			c.DuringStream(slow, 1, func() { // after the first event; returns when both have ended
				c.Thread = c.NewID()
				c.SendAndRead("prompt", spec.Event{Text: "conformance:text hello"})
			})
		},
	}}
	results, err := suites.Run(context.Background(), target, nil)
	if err != nil {
		panic(err)
	}
	for _, p := range results {
		worst := spec.Silent
		for _, r := range p.Evaluation.Results {
			worst = max(worst, r.Verdict)
		}
		fmt.Printf("%s: %d exchanges, %s\n", p.Scenario.Name, len(p.Trace.Exchanges), worst)
	}
	// Output:
	// two-prompts: 2 exchanges, passed
}

// A check of one's own judges every conversation, and is reported like those of the dialect.
func ExampleTarget_checks() {
	noMarkdown := &spec.Check{
		ID:  "house.no-markdown",
		Doc: "the answer has no Markdown headings\n\nThe widget that shows answers does not render them.",
		Watch: func(p *spec.Pass) func(spec.Event) {
			return func(e spec.Event) {
				if e.Kind == spec.MessageDelta {
					p.Judge(e, !strings.HasPrefix(e.Text, "#"), "the text %q begins with a heading, want none", e.Text)
				}
			}
		},
	}
	srv, target := startServer()
	defer srv.Close()
	target.Only = []string{"house.*"}
	target.PromptOverrides = map[string]string{"text": "conformance:text # Hello"}
	target.Checks = []spec.PlannedCheck{{Check: noMarkdown, Requirements: []spec.Requirement{{
		ID: "house.style", Level: spec.Should, Quote: "Answers are plain text.", Source: "derived: our style guide",
	}}}}
	results, err := suites.Run(context.Background(), target, nil)
	if err != nil {
		panic(err)
	}
	var all []spec.CheckResult
	for _, p := range results {
		if p.Scenario.Name == "text" {
			all = append(all, p.Evaluation.Results...)
		}
	}
	for _, r := range reports.RequirementResults(nil, all) {
		fmt.Printf("%s %s %s: %s\n", r.Level, r.ID, r.Verdict, r.Quote)
	}
	fmt.Println(all[0].Findings[0].Message)
	// Output:
	// SHOULD house.style warned: Answers are plain text.
	// the text "# " begins with a heading, want none
}
