package report

import (
	"strconv"
	"strings"
	"time"
)

// limitLines collects what lines say about a limit that was exceeded.
type limitLines struct {
	value     float64
	over      time.Duration
	allowed   float64
	rate      float64 // a second
	per       time.Duration
	action    string
	mentioned bool
}

// sentence reads one of
//
//	90 seconds cpu time over 168 seconds (54% cpu average), exceeding limit of 50% cpu over 180 seconds
//	45001 wakeups over the last 166 seconds (272 wakeups per second average), exceeding limit of 150 wakeups per second over 300 seconds
//	2147.48 MB of file backed memory dirtied over 1059 seconds (2027.35 KB per second average), exceeding limit of 24.86 KB per second over 86400 seconds
func (l *limitLines) sentence(s string) {
	if l.mentioned {
		return
	}
	used, limit, _ := strings.Cut(s, "exceeding limit of ")
	l.value, l.over = amount(used), periodOf(used)
	l.rate, l.per = amount(limit), first(l.per, periodOf(limit))
	l.mentioned = l.value != 0
}

// amount reads a number and its unit, in bytes, seconds, pieces or as a share of one.
func amount(s string) float64 {
	number, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	unit, _, _ := strings.Cut(rest, " ")
	scale := 1.0
	switch unit {
	case "KB":
		scale = 1e3
	case "MB":
		scale = 1e6
	case "GB":
		scale = 1e9
	}
	if share, ok := strings.CutSuffix(number, "%"); ok {
		number, scale = share, 0.01
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(number, "s"), 64)
	if err != nil || !(f > 0 && f < 1e15) {
		return 0
	}
	return f * scale
}

// periodOf returns the seconds after "over".
func periodOf(s string) time.Duration {
	_, period, ok := strings.Cut(s, " over ")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(period, "the last "), " ")
	return seconds(number)
}

func (l *limitLines) finish() *Limit {
	if !l.mentioned {
		return nil
	}
	return &Limit{Value: l.value, Over: l.over, Allowed: first(l.allowed, l.rate*l.per.Seconds()), Per: l.per, Action: l.action}
}
