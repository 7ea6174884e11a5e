package replay_test

import (
	"testing"

	"github.com/streamassay/streamassay/mockserver/replay"
)

// What it costs to find an answer and to put a client's ids into it.
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
