package chunk

import (
	"math"
	"slices"
	"testing"

	"tachograph/sample/metric"
)

func TestUnits(t *testing.T) {
	repeated := func(vals ...uint64) (out []uint64) {
		for range worthUnit {
			out = append(out, vals...)
		}
		return out
	}
	for _, c := range []struct {
		name string
		vals []uint64
		unit uint64
	}{
		{"pages", repeated(4096, 3*4096, 0), 4096},
		{"signed ones", repeated(30, ^uint64(19), 50), 10},
		{"floats", repeated(math.Float64bits(1), math.Float64bits(0.5)), 1 << 52},
		{"nothing in common", repeated(7, 9), 0},
		{"zero", repeated(0), 0},
		{"too few", []uint64{4096}, 0},
		{"the smallest", repeated(1 << 63), 0},
		{"the smallest and others", repeated(1<<63, 1<<62), 1 << 62},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &groupTable{metrics: []column{{typ: metric.I64}}, cols: []columnTable{{bits: slices.Clone(c.vals)}}}
			all := &table{groups: []*groupTable{g}}
			all.measure()
			if g.cols[0].unit != c.unit {
				t.Errorf("the unit is %d, want %d", g.cols[0].unit, c.unit)
			}
			all.restore()
			if !slices.Equal(g.cols[0].bits, c.vals) {
				t.Error("the values have become others")
			}
		})
	}
}
