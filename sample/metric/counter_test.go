package metric

import (
	"math"
	"testing"
)

func TestIncrease(t *testing.T) {
	u64 := &Desc{Type: U64}
	narrow := &Desc{Type: U64, Width: 32}
	u32 := &Desc{Type: U32}
	i32 := &Desc{Type: I32}
	clamped := &Desc{Type: U64, Width: 31, Clamped: true}
	f64 := &Desc{Type: F64}
	for _, c := range []struct {
		name      string
		d         *Desc
		prev, cur uint64
		want      float64
		step      Step
	}{
		{"grows", u64, 10, 30, 20, Advanced},
		{"stands", u64, 10, 10, 0, Advanced},
		{"64-bit fall is a reset", u64, math.MaxUint64 - 1, 5, 5, Restarted},
		{"narrow wraps", narrow, 1<<32 - 10, 5, 15, Wrapped},
		{"narrow fall from the lower half is a reset", narrow, 1 << 30, 5, 5, Restarted},
		{"narrow value above its width is a reset", narrow, 1 << 33, 5, 5, Restarted},
		{"u32 wraps", u32, 1<<32 - 1, 0, 1, Wrapped},
		{"i32 passes into negative", i32, 1<<31 - 1, uint64(math.MaxUint64 - (1 << 31) + 1), 1, Advanced},
		{"clamp reached", clamped, 1<<31 - 11, 1<<31 - 1, 10, Saturated},
		{"clamp stays", clamped, 1<<31 - 1, 1<<31 - 1, 0, Saturated},
		{"float", f64, math.Float64bits(1.5), math.Float64bits(4), 2.5, Advanced},
		{"float falls", f64, math.Float64bits(9), math.Float64bits(4), 4, Restarted},
	} {
		got, step := Increase(c.d, c.prev, c.cur)
		if got != c.want || step != c.step {
			t.Errorf("%s: Increase = %v, %v; want %v, %v", c.name, got, step, c.want, c.step)
		}
	}
}
