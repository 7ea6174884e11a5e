package replay_test

import (
	"testing"

	"github.com/streamassay/streamassay/internal/replay"
)

// BenchmarkFind measures the time to find a recorded response and to replace the recorded ids in it
// by those of the client.
func BenchmarkFind(b *testing.B) {
	t := &testing.T{}
	l, seen := library(t, parsed(t, "talk.txtar", conversationText)), &replay.PlaybackState{}
	runs := openDialect(t, "runs")
	r := createRequest(otherThread, "mine", "hello")
	ask := runs.ParseRequest(r)
	b.ReportAllocs()
	for b.Loop() {
		if a, _ := l.Find(runs, r, &ask, seen); a == nil {
			b.Fatal("nothing fits")
		}
	}
}
