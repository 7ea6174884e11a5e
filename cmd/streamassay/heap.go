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
	roomy      = 40 << 20 // bytes that it may have at least before it is collected
	leastSpare = 50       // percent that it may grow by at least
	mostSpare  = 1000     // likewise at most
)

// keepRoom sets how far the heap may grow, again after each collection. The variable GOGC
// has the last word.
func keepRoom(env func(string) string) {
	if env("GOGC") == "" {
		tune()
	}
}

// tune is called by the collector: each time it finds the object of the time before.
func tune() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	spare := mostSpare
	if n := int64(live[0].Value.Uint64()); n > 0 {
		spare = int(min(max((roomy-n)*100/n, leastSpare), mostSpare))
	}
	debug.SetGCPercent(spare)
	mark := new([16]byte)
	runtime.SetFinalizer(mark, func(*[16]byte) { tune() })
}

// maxHeap is where the collector begins to work harder, in bytes: what a hostile target
// makes a run hold for a moment is no reason to hold on to twice as much.
const maxHeap = 320 << 20

// boundHeap bounds the memory of a run. The variable GOMEMLIMIT has the last word.
func boundHeap(env func(string) string) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(maxHeap)
	}
}
