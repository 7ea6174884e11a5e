package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestMissingReply checks that the finding about a request that got no response states the reason.
func TestMissingReply(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.BuildRequest("prompt", spec.Event{Thread: "5d5c2893-7646-48a5-adc6-eee278442445", Run: "0b6ec1c3-39e2-4ba4-9b0c-5d1f2f0c6f0e", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	x := spec.Exchange{Request: r, Response: spec.Response{End: fmt.Errorf("%w: sent nothing for 15s", spec.ErrIdleTimeout)}}
	h := spec.Run(d.Plan(rules.All), d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}), nil)
	var said []string
	for _, result := range h.Results {
		for _, f := range result.Findings {
			if result.PlannedCheck.Check == rules.ReplyAsPromised {
				said = append(said, f.Message)
			}
		}
	}
	want := "no response (the idle timeout expired: sent nothing for 15s); expected status 202 with application/json"
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
