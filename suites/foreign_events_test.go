package suites

import (
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestForeignEvents checks that a recording is foreign only if none of its streams has the events
// of the dialect, whether or not the dialect allows unknown events.
func TestForeignEvents(t *testing.T) {
	const (
		agkit = "data: {\"type\":\"text\",\"content\":\"x\"}\n\n"
		runs  = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
		chunk = "data: {\"object\":\"chat.completion.chunk\"}\n\n"
	)
	for _, c := range []struct {
		name, dialect string
		bodies        []string
		like          string
		foreign       bool
	}{
		{"its own", "agkit", []string{agkit}, "", false},
		{"unknown events are invalid", "runs", []string{agkit}, "agkit@0.0.10", true},
		{"unknown events are allowed", "agui", []string{agkit}, "agkit@0.0.10", true},
		{"unknown events are allowed, too", "agkit", []string{runs}, "runs@2026-04", true},
		{"no known dialect", "runs", []string{chunk}, "", true},
		{"the second is known", "runs", []string{chunk, agkit}, "agkit@0.0.10", true},
		{"one of two", "agkit", []string{runs, agkit}, "", false},
		{"not JSON", "agkit", []string{"data: {{\n\n"}, "", true},
		{"no events", "agkit", []string{"", "data: [DONE]\n\n"}, "", false},
	} {
		d, err := dialect.Open(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		var trace spec.Trace
		for _, body := range c.bodies {
			trace.Exchanges = append(trace.Exchanges, spec.Exchange{Response: spec.Response{
				Status: 200, Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}, Body: []byte(body),
			}})
		}
		if like, foreign := ForeignEvents(d, trace); like != c.like || foreign != c.foreign {
			t.Errorf("%s: got %q, %t, want %q, %t", c.name, like, foreign, c.like, c.foreign)
		}
	}
}
