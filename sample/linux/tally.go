package linux

import "tachograph/sample/metric"

// tally adds up the counters of many instances so that the sum is a counter too: when an
// instance goes away, or its counters start again from zero, its gains stay in the sum. A plain
// sum would fall, and every reader would take the rest for a gain.
type tally struct {
	left []uint64 // gains of instances that are gone or were reset
	sum  []uint64
}

func newTally(n int) tally {
	return tally{left: make([]uint64, n), sum: make([]uint64, n)}
}

// begin starts a round of adding up.
func (t *tally) begin() { copy(t.sum, t.left) }

// add counts one instance. cur are its counters now. prev are those of the last round (empty for
// a new instance), which add replaces by cur. Counters with fewer than 64 bits are widened when
// they wrap.
func (t *tally) add(prev *[]uint64, cur []uint64, bits []uint8) {
	known := len(*prev) == len(cur)
	if !known {
		*prev = append((*prev)[:0], cur...)
	}
	for i, c := range cur {
		if p := (*prev)[i]; known && c < p {
			d := metric.Desc{Type: metric.U64, Width: bits[i]}
			switch _, step := metric.Increase(&d, p, c, 0); step {
			case metric.Dipped:
				c = p
			case metric.Wrapped:
				t.left[i] += 1 << bits[i]
				t.sum[i] += 1 << bits[i]
			default:
				t.left[i] += p
				t.sum[i] += p
			}
		}
		t.sum[i] += c
		(*prev)[i] = c
	}
}

// drop keeps the gains of an instance that went away.
func (t *tally) drop(prev []uint64) {
	for i, p := range prev {
		t.left[i] += p
		t.sum[i] += p
	}
}
