package service

import "testing"

func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct{ live, budget, want int64 }{
		{10 << 20, 0, leastMemory},
		{10 << 20, 100 << 20, leastMemory},
		{20 << 20, 100 << 20, 30 << 20},
		{60 << 20, 100 << 20, 75 << 20},
		{60 << 20, 0, 90 << 20},
		{5 << 20, 20 << 20, 15 << 20},
		{200 << 20, 100 << 20, 250 << 20}, // very many processes
	} {
		if got := memoryLimit(c.live, c.budget); got != c.want {
			t.Errorf("live %d MiB, budget %d MiB: %d MiB, want %d", c.live>>20, c.budget>>20, got>>20, c.want>>20)
		}
	}
}
