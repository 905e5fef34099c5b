package cli

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int
		one  string
		want string
	}{
		{1, "process", "1 process"}, {0, "process", "0 processes"}, {2, "process", "2 processes"}, {1, "cpu", "1 cpu"}, {8, "cpu", "8 cpus"},
		{3, "batch", "3 batches"}, {2, "day", "2 days"}, {2, "entry", "2 entries"}, {2, "more series", "2 more series"}, {1, "archive", "1 archive"},
	} {
		if got := Count(c.n, c.one); got != c.want {
			t.Errorf("Of(%d, %q) = %q, want %q", c.n, c.one, got, c.want)
		}
	}
}
