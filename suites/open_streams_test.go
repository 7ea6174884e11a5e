package suites

import (
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestOpenStreams checks that all conversations together open no more streams than the stream limit
// of the target, so that a server that enforces the limit refuses none of them.
func TestOpenStreams(t *testing.T) {
	t.Parallel()
	const limit = 4
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	target := startTarget(t, d, reference.New(d, reference.Scripted, reference.Config{
		Limits: reference.Limits{StreamsPerUser: limit},
	}))
	target.StreamLimit, target.ClaimedCapabilities = limit, []string{"scripted"}
	target.Only = []string{"closes", "idle-limit", "similar-runs", "two-readers"}
	parts, err := Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for _, p := range parts {
		for _, x := range p.Trace.Exchanges {
			o := d.Operation(x.Request)
			if o == nil || !o.IsStream {
				continue
			}
			if streams++; x.Response.Status == 429 {
				t.Errorf("%s: stream refused: %s", p.Scenario.Name, x.Request.Target)
			}
		}
	}
	if streams <= limit {
		t.Errorf("only %d streams were requested", streams)
	}
}
