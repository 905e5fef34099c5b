package linux

import "testing"

func TestTally(t *testing.T) {
	for _, c := range []struct {
		name     string
		bits     uint8
		readings []uint64
		want     uint64
	}{
		{"counts on", 0, []uint64{100, 150}, 150},
		{"begins again", 0, []uint64{150, 20}, 170},
		{"falls by eleven", 0, []uint64{9_800_000_000, 9_799_999_989, 9_800_000_000, 9_800_000_005}, 9_800_000_005},
		{"wraps at 32 bits", 32, []uint64{1<<32 - 1, 9}, 1<<32 + 9},
		{"falls a little at the top of 32 bits", 32, []uint64{1<<32 - 6, 1<<32 - 17, 1<<32 - 4}, 1<<32 - 4},
		{"falls by one over the middle of 32 bits", 32, []uint64{1 << 31, 1<<31 - 1}, 1 << 31},
	} {
		t.Run(c.name, func(t *testing.T) {
			total := newTally(1)
			var prev []uint64
			for _, now := range c.readings {
				total.begin()
				total.add(&prev, []uint64{now}, []uint8{c.bits})
			}
			if total.sum[0] != c.want {
				t.Errorf("total %d, want %d", total.sum[0], c.want)
			}
			total.begin()
			total.drop(prev)
			if total.sum[0] != c.want {
				t.Errorf("total %d when it has gone, want %d", total.sum[0], c.want)
			}
		})
	}
}
