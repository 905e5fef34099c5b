package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// After its first run the collector is as it was.
func TestCollectionIsPutOffOnce(t *testing.T) {
	const usual = 77
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	percent := func() int {
		p := debug.SetGCPercent(usual)
		debug.SetGCPercent(p)
		return p
	}
	putOffCollection()
	if p := percent(); p != 100*firstCollection {
		t.Fatalf("it is told %d percent", p)
	}
	for began := time.Now(); percent() != usual; runtime.GC() {
		if time.Since(began) > time.Minute {
			t.Fatalf("it is still told %d percent", percent())
		}
	}
}
