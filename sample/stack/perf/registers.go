package perf

import (
	"encoding/binary"
	"runtime"

	"tachograph/sample/stack/unwind"
)

// copied are the registers that the kernel is asked to copy, in its order, by their numbers in
// the tables that stacks are walked by.
type copied struct {
	machine *unwind.Machine
	mask    uint64
	numbers []int
}

var processorsCopied = map[string]copied{
	"amd64": {&unwind.X86, 0xff01ff, []int{0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15}},
	"arm64": {&unwind.ARM, 1<<33 - 1, inOrder(33)},
}

// own are the registers of this machine; it has no machine if its stacks cannot be walked.
var own = processorsCopied[runtime.GOARCH]

func inOrder(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// content gives the registers that a record has.
func (c *copied) content(b []byte) (r unwind.Registers) {
	for i, n := range c.numbers {
		if 8*i+8 <= len(b) {
			r.Set(n, binary.NativeEndian.Uint64(b[8*i:]))
		}
	}
	return r
}
