package human

import (
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
)

func TestValue(t *testing.T) {
	units := func(s string) metric.Units {
		u, err := metric.ParseUnits(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		x     float64
		units string
		rate  bool
		want  string
	}{
		{1536, "byte", false, "1.5 KB"},
		{4 << 20, "Kbyte", false, "4 GB"},
		{1.2e6, "byte / sec", true, "1.14 MB/s"},
		{300, "Kbyte / sec", true, "300 KB/s"},
		{0.25, "", true, "25 %"},
		{0.0003, "", true, "0.03 %"},
		{12345678, "", false, "12345678"},
		{0.123456, "", false, "0.123"},
		{250, "millisec", false, "250 ms"},
		{90, "sec", false, "1m 30s"},
		{3.5, "nanosec", false, "3.5 ns"},
		{12.5, "count / sec", true, "12.5 /s"},
		{1234567, "count", false, "1.23 M"},
		{12, "/ sec", true, "12 /s"},
		{45.25, "C", false, "45.2 °C"},
		{1500, "mW", false, "1.5 W"},
		{2e9, "nanojoule / sec", true, "2 W"},
		{5e9, "nanojoule", false, "5 J"},
		{3, "millisec / count", false, "3 ms each"},
		{math.NaN(), "byte", false, "NaN"},
		{math.Inf(1), "byte", false, "Inf"},
		{-2048, "byte", false, "-2 KB"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := Value(c.x, units(c.units), c.rate); got != c.want {
				t.Errorf("Value(%v, %q, %v) = %q, want %q", c.x, c.units, c.rate, got, c.want)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 800 * time.Millisecond: "0.8 s", 59 * time.Second: "59 s", 60 * time.Second: "1m", 61 * time.Second: "1m 1s",
		3600 * time.Second: "1h", 26*time.Hour + 5*time.Minute: "1d 2h", -90 * time.Second: "-1m 30s", 3599*time.Second + 900*time.Millisecond: "1h",
	} {
		t.Run(want, func(t *testing.T) {
			if got := Duration(d); got != want {
				t.Errorf("Duration(%v) = %q, want %q", d, got, want)
			}
		})
	}
}

func TestSpark(t *testing.T) {
	if got := Spark([]float64{0, 0.5, 1, math.NaN(), 2, -1}, 1); got != "▁▅█ █▁" {
		t.Errorf("Spark = %q", got)
	}
	if got := Spark([]float64{0, 0}, 0); got != "▁▁" {
		t.Errorf("Spark of zeros = %q", got)
	}
}

func TestSparks(t *testing.T) {
	values := []float64{0, 1, 4, 5, 8, math.NaN(), 100}
	if got := strings.Join(Sparks(values, 8, 2), "|"); got != "  ▁▃█ █|▁▃███ █" {
		t.Errorf("%q", got)
	}
	if got := Spark(values, 8); got != "▁▂▅▆█ █" {
		t.Errorf("%q", got)
	}
}
