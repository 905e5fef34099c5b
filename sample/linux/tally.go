package linux

// tally adds up the counters of many instances so that the sum is a counter
// too: an instance that goes away, or whose counters start again from zero,
// leaves what it had gained in the sum. Plain addition would fall, and every
// reader would take the rest for a gain.
type tally struct {
	left []uint64 // what instances had gained that are gone or were reset
	sum  []uint64
}

func newTally(n int) tally {
	return tally{left: make([]uint64, n), sum: make([]uint64, n)}
}

// begin starts a round of adding up.
func (t *tally) begin() { copy(t.sum, t.left) }

// add counts one instance: cur are its counters now, prev those of the last
// round (empty for a new one), which become cur. Counters that bits says are
// narrower than 64 bits are widened when they wrap.
func (t *tally) add(prev *[]uint64, cur []uint64, bits []uint8) {
	if len(*prev) == len(cur) {
		for i, p := range *prev {
			if cur[i] >= p {
				continue
			}
			gained := p
			if b := bits[i]; b != 0 && p>>b == 0 && p >= 1<<(b-1) && cur[i] < 1<<(b-1) {
				gained = 1 << b
			}
			t.left[i] += gained
			t.sum[i] += gained
		}
	}
	for i, c := range cur {
		t.sum[i] += c
	}
	*prev = append((*prev)[:0], cur...)
}

// drop keeps what an instance had gained that went away.
func (t *tally) drop(prev []uint64) {
	for i, p := range prev {
		t.left[i] += p
		t.sum[i] += p
	}
}
