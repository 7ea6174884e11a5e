package reference

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestClientLeaves checks that a run continues without clients if its stream can be resumed, and is
// canceled otherwise.
func TestClientLeaves(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		synctest.Test(t, func(t *testing.T) {
			var stopped time.Duration
			agent := func(ctx context.Context, turn Turn) iter.Seq[spec.Event] {
				began := time.Now()
				context.AfterFunc(ctx, func() { stopped = time.Since(began) })
				return Scripted(ctx, turn)
			}
			k := newTestClient(t, d, agent, Config{})
			listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 10 100"})
			p := k.start(listen, nil)
			wait(250 * time.Millisecond)
			p.leave()
			<-p.done
			synctest.Wait()
			_, again := d.TemplateOperation("listen")
			if !again && stopped != 250*time.Millisecond {
				t.Errorf("nobody can listen any more, and the run went on for %v", stopped)
			}
			if again {
				if got := kinds(k.events(listen, k.do(listen))); strings.Count(got, "message.delta") != 10 || !strings.HasSuffix(got, "run.end") {
					t.Errorf("heard again: %s", got)
				}
			}
			k.close()
		})
	})
}

// TestShutdown checks that Shutdown cancels runs and that open streams receive the terminal event.
func TestShutdown(t *testing.T) {
	each(t, func(t *testing.T, d *dialect.Dialect) {
		synctest.Test(t, func(t *testing.T) {
			k := newTestClient(t, d, Scripted, Config{})
			listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:slow 100 100"})
			p := k.start(listen, nil)
			var waiting *recordedResponse
			if _, ok := d.TemplateOperation("listen"); ok {
				waiting = k.start(k.messageRequest("listen", spec.Event{Run: "run-unknown"}), nil)
			}
			wait(250 * time.Millisecond)
			began := time.Now()
			k.close()
			<-p.done
			if waiting != nil {
				<-waiting.done
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("it took %v", took)
			}
			if got := kinds(k.events(listen, p)); !strings.HasSuffix(got, "message.delta run.error") {
				t.Errorf("got %s", got)
			}
			if p := k.do(listen); p.status != 503 {
				t.Errorf("asked afterwards: %d %s", p.status, p.bytes())
			}
			k.close() // once more does no harm
		})
	})
}

// TestShutdownGivesUp checks that a client that reads nothing delays Shutdown only until its
// context is done.
func TestShutdownGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "agentscope@1.1"), Scripted, Config{})
		full := make(chan struct{})
		p := k.start(k.messageRequest("prompt", spec.Event{Text: "hi"}), full)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := k.s.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "agentscope@1.1") {
			t.Errorf("shut down with %v", err)
		}
		close(full)
		<-p.done
		k.close()
	})
}

// TestAgents checks that the stream is that of a valid run, whatever events an agent emits.
func TestAgents(t *testing.T) {
	say := func(events ...spec.Event) Agent {
		return func(context.Context, Turn) iter.Seq[spec.Event] {
			return func(yield func(spec.Event) bool) {
				for _, e := range events {
					if !yield(e) {
						return
					}
				}
			}
		}
	}
	message := []spec.Event{{Kind: spec.MessageStart, Message: "m"}, {Kind: spec.MessageDelta, Message: "m", Text: "hi"}}
	for name, c := range map[string]struct {
		agent Agent
		want  string
	}{
		"says nothing":         {say(), "run.start run.progress run.end"},
		"forgets to end":       {say(message...), "run.start run.progress message.start message.delta content.end message.end run.end"},
		"forgets to begin":     {say(append(message[1:], spec.Event{Kind: spec.RunEnd})...), "run.start run.progress message.start message.delta content.end message.end run.end"},
		"goes on after an end": {say(append([]spec.Event{{Kind: spec.RunError, Text: "x"}}, message...)...), "run.start run.progress run.error"},
		"starts twice":         {say(spec.Event{Kind: spec.RunStart}, spec.Event{Kind: spec.RunStart}), "run.start run.progress run.end"},
		"says what it may not": {say(spec.Event{Kind: spec.Health}, spec.Event{Kind: "made.up"}), "run.start run.progress run.error"},
		"talks of steps":       {say(spec.Event{Kind: spec.StepStart, Name: "x"}), "run.start run.progress run.end"},
		"panics": {func(context.Context, Turn) iter.Seq[spec.Event] {
			return func(yield func(spec.Event) bool) {
				yield(message[0])
				panic("a secret")
			}
		}, "run.start run.progress message.start run.error"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTestClient(t, mustDialect(t, "agentscope@1.1"), c.agent, Config{})
			defer k.close()
			events := k.runEvents("prompt", spec.Event{Text: "hi"})
			if got := kinds(events); got != c.want {
				t.Errorf("got %s", got)
			}
			for _, e := range events {
				if strings.Contains(string(e.Raw), "secret") {
					t.Errorf("gave away %s", e.Raw)
				}
			}
		})
	}
}

func TestMaxRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTestClient(t, mustDialect(t, "runs@2026-04"), Scripted, Config{Limits: Limits{RunDuration: time.Minute}})
		defer k.close()
		listen := k.sendPrompt("prompt", spec.Event{Text: "conformance:idle 3600000"})
		began := time.Now()
		end := last(k.events(listen, k.do(listen)), spec.RunError)
		if end.Code != "RUN_FAILED" || end.Text != errRunTimeout.text || time.Since(began) != time.Minute {
			t.Errorf("%v %q %q after %v", end.Err, end.Code, end.Text, time.Since(began))
		}
	})
}
