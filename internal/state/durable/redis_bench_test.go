package durable

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/internal/state"
)

// BenchmarkRedisRuns measures starting a run, appending 12 events and ending the run, for 64 runs
// at a time.
func BenchmarkRedisRuns(b *testing.B) {
	for _, durable := range []string{"no", "yes"} {
		b.Run("appendonly="+durable, func(b *testing.B) {
			s := startRedis(b, "--appendonly", durable).open(b, state.Config{MaxRuns: 10_000})
			events := make([][]byte, 12)
			for i := range events {
				events[i] = []byte(strings.Repeat("x", 150))
			}
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range 64 {
				all.Go(func() {
					for {
						n := next.Add(1)
						if n > int64(b.N) {
							return
						}
						run := state.RunRef{Thread: "thread-" + strconv.FormatInt(n/10, 10), Run: "run-" + strconv.FormatInt(n, 10)}
						if err := play(b, s, run, events); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

func play(b *testing.B, s state.Store, run state.RunRef, events [][]byte) error {
	if _, err := s.StartRun(b.Context(), state.StartRunRequest{RunRef: run, Owner: "u", StartedAt: noon, KeepEvents: true}); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, _, err := s.Append(b.Context(), run, state.AppendBatch{Events: events}); err != nil {
		return fmt.Errorf("tell: %w", err)
	}
	_, _, err := s.Append(b.Context(), run, state.AppendBatch{End: true})
	return err
}
