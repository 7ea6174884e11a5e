package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Parameters from which [tuneGC] computes the GC percentage of a server. With the default of 100%,
// a server with a small heap and thousands of requests per second would spend much of its time on
// garbage collection. A large fixed percentage would take too much memory with a large heap.
const (
	minHeapBytes = 40 << 20 // size, in bytes, to which a small heap may grow before a collection
	minGCPercent = 50       // lower bound of the GC percentage
	maxGCPercent = 1000     // upper bound of the GC percentage
)

// startGCTuning adapts the GC percentage to the heap size, now and after each garbage collection.
// It does nothing if the environment variable GOGC is set. The function env is like [os.Getenv].
func startGCTuning(env func(string) string) {
	if env("GOGC") == "" {
		tuneGC()
	}
}

// tuneGC sets the GC percentage, by which the heap may grow before the next garbage collection,
// according to the size of the live heap: the smaller it is, the larger the percentage. A finalizer
// calls tuneGC again after each collection.
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

// Memory settings of the commands that test targets. Above the soft memory limit, the garbage
// collector runs more often, so that a hostile target cannot make the heap twice as large as the
// live data. Below the limit, it runs less often than by default, because a test lasts only a few
// seconds and allocates much.
const (
	maxHeap        = 320 << 20 // soft memory limit for one dialect, in bytes
	heapPerDialect = 40 << 20  // added for each further dialect: its recordings are kept until the report is written
	runGCPercent   = 300       // GC percentage: the heap may grow by this much before a collection
)

// tuneRunMemory sets the soft memory limit and the GC percentage for a test of targets. The memory
// limit increases with dialects, the number of dialects that are tested. A value that the
// environment variable GOMEMLIMIT or GOGC sets is not changed. The function env is like
// [os.Getenv].
func tuneRunMemory(env func(string) string, dialects int) {
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(maxHeap + heapPerDialect*int64(dialects-1))
	}
	if env("GOGC") == "" {
		debug.SetGCPercent(runGCPercent)
	}
}
