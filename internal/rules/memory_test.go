package rules_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestOpenStateTakesLittleMemory checks that all checks together retain little memory for each open
// call or message.
func TestOpenStateTakesLittleMemory(t *testing.T) {
	const (
		things  = 20_000
		maxEach = 2560 // bytes, without those of the stream
	)
	for _, s := range []struct{ dialect, target, ask, start, open, end string }{
		{
			"agkit@0.0.10", "/send-message",
			`{"conversationId":"c","messages":[{"role":"user","content":"x"}],"tools":[{"name":"look","description":"d","parameters":{"type":"object"}}]}`,
			"",
			`{"type":"tool-call-start","toolCallId":"%M","toolCallName":"lookup"}`,
			`[DONE]`,
		}, {
			"agentscope@1.1", "/process",
			`{"input":[{"role":"user","type":"message","content":[{"type":"text","text":"x"}]}],"stream":true,"session_id":"s1"}`,
			`{"sequence_number":0,"object":"response","status":"created","id":"r1","created_at":1795226757,"session_id":"s1"}`,
			`{"sequence_number":%N,"object":"message","status":"in_progress","id":"%M","type":"message","role":"assistant"}`,
			`{"sequence_number":%N,"object":"response","status":"completed","id":"r1","created_at":1795226757,"session_id":"s1","completed_at":1795226805,"output":[]}`,
		},
	} {
		t.Run(s.dialect, func(t *testing.T) {
			d, err := dialect.Open(s.dialect)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if s.start != "" {
				b.WriteString("data: " + s.start + "\n\n")
			}
			for n := range things {
				b.WriteString("data: " + strings.NewReplacer("%N", strconv.Itoa(n+1), "%M", "m"+strconv.Itoa(n)).Replace(s.open) + "\n\n")
			}
			b.WriteString("data: " + strings.ReplaceAll(s.end, "%N", strconv.Itoa(things+1)) + "\n\n")
			x := spec.Exchange{
				Request: spec.Request{Method: "POST", Target: s.target, Body: []byte(s.ask), Header: spec.Header{
					{Name: "Accept", Value: spec.EventStream}, {Name: "Content-Type", Value: "application/json"},
				}},
				Response: spec.Response{Status: 200, Body: []byte(b.String()), Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}},
			}
			before, peak, frames := live(), uint64(0), 0
			spec.Run(d.Plan(rules.All), func(yield func(spec.Event) bool) {
				for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
					if e.IsFrame() {
						if frames++; frames == things {
							peak = live()
						}
					}
					if e.Kind == spec.HTTPRequest && len(e.Violations) > 0 {
						t.Errorf("the request is invalid: %v", e.Violations)
					}
					if !yield(e) {
						return
					}
				}
			}, nil)
			if each := (int64(peak) - int64(before)) / things; peak == 0 || each > maxEach {
				t.Errorf("%d frames: %d bytes retained for each open call or message, want at most %d", frames, each, maxEach)
			} else {
				t.Logf("%d bytes for each", each)
			}
		})
	}
}

// live returns the number of bytes in use on the heap.
func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
