package state

import (
	"fmt"
	"runtime"
	"testing"
)

// TestMemoryIsFlat checks that dropped runs use no memory: the last of many runs takes no more than
// the first.
func TestMemoryIsFlat(t *testing.T) {
	runs := 300_000
	if testing.Short() {
		runs = 60_000
	}
	s := NewMemory(Config{MaxRuns: 1000})
	events := [][]byte{make([]byte, 150), make([]byte, 150)}
	early := uint64(0)
	for i := range runs {
		run := RunRef{fmt.Sprint("thread ", i/2), fmt.Sprint("run ", i)}
		b := StartRunRequest{RunRef: run, Owner: fmt.Sprint("user ", i/20), KeepEvents: i%2 == 0, Messages: []Message{{ID: "m", Text: run.Run}}}
		if _, err := s.StartRun(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		_, stop := s.Watch(run.Thread)
		if _, _, err := s.Append(t.Context(), run, AppendBatch{Events: events, Messages: b.Messages, End: true}); err != nil {
			t.Fatal(err)
		}
		stop()
		if i == 10_000 {
			early = inUse()
		}
	}
	late := inUse()
	if t.Logf("%d KiB after 10,000 runs, %d KiB after %d", early>>10, late>>10, runs); late > early+early/4+1<<20 {
		t.Errorf("it grows: %d bytes in use after 10,000 runs, %d after %d", early, late, runs)
	}
	m := s.(*memory)
	if len(m.runs) != 1000 || len(m.threads) != 500 || len(m.byOwner) > 51 || len(m.watchers) != 0 {
		t.Errorf("%d runs of %d threads of %d owners are kept, and %d are watched", len(m.runs), len(m.threads), len(m.byOwner), len(m.watchers))
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
