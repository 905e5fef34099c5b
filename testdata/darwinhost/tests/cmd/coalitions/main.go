// The list of coalitions, and what each has used.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"

	"darwintests/check"
	"darwintests/mac"
)

var le = binary.LittleEndian

func main() {
	b := make([]byte, 256)
	n, _ := mac.ListCoalitions(2, 0, b)
	var got []string
	for o := 0; o < n; o += 16 {
		got = append(got, fmt.Sprintf("%d/%d:%d", le.Uint64(b[o:]), le.Uint32(b[o+8:]), le.Uint32(b[o+12:])))
	}
	check.Eq("one is kept, one has ended", strings.Join(got, " "), "1/0:1 3/0:1 61/0:1 71/0:2 91/0:0 99/0:0")
	n, _ = mac.ListCoalitions(2, 0, b[:40])
	check.Eq("a full list is cut short without a word", n, 32)

	// those that have ended stay counted; the rest of the buffer is left alone
	u := bytes.Repeat([]byte{0xa5}, 376)
	word := func(at int) uint64 { return le.Uint64(u[at:]) }
	check.Eq("usage", mac.CoalitionUsage(71, u), syscall.Errno(0))
	check.Eq("tasks", fmt.Sprint(word(0), word(8)), "3 1")
	check.Eq("times", fmt.Sprint(word(24), word(176)), "9000 3")
	check.Eq("others", fmt.Sprint(word(48), word(88), word(320), word(328), word(352)), "5 75 1500 77 4096")
	check.Eq("what is not written", fmt.Sprintf("%x %x", word(360), word(368)), "a5a5a5a5a5a5a5a5 a5a5a5a5a5a5a5a5")
	check.Eq("a short buffer", mac.CoalitionUsage(91, u[:8]), syscall.Errno(0))
	check.Eq("in a short buffer", fmt.Sprint(word(0), word(8)), "1 1")
	check.Eq("one that has ended", mac.CoalitionUsage(81, u), syscall.ESRCH)
	check.Eq("a jetsam coalition", mac.CoalitionUsage(72, u), syscall.EINVAL)
	check.Eq("the one of corpses", mac.CoalitionUsage(99, u), syscall.EINVAL)
	check.Done()
}
