package durable

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamassay/streamassay/internal/state"
)

// benchmark measures starting a run, appending twelve events of 150 bytes each, and ending the run,
// for 64 runs at a time.
func benchmark(b *testing.B, s state.Store) {
	data := make([][]byte, 12)
	for i := range data {
		data[i] = []byte(strings.Repeat("x", 150))
	}
	each(b, func(i int64) error {
		run := state.RunRef{Thread: fmt.Sprint("thread ", i), Run: fmt.Sprint("run ", i)}
		if _, err := s.StartRun(b.Context(), state.StartRunRequest{RunRef: run, Owner: "u", KeepEvents: true}); err != nil {
			return err
		}
		if _, _, err := s.Append(b.Context(), run, state.AppendBatch{Events: data}); err != nil {
			return err
		}
		_, _, err := s.Append(b.Context(), run, state.AppendBatch{End: true})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// each calls do once for each iteration of b, with 64 calls at a time. The argument of each call is
// the number of the iteration.
func each(b *testing.B, do func(i int64) error) {
	b.ReportAllocs()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// benchmarkTell measures Append alone: each call appends events with the given data to one of 64
// long runs.
func benchmarkTell(b *testing.B, s state.Store, data ...string) {
	var told state.AppendBatch
	for _, d := range data {
		told.Events = append(told.Events, []byte(d))
	}
	var runs [64]state.RunRef
	for i := range runs {
		runs[i] = state.RunRef{Thread: fmt.Sprint("thread ", i), Run: "run"}
		if _, err := s.StartRun(b.Context(), state.StartRunRequest{RunRef: runs[i], KeepEvents: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	each(b, func(i int64) error {
		_, _, err := s.Append(b.Context(), runs[i%64], told)
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tells/s")
}

func BenchmarkMemory(b *testing.B) {
	b.Run("runs", func(b *testing.B) { benchmark(b, state.NewMemory(state.Config{})) })
	b.Run("not logged", func(b *testing.B) {
		s := state.NewMemory(state.Config{})
		each(b, func(i int64) error {
			run := state.RunRef{Thread: fmt.Sprint("thread ", i), Run: fmt.Sprint("run ", i)}
			if _, err := s.StartRun(b.Context(), state.StartRunRequest{RunRef: run, Owner: "u", Messages: []state.Message{{ID: "m"}}}); err != nil {
				return err
			}
			_, _, err := s.Append(b.Context(), run, state.AppendBatch{Messages: []state.Message{{ID: "n"}}, End: true})
			return err
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	})
}

func BenchmarkSQLite(b *testing.B) {
	open := func(b *testing.B, cfg state.Config) state.Store {
		s, err := OpenSQLite(filepath.Join(b.TempDir(), "s.db"), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	b.Run("runs", func(b *testing.B) { benchmark(b, open(b, state.Config{})) })
	b.Run("runs that are forgotten", func(b *testing.B) { benchmark(b, open(b, state.Config{MaxRuns: 1000})) })
	b.Run("tell 1", func(b *testing.B) { benchmarkTell(b, open(b, state.Config{}), strings.Repeat("x", 150)) })
	b.Run("tell 12", func(b *testing.B) {
		benchmarkTell(b, open(b, state.Config{}), strings.Split(strings.Repeat(strings.Repeat("x", 150)+" ", 12), " ")[:12]...)
	})
}
