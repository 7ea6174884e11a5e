package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A server that answers thousands of requests in a second and holds little would do
// nothing but collect, if its heap could only double; one that holds much would take a
// lot, if it could grow fivefold. So the heap may grow to a size, or by a part.
const (
	minHeapBytes = 40 << 20 // bytes that it may have at least before it is collected
	minGCPercent = 50       // percent that it may grow by at least
	maxGCPercent = 1000     // likewise at most
)

// startGCTuning sets how far the heap may grow, again after each collection. The variable GOGC
// has the last word.
func startGCTuning(env func(string) string) {
	if env("GOGC") == "" {
		tuneGC()
	}
}

// tuneGC is called by the collector: each time it finds the object of the time before.
func tuneGC() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	spare := maxGCPercent
	if n := int64(live[0].Value.Uint64()); n > 0 {
		spare = int(min(max((minHeapBytes-n)*100/n, minGCPercent), maxGCPercent))
	}
	debug.SetGCPercent(spare)
	mark := new([16]byte)
	runtime.SetFinalizer(mark, func(*[16]byte) { tuneGC() })
}

// maxHeap is where the collector begins to work harder, in bytes: what a hostile target
// makes a run hold for a moment is no reason to hold on to twice as much.
const maxHeap = 320 << 20

// setMemoryLimit bounds the memory of a run. The variable GOMEMLIMIT has the last word.
func setMemoryLimit(env func(string) string) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(maxHeap)
	}
}
