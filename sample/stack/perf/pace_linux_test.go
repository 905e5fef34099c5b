package perf

import "testing"

// Beyond so many stacks a second, they are said in a part of the time that gets smaller with their
// number.
func TestPaceOfStacks(t *testing.T) {
	p := pace{stacks: 2000, on: true, every: 1}
	left, on, now := 0, 0, uint64(0)
	second := func(rate int) (turns, share int) {
		on = 0
		const steps = 100
		for range steps {
			now, left = now+1e9/steps, left+rate/steps
			if p.choose(now, left) {
				turns++
			}
			if p.on {
				on++
			}
		}
		return turns, on
	}
	for _, c := range []struct{ rate, least, most int }{{1000, 100, 100}, {10_000, 10, 35}, {100_000, 1, 15}, {1000, 80, 100}, {0, 100, 100}} {
		if turns, share := second(c.rate); share < c.least || share > c.most || turns > 30 {
			t.Errorf("at %d a second, stacks are said for %d %% of the time, in %d turns", c.rate, share, turns)
		}
	}
}
