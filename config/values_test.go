package config

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "1h30m": 90 * time.Minute, "30d": 30 * day, "2w": 14 * day,
		"500ms": 500 * time.Millisecond, "1.5h": 90 * time.Minute, " 1 d ": day,
	} {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "10", "s", "10 parsecs", "-1s", "1s2", "1..2s", "999999999999d", "1e3s"} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%q = %v, want an error", s, got)
		}
	}
	for _, d := range []time.Duration{0, time.Second, 90 * time.Second, 25*time.Hour + time.Millisecond, 30 * day} {
		if got, err := ParseDuration(FormatDuration(d)); err != nil || got != d {
			t.Errorf("%v prints as %q, which reads as %v, %v", d, FormatDuration(d), got, err)
		}
	}
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{
		"0B": 0, "512B": 512, "1KB": 1024, "1.5MB": 3 << 19, "2GB": 2 << 30, "2 gib": 2 << 30, "1TB": 1 << 40,
	} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "10", "GB", "-1GB", "NaNGB", "1e30TB", "ten MB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q = %v, want an error", s, got)
		}
	}
	for _, n := range []int64{0, 1, 1023, 1024, 1536, 3 << 30} {
		if got, err := ParseSize(FormatSize(n)); err != nil || got != n {
			t.Errorf("%d prints as %q, which reads as %d, %v", n, FormatSize(n), got, err)
		}
	}
}

func TestScheduleOverDaylightSaving(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSchedule("0 0 * * *")
	if err != nil {
		t.Fatal(err)
	}
	// 2026-03-29 has 23 hours, 2026-10-25 has 25.
	for _, c := range []struct {
		from  time.Time
		hours float64
	}{
		{time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), 23},
		{time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), 25},
		{time.Date(2026, 6, 1, 0, 0, 0, 0, berlin), 24},
	} {
		if got := s.Next(c.from).Sub(c.from).Hours(); got != c.hours {
			t.Errorf("the midnight after %v is %v hours away, want %v", c.from, got, c.hours)
		}
	}
	off, err := ParseSchedule("off")
	if err != nil || !off.Next(time.Now()).IsZero() {
		t.Errorf("off: %v, %v", off.Next(time.Now()), err)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"disk.dev.*", "disk.dev.read", true},
		{"disk.*", "disk.dev.read", true},
		{"disk", "disk.dev.read", true},
		{"disk", "diskette.x", false},
		{"disk.dev.read", "disk.dev.read", true},
		{"*", "a", true},
		{"*.read", "disk.dev.read", true},
		{"disk.?ev.read", "disk.dev.read", true},
		{"disk.dev.*", "disk.dev", false},
	} {
		t.Run(c.pattern+" "+c.name, func(t *testing.T) {
			if got := Match(c.pattern, c.name); got != c.want {
				t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(DefaultText)
	f.Add("[[rule]]\nmatch = \"x\"\nclass = \"fast\"")
	f.Add("a.\"b.c\" = '''\n[x]\n'''\nb = [1,\n2]\n")
	f.Add("rule = 1\n[archive.dir]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("f", text)
		if err == nil {
			if _, err := Parse("f", c.TOML()); err != nil {
				t.Errorf("the effective text does not read back: %v\n%s", err, c.TOML())
			}
		}
	})
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{"1h30m", "2GB", "1%", "0 0 * * *", "disk.*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if again, err := ParseDuration(FormatDuration(d)); err != nil || again != d {
				t.Errorf("%q is %v, printed %q, which is %v, %v", s, d, FormatDuration(d), again, err)
			}
		}
		if n, err := ParseSize(s); err == nil {
			if again, err := ParseSize(FormatSize(n)); err != nil || again != n {
				t.Errorf("%q is %v, printed %q, which is %v, %v", s, n, FormatSize(n), again, err)
			}
		}
		ParsePercent(s)
		if c, err := ParseSchedule(s); err == nil {
			c.Next(time.Unix(0, 0))
		}
		if CheckPattern(s) == nil {
			Match(s, "disk.dev.read")
		}
	})
}
