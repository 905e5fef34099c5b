package chunk

import (
	"fmt"
	"testing"
)

// TestFilter checks that a filter lets every key pass that is there, and few
// others.
func TestFilter(t *testing.T) {
	var insts []Instance
	for i := range 2000 {
		start := uint32(0)
		if i >= 300 {
			start = uint32(i / 10)
		}
		key := fmt.Sprintf("%d/%d", i*7%32768, 1000000+i*17)
		if i%50 == 0 {
			key = fmt.Sprintf("odd-%d", i)
		}
		insts = append(insts, Instance{Key: key, Runs: []Run{{start, 300}}})
	}
	f := encodeFilter(nil, insts)
	for i := range insts {
		if !mayHold(f, insts[i].Key) {
			t.Fatalf("%s does not pass", insts[i].Key)
		}
	}
	passed := 0
	for i := range 1000 {
		if mayHold(f, fmt.Sprintf("%d/%d", i*11%32768, 500000+i*13)) {
			passed++
		}
	}
	if passed > 60 {
		t.Fatalf("%d of 1000 pass that are not there", passed)
	}
}
