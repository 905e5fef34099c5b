package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"tachograph/testdata/patience"
)

// heapPercent is by how much the heap grows between two collections.
func heapPercent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// After its first run the collector is as it was.
func TestCollectionIsPutOffOnce(t *testing.T) {
	const usual = 77
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	c := &collector{}
	c.later()
	if p := heapPercent(); p != 100*firstCollection {
		t.Fatalf("it is told %d percent", p)
	}
	patience.Until(t, "it is told what is usual", func() bool { runtime.GC(); return heapPercent() == usual })
	if c.later(); heapPercent() != usual {
		t.Errorf("it is told %d percent again", heapPercent())
	}
}

// What goes on for hours is collected otherwise for as long; what reduces archives,
// while it does.
func TestCollectorOfLongCommands(t *testing.T) {
	const usual = 77
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	c := &collector{}
	reduced := c.reducing()
	if p := heapPercent(); p != reducingPercent {
		t.Errorf("while archives are reduced it is told %d percent", p)
	}
	if reduced(); heapPercent() != usual {
		t.Errorf("afterwards it is told %d percent", heapPercent())
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	t.Setenv("GOMEMLIMIT", "")
	if c.serving(); debug.SetMemoryLimit(-1) != softLimit {
		t.Errorf("a server may hold %d bytes", debug.SetMemoryLimit(-1))
	}
	if c.following(); heapPercent() != followingPercent {
		t.Errorf("for hours it is told %d percent", heapPercent())
	}
}

// Without one a command leaves the process as it is.
func TestNoCollector(t *testing.T) {
	const usual = 77
	defer debug.SetGCPercent(debug.SetGCPercent(usual))
	var c *collector
	c.later()
	c.following()
	c.serving()
	defer c.reducing()()
	if p := heapPercent(); p != usual {
		t.Errorf("it is told %d percent", p)
	}
}
