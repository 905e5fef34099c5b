package human

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tachograph/sample/metric"
)

// extremes are the bits that formatters get wrong: as numbers, as durations, as
// floats.
var extremes = []uint64{
	0, 1, 1 << 31, 1<<31 - 1, 1 << 32, 1 << 53, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64, math.MaxUint64 - 1,
	math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)), math.Float64bits(math.Copysign(0, -1)),
	math.Float64bits(math.MaxFloat64), math.Float64bits(-math.MaxFloat64), math.Float64bits(math.SmallestNonzeroFloat64),
	math.Float64bits(1 << 63), math.Float64bits(-1 << 63), math.Float64bits(9.3e9), math.Float64bits(-9.3e9), 0x7ff0000000000001, 0xfff8000000000000,
}

// numbers are what 64 bits may mean.
func numbers(bits uint64) []float64 {
	f := math.Float64frombits(bits)
	return []float64{f, -f, float64(bits), float64(int64(bits)), float64(math.Float32frombits(uint32(bits))), f / 1e9, float64(bits) / 1e9}
}

func check(t *testing.T, what, text string) {
	t.Helper()
	if text == "" || len(text) > 150 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\n\t") {
		t.Errorf("%s is written %q", what, text)
	}
}

// Every formatter takes any bits.
func FuzzFormatters(f *testing.F) {
	for i, bits := range extremes {
		f.Add(bits, extremes[(i+7)%len(extremes)], int8(i), int8(-i), int8(1), int8(i*11), "C", i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, bits, more uint64, space, tm, count, scale int8, other string, rate bool) {
		check(t, "a duration", Duration(time.Duration(bits)))
		units := []metric.Units{
			{}, {Space: 1, SpaceScale: scale}, {Space: 1, SpaceScale: scale, Time: -1, TimeScale: scale}, {Time: 1, TimeScale: scale},
			{Count: 1, CountScale: scale}, {Count: 1, Time: -1, TimeScale: scale}, {Time: 1, Count: -1, TimeScale: scale}, {Space: 1, Count: -1},
			{Other: "nanojoule", Time: -1, TimeScale: scale}, {Other: "percent"},
			{Space: space, Time: tm, Count: count, SpaceScale: scale, TimeScale: scale, CountScale: scale},
		}
		if utf8.ValidString(other) && !strings.ContainsAny(other, "\x00\n\t") && len(other) < 100 {
			units = append(units, metric.Units{Other: other, Time: tm})
		}
		for _, x := range append(numbers(bits), numbers(more)...) {
			for name, text := range map[string]string{"bytes": Bytes(x), "a count": Count(x), "figures": Figures(x), "a share": Percent(x), "seconds": Seconds(x)} {
				check(t, name, text)
			}
			for _, u := range units {
				check(t, u.String(), Value(x, u, rate))
			}
			for _, y := range numbers(more) {
				if line := Spark([]float64{x, y, x}, y); utf8.RuneCountInString(line) != 3 {
					t.Errorf("%v and %v of %v are drawn %q", x, y, y, line)
				}
			}
		}
	})
}

func TestLengthsWithoutEnd(t *testing.T) {
	for _, c := range []struct {
		name, got, want string
	}{
		{"not a number", Seconds(math.NaN()), "NaN s"},
		{"for ever", Seconds(math.Inf(1)), "+Inf s"},
		{"2^64-1 ns", Seconds(math.MaxUint64 / 1e9), "214 k d"},
		{"-2^64 s", Seconds(-math.MaxUint64), "-214 T d"},
		{"least", Duration(math.MinInt64), "-106751d 23h"},
		{"largest", Duration(math.MaxInt64), "106751d 23h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%q, want %q", c.got, c.want)
			}
		})
	}
}
