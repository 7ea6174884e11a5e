package script

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStateIsSharedRightly checks that concurrent requests never exceed a limit on matches,
// scenario steps or quotas.
func TestStateIsSharedRightly(t *testing.T) {
	set := loaded(t, `
rules:
- {name: once, when: {text: once}, times: 7, reply: yes}
- {name: step, when: {text: step, state: {s: started}}, set: {s: taken}, reply: yes}
- {name: quota, when: {text: quota}, quota: {requests: 5, per: 1m}, reply: 'no {{seq}} {{uuid}}'}
`)
	st := NewState()
	var once, step, quota atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				for text, count := range map[string]*atomic.Int32{"once": &once, "step": &step, "quota": &quota} {
					f := userRequest(text)
					f.Parsed.Thread = fmt.Sprint(i, n)
					d := set.Decide(f, st)
					if d.Rule != nil && d.Reply.Refusal == nil {
						count.Add(1)
						_ = describeEvents(d)
					}
				}
				st.ScenarioSteps()
			}
		})
	}
	all.Wait()
	if once.Load() != 7 || step.Load() != 1 || quota.Load() != 5 {
		t.Errorf("times %d of 7, step %d of 1, quota %d of 5", once.Load(), step.Load(), quota.Load())
	}
}

func TestStateIsBounded(t *testing.T) {
	st := NewState()
	for i := range 3 * maxThreads {
		st.recordTurn(fmt.Sprint(i), "", turnEvidence{endsWithUser: true})
		st.SetStep(fmt.Sprint("s", i), "x")
		st.recordCall(fmt.Sprint(i), strings.Repeat("x", 3))
	}
	for name, n := range map[string][2]int{
		"threads": {len(st.threads.recent) + len(st.threads.old), maxThreads},
		"steps":   {len(st.ScenarioSteps()), maxScenarios},
		"calls":   {len(st.clientCalls.recent) + len(st.clientCalls.old), maxCalls},
	} {
		if n[0] > n[1] || n[0] < n[1]/2 {
			t.Errorf("%d %s are remembered, of %d", n[0], name, n[1])
		}
	}
	if tool := st.toolName(fmt.Sprint(3*maxThreads - 1)); tool != "xxx" {
		t.Errorf("the newest is forgotten: %q", tool)
	}
}

func TestAQuotaBeginsAgain(t *testing.T) {
	r := &Rule{counterKey: "k", ruleDocument: ruleDocument{Quota: rateLimit{2, durationValue(time.Minute)}}}
	st, now := NewState(), time.Unix(0, 0)
	for i, want := range []time.Duration{0, 0, time.Minute} {
		if _, after := st.claim(r, now); after != want {
			t.Errorf("request %d waits for %v", i, after)
		}
	}
	if _, after := st.claim(r, now.Add(time.Minute)); after != 0 {
		t.Errorf("a minute later it waits for %v", after)
	}
	if _, after := st.claim(r, now.Add(-time.Hour)); after != 0 {
		t.Errorf("after the clock was set back it waits for %v", after)
	}
}
