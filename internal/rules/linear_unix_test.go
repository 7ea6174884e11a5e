//go:build unix

package rules_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// cpuTime returns the processor time that the process has used. Unlike the elapsed time, it hardly
// depends on other processes.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestJudgingIsLinear checks that the time to judge a stream grows linearly with the number of its
// events, however many messages or calls are open.
func TestJudgingIsLinear(t *testing.T) {
	const short, long = 500, 4000
	for _, s := range []struct{ dialect, target, ask, start, open, piece, stray, closed, end string }{
		{
			"agentscope@1.1", "/process", `{"input":[{"role":"user","type":"message","content":[{"type":"text","text":"conformance:text x"}]}],"stream":true,"session_id":"s1"}`,
			`{"sequence_number":0,"object":"response","status":"created","id":"r1","created_at":1795226757,"session_id":"s1"}`,
			`{"sequence_number":%N,"object":"message","status":"in_progress","id":"%M","type":"message","role":"assistant"}`,
			`{"sequence_number":%N,"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"msg_id":"%M","text":"x"}`,
			`{"sequence_number":%N,"object":"content","status":"in_progress","type":"text","index":0,"delta":true,"text":"x"}`,
			`{"sequence_number":%N,"object":"message","status":"completed","id":"%M","type":"message","role":"assistant","content":[]}`,
			`{"sequence_number":%N,"object":"response","status":"completed","id":"r1","created_at":1795226757,"session_id":"s1","completed_at":1795226805,"output":[]}`,
		}, {
			"agkit@0.0.10", "/send-message", `{"conversationId":"c","messages":[{"role":"user","content":"conformance:text x"}]}`,
			`{"type":"text","content":"x"}`,
			`{"type":"tool-call-start","toolCallId":"%M","toolCallName":"lookup"}`,
			`{"type":"tool-call-args","toolCallId":"%M","delta":"1"}`,
			`{"type":"tool-result","toolCallId":"%M","result":"x"}`,
			`{"type":"tool-call-end","toolCallId":"%M"}`,
			`[DONE]`,
		},
	} {
		d, err := dialect.Open(s.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for name, frames := range map[string][]string{
			"open": {s.open, s.piece}, "closed in order": {s.open, s.closed}, "strays": {s.open, s.stray}, "one long text": {s.start, s.start}, "ended again and again": {s.open, s.closed, s.end},
		} {
			t.Run(s.dialect+" "+name, func(t *testing.T) {
				judging := func(n int) time.Duration {
					var b strings.Builder
					for i, template := range append([]string{s.start}, frames...) {
						for m := range n {
							if i == 0 && m > 0 {
								break
							}
							b.WriteString("data: " + strings.NewReplacer("%N", strconv.Itoa(i*n+m), "%M", "m"+strconv.Itoa(m)).Replace(template) + "\n\n")
						}
					}
					b.WriteString("data: " + strings.ReplaceAll(s.end, "%N", strconv.Itoa(3*n)) + "\n\n")
					x := spec.Exchange{
						Request: spec.Request{Method: "POST", Target: s.target, Body: []byte(s.ask), Header: spec.Header{
							{Name: "Accept", Value: spec.EventStream}, {Name: "Content-Type", Value: "application/json"},
						}},
						Response: spec.Response{Status: 200, Body: []byte(b.String()), Header: spec.Header{{Name: "Content-Type", Value: spec.EventStream}}},
					}
					least := time.Duration(0)
					for range 3 {
						began := cpuTime(t)
						spec.Run(d.Plan(rules.All), d.Events(spec.Trace{Exchanges: []spec.Exchange{x}, TargetFacts: spec.TargetFacts{Scripted: true}}), nil)
						if took := cpuTime(t) - began; least == 0 || took < least {
							least = took
						}
					}
					return least
				}
				a, b := time.Hour, time.Hour
				for attempt := 1; ; attempt++ { // the garbage collector may have used the processor
					a, b = min(a, judging(short)), min(b, judging(long))
					growth := float64(b) / float64(a)
					if growth <= 3*long/short {
						break
					} else if attempt == 10 {
						t.Errorf("%d times the events take %.0f times the time (%v and %v); expected linear growth", long/short, growth, a, b)
						break
					}
				}
			})
		}
	}
}
