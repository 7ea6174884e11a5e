package durable

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamassay/streamassay/internal/state"
)

func TestMemory(t *testing.T) {
	contract(t, func(t *testing.T, cfg state.Config) state.Store { return state.NewMemory(cfg) })
}

// TestMemoryInBubble checks that a store in memory can be used in a synctest bubble, where
// goroutines of the store would keep the time from advancing.
func TestMemoryInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &probe{T: t, s: state.NewMemory(state.Config{})}
		changed, stop := p.s.Watch("t")
		defer stop()
		run := p.run("t", "r")
		<-changed
		start := time.Now()
		go func() {
			<-time.After(time.Hour)
			if _, _, err := p.s.Append(t.Context(), run, state.AppendBatch{Events: [][]byte{[]byte("x")}}); err != nil {
				t.Error(err)
			}
			if err := p.s.Cancel(t.Context(), run); err != nil {
				t.Error(err)
			}
		}()
		<-changed
		if got := <-p.s.Canceled(); got != run || time.Since(start) != time.Hour {
			t.Errorf("%q is to be stopped after %v", got, time.Since(start))
		}
		p.hears(run, "1:x")
		if err := p.s.Close(); err != nil {
			t.Error(err)
		}
	})
}
