package chart

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// A chart of any numbers fits its frame.
func FuzzChart(f *testing.F) {
	f.Add(0.0, 1.0, math.NaN(), 10, 4)
	f.Add(math.Inf(1), math.Inf(-1), math.Inf(1), 3, 1)
	f.Add(math.MaxFloat64, -math.MaxFloat64, 0.0, 2, 8)
	f.Add(math.SmallestNonzeroFloat64, 0.0, math.Copysign(0, -1), 1, 5)
	f.Fuzz(func(t *testing.T, x, y, z float64, width, height int) {
		width, height = width&63+1, height&31+1
		values := []float64{x, y, z, z, math.NaN(), y, x}
		c := Chart{Values: values, Width: width, Height: height, Label: func(float64) string { return "label" }}
		c.Low, c.High = Scale(values)
		if math.IsNaN(c.Low) || math.IsInf(c.Low, 0) || math.IsInf(c.High, 0) || c.Low > c.High {
			t.Fatalf("the scale of %v is %v to %v", values, c.Low, c.High)
		}
		lines := c.Lines()
		if len(lines) != height {
			t.Fatalf("%d lines, want %d", len(lines), height)
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > width+len("label ┤") || strings.ContainsAny(l, "\n\x00") {
				t.Errorf("%d letters in %q", n, l)
			}
		}
	})
}
