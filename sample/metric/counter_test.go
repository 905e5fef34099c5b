package metric

import (
	"math"
	"testing"
)

func TestIncrease(t *testing.T) {
	u64 := &Desc{Type: U64}
	narrow := &Desc{Type: U64, Width: 32}
	bytes := &Desc{Type: U64, Width: 32, Units: Bytes}
	u32 := &Desc{Type: U32}
	i32 := &Desc{Type: I32}
	clamped := &Desc{Type: U64, Width: 31, Clamped: true}
	f64 := &Desc{Type: F64}
	ticks := &Desc{Type: U64, Width: 32, Units: Milliseconds, Falls: NeverRestarts}
	cpuTime := &Desc{Type: U64, Units: Milliseconds, Falls: NeverRestarts}
	for _, c := range []struct {
		name      string
		d         *Desc
		prev, cur uint64
		seconds   float64
		want      float64
		step      Step
	}{
		{"grows", u64, 10, 30, 1, 20, Advanced},
		{"stands", u64, 10, 10, 1, 0, Advanced},
		{"64-bit fall is a reset", u64, math.MaxUint64 - 1, 5, 1, 5, Restarted},
		{"a small fall is jitter", u64, 9_800_000_000, 9_799_999_989, 1, -11, Dipped},
		{"a fall by an eighth is jitter", u64, 800, 700, 1, -100, Dipped},
		{"a fall by more is a reset", u64, 800, 699, 1, 699, Restarted},
		{"a fall to nothing is a reset", u64, 800, 0, 1, 0, Restarted},
		{"narrow wraps", narrow, 1<<32 - 10, 5, 1, 15, Wrapped},
		{"narrow wraps in an unknown time", narrow, 1<<32 - 10, 5, 0, 15, Wrapped},
		{"narrow fall from the lower half is a reset", narrow, 1 << 30, 5, 1, 5, Restarted},
		{"narrow value above its width is a reset", narrow, 1 << 33, 5, 1, 5, Restarted},
		{"narrow falls a little at the top", narrow, 1<<32 - 10, 1<<32 - 21, 1, -11, Dipped},
		{"narrow falls a little over the middle", narrow, 1<<31 + 5, 1<<31 - 6, 1, -11, Dipped},
		{"narrow steps back over zero", narrow, 3, 1<<32 - 8, 1, -11, Dipped},
		{"bytes wrap as fast as a network is", bytes, 1<<32 - 1e9, 1e9, 1, 2e9, Wrapped},
		{"bytes do not wrap in no time", bytes, 1<<32 - 1e9, 1e9, 0.001, 1e9, Restarted},
		{"ticks wrap", ticks, 1<<32 - 1, 99, 1, 100, Wrapped},
		{"ticks fall by one", ticks, 1<<31 + 10, 1<<31 + 9, 1, -1, Dipped},
		{"ticks fall by one at the beginning", ticks, 3, 2, 1, -1, Dipped},
		{"ticks do not wrap in a second from afar", ticks, 3 << 30, 5, 1, 5 - 3*(1<<30), Dipped},
		{"processor time falls by a second", cpuTime, 613_000, 612_000, 8, -1000, Dipped},
		{"processor time falls by most of it", cpuTime, 5_000, 1_000, 8, -4000, Dipped},
		{"u32 wraps", u32, 1<<32 - 1, 0, 1, 1, Wrapped},
		{"i32 passes into negative", i32, 1<<31 - 1, uint64(math.MaxUint64 - (1 << 31) + 1), 1, 1, Advanced},
		{"clamp reached", clamped, 1<<31 - 11, 1<<31 - 1, 1, 10, Saturated},
		{"clamp stays", clamped, 1<<31 - 1, 1<<31 - 1, 1, 0, Saturated},
		{"float", f64, math.Float64bits(1.5), math.Float64bits(4), 1, 2.5, Advanced},
		{"float falls", f64, math.Float64bits(9), math.Float64bits(4), 1, 4, Restarted},
		{"float falls a little", f64, math.Float64bits(9), math.Float64bits(8.5), 1, -0.5, Dipped},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, step := Increase(c.d, c.prev, c.cur, c.seconds)
			if got != c.want || step != c.step {
				t.Errorf("%s: Increase = %v, %v; want %v, %v", c.name, got, step, c.want, c.step)
			}
		})
	}
}

func TestDebt(t *testing.T) {
	d := &Desc{Type: U64}
	var debt Debt
	prev, total := uint64(1000), 0.0
	for _, c := range []struct {
		now  uint64
		want float64
	}{{1010, 10}, {1004, 0}, {1002, 0}, {1009, 0}, {1011, 1}, {1006, 0}, {20, 20}, {25, 5}} {
		gain, step := Increase(d, prev, c.now, 1)
		got := debt.Pay(gain, step)
		if got != c.want {
			t.Errorf("at %d it gained %v, want %v", c.now, got, c.want)
		}
		prev, total = c.now, total+got
	}
	if total != 36 {
		t.Errorf("it gained %v in all, want 36", total)
	}
}
