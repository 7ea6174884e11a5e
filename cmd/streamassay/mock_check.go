package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// replyTimeout is the maximum duration of the run that [judgeReply] plays, and of each request in
// the run.
const replyTimeout = 5 * time.Second

// judgeReply plays one run of agent in dialect d, without a network, and judges the run with all
// checks. It returns the distinct messages about violations of MUST requirements, each with the id
// of the requirement. It is a [script.ConformanceCheckFunc].
func judgeReply(d *dialect.Dialect, agent reference.Agent) (wrong []string) {
	server := reference.New(d, agent, reference.Config{Limits: reference.Limits{RunDuration: replyTimeout}})
	defer func() { _ = server.Shutdown(context.Background()) }()
	const thread, run = "00000000-0000-4000-8000-000000000001", "run-1"
	var trace spec.Trace
	for _, template := range []string{"prompt", "listen"} {
		if _, ok := d.TemplateOperation(template); !ok {
			continue
		}
		r, err := d.BuildRequest(template, spec.Event{Thread: thread, Run: run, Text: "hello"})
		if err != nil {
			return []string{err.Error()}
		}
		trace.Exchanges = append(trace.Exchanges, sendToHandler(server, d, r))
	}
	for _, result := range spec.Run(d.Plan(rules.All), d.Events(trace), nil).Results {
		for _, f := range result.Findings {
			r := result.PlannedCheck.Requirement(f)
			if text := fmt.Sprintf("%s (%s)", f.Message, r.ID); r.Level == spec.Must && !slices.Contains(wrong, text) {
				wrong = append(wrong, text)
			}
		}
	}
	return wrong
}

// sendToHandler calls the handler h with the request r, whose target is relative to the base path
// of dialect d. It returns r and the response as one exchange.
func sendToHandler(h http.Handler, d *dialect.Dialect, r spec.Request) spec.Exchange {
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	x := spec.Exchange{Request: r, Response: spec.Response{Proto: "HTTP/1.1", Framing: spec.FramingChunked}}
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://127.0.0.1"+d.Base+r.Target, bytes.NewReader(r.Body))
	if err != nil { // cannot happen: BuildRequest returns valid requests
		return x
	}
	for _, f := range r.Header {
		req.Header.Add(f.Name, f.Value)
	}
	req.Header.Set("Authorization", "Bearer streamassay")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	x.Response.Status, x.Response.Body = w.Code, w.Body.Bytes()
	for name, values := range w.Header() {
		for _, v := range values {
			x.Response.Header = append(x.Response.Header, spec.HeaderField{Name: name, Value: v})
		}
	}
	return x
}
