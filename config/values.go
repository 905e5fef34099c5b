package config

import (
	"errors"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const day = 24 * time.Hour

var durationUnits = []struct {
	suffix string
	size   time.Duration
}{
	// Longest suffix first where one ends with another.
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond},
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", day}, {"w", 7 * day},
}

var (
	errDuration = errors.New(`is not a duration (write "10s", "5m", "1h30m", "30d")`)
	errSize     = errors.New(`is not a size (write "500KB", "100MB", "2GB")`)
	errPercent  = errors.New(`is not a percentage of one core (write "1%", or "off")`)
	errCron     = errors.New(`is not a schedule (write minute, hour, day of month, month, day of week: "0 0 * * *", or "off")`)
	errPattern  = errors.New(`is not a pattern of metric names (write "disk.dev.*")`)
)

// ParseDuration reads durations as people write them: "10s", "1h30m", "30d", "2w". It refuses a
// number without a unit, which would be ambiguous.
func ParseDuration(s string) (time.Duration, error) {
	rest := strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	if rest == "" {
		return 0, errDuration
	}
	var total time.Duration
	for rest != "" {
		n := 0
		for n < len(rest) && (rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		v, err := strconv.ParseFloat(rest[:n], 64)
		if err != nil {
			return 0, errDuration
		}
		rest = rest[n:]
		n = 0
		for n < len(rest) && rest[n] >= 'a' && rest[n] <= 'z' {
			n++
		}
		size := unitSize(rest[:n])
		if size == 0 || v*float64(size) > float64(100*365*day) {
			return 0, errDuration
		}
		total += time.Duration(v * float64(size))
		rest = rest[n:]
	}
	return total, nil
}

func unitSize(name string) time.Duration {
	for _, u := range durationUnits {
		if u.suffix == name {
			return u.size
		}
	}
	return 0
}

// FormatDuration formats d so that ParseDuration can read it, in whole units.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	var b strings.Builder
	for _, u := range []struct {
		suffix string
		size   time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", 1}} {
		if n := d / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10))
			b.WriteString(u.suffix)
			d -= n * u.size
		}
	}
	return b.String()
}

var sizeUnits = []struct {
	suffix string
	size   int64
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}}

// ParseSize reads sizes as people write them; 1 KB is 1024 bytes, and KiB means the same.
func ParseSize(s string) (int64, error) {
	text := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(s), " ", ""))
	text = strings.ReplaceAll(text, "IB", "B")
	for _, u := range sizeUnits {
		num, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(num, 64)
		if err != nil || !(v >= 0) || v*float64(u.size) > 1<<62 {
			return 0, errSize
		}
		return int64(v * float64(u.size)), nil
	}
	return 0, errSize
}

// FormatSize formats n exactly, so that ParseSize can read it.
func FormatSize(n int64) string {
	for _, u := range sizeUnits {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// ParsePercent reads "1%" as 0.01.
func ParsePercent(s string) (float64, error) {
	num, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if !ok || err != nil || !(v > 0) || v > 10000 {
		return 0, errPercent
	}
	return v / 100, nil
}

// Schedule is a cron expression, or none.
type Schedule struct {
	text string
	cron cron.Schedule
}

// ParseSchedule reads a cron expression of five fields, one of cron's names ("@daily"), or
// "off".
func ParseSchedule(s string) (Schedule, error) {
	text := strings.TrimSpace(s)
	if text == "off" {
		return Schedule{text: text}, nil
	}
	c, err := cron.ParseStandard(text)
	if err != nil {
		// The parser's message quotes the expression, which must not be in an error.
		return Schedule{}, errCron
	}
	return Schedule{text: text, cron: c}, nil
}

func (s Schedule) String() string { return s.text }

// Next returns the first time of the schedule after t; the zero time if there is none.
func (s Schedule) Next(t time.Time) time.Time {
	if s.cron == nil {
		return time.Time{}
	}
	return s.cron.Next(t)
}

// Match reports whether a metric's name matches a pattern: a glob in which * spans dots, or a
// name, which also matches everything below it.
func Match(pattern, name string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return name == pattern || strings.HasPrefix(name, pattern) && name[len(pattern)] == '.'
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// CheckPattern reports whether Match can use pattern.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, "/ \t\n") {
		return errPattern
	}
	return nil
}
