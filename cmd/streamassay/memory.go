package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Bounds for the GC percentage of a server. With the default of 100 %, a server with a small
// heap and thousands of requests per second would spend its time collecting; a large fixed
// percentage would take too much memory with a large heap.
const (
	minHeapBytes = 40 << 20 // heap size, in bytes, up to which nothing is collected
	minGCPercent = 50       // lower bound of the GC percentage
	maxGCPercent = 1000     // upper bound of the GC percentage
)

// startGCTuning adapts the GC percentage to the heap size after each collection, unless the
// environment variable GOGC is set.
func startGCTuning(env func(string) string) {
	if env("GOGC") == "" {
		tuneGC()
	}
}

// tuneGC sets the percentage of heap growth that starts a collection, by the present heap size. A
// finalizer calls it again after each collection.
func tuneGC() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := maxGCPercent
	if n := int64(live[0].Value.Uint64()); n > 0 {
		percent = int(min(max((minHeapBytes-n)*100/n, minGCPercent), maxGCPercent))
	}
	debug.SetGCPercent(percent)
	mark := new([16]byte)
	runtime.SetFinalizer(mark, func(*[16]byte) { tuneGC() })
}

// maxHeap is the soft memory limit of a run, in bytes: above it the collector runs more
// often, so that a hostile target cannot make the heap twice as large as the live data.
const maxHeap = 320 << 20

// setMemoryLimit sets the memory limit to [maxHeap], unless the environment variable GOMEMLIMIT is set.
func setMemoryLimit(env func(string) string) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(maxHeap)
	}
}
