package darwin

import "testing"

// TestCarried has readings of a counter, with lists of connections in between.
func TestCarried(t *testing.T) {
	var c carried
	stands := false
	for i, x := range []struct {
		total, lists  uint64
		moved, stands bool
		more          uint64
		proves        bool
	}{
		{0, 0, true, false, 0, false}, // no list yet
		{7_000_000, 1, false, false, 0, false},
		{7_100_000, 2, true, false, 0, false},
		// The next list may have what the counter has.
		{7_300_000, 3, false, false, 0, false},
		{7_300_000, 3, false, false, 0, false},
		{7_350_000, 4, false, false, 0, false},
		{7_400_000, 5, false, true, 100_000, true},
		{7_900_000, 6, false, true, 600_000, true},
		// It counts again: the list before had what came until then.
		{8_000_000, 7, true, false, 600_000, false},
		{8_500_000, 8, true, false, 600_000, false},
		{8_600_000, 9, false, false, 600_000, false},
		{8_700_000, 10, false, true, 700_000, true},
	} {
		c.see(x.total, x.lists, x.moved, stands)
		stands = x.stands
		if got := c.more(x.stands); got != x.more || c.proves() != x.proves {
			t.Errorf("reading %d: %d more, proves %v; want %d, %v", i, got, c.proves(), x.more, x.proves)
		}
	}
}
