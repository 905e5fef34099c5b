package service

import (
	"math"
	"runtime/debug"
	"runtime/metrics"

	"tachograph/config"
)

// leastMemory is what the collector may leave the heap at any time. Beside it
// stands the program itself, some 10 MB.
const leastMemory = 28 << 20

// limitMemory makes the collector work harder when an hour's values are
// encoded, which takes a multiple of their size for a moment, rather than let
// the program grow to what that takes and never shrink again. What lives always
// has room: with less the collector would do nothing but collect.
func limitMemory(c *config.Config) {
	debug.SetMemoryLimit(memoryLimit(liveHeap(), c.Budget.MaxMemory))
}

// memoryLimit is the limit for a heap of which so much lives; a budget of zero
// is none. A quarter of the budget is for what is not heap.
func memoryLimit(live, budget int64) int64 {
	limit := max(leastMemory, live+live/2)
	if budget > 0 {
		limit = min(limit, budget/4*3)
	}
	// Beyond its budget the recorder is too large, but below what lives the
	// collector would take a processor for itself and free nothing.
	return max(limit, live+live/4)
}

// liveHeap is how much the last collection found to live.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64/2))
}
