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

// resources are the kinds of EXC_RESOURCE by the beginning of its subtype.
var resources = []struct {
	subtype string
	kind    Kind
}{{"CPU", CPU}, {"WAKEUPS", Wakeups}, {"MEMORY", Memory}, {"THREADS", Threads}}

// resource reads the exception of a resource: which one, and the limit from its message, one of
//
//	(Limit 200 MB) Crossed High Water Mark
//	(Limit 50%) Observed 92% over 180 secs
//	(Limit 150/sec) Observed 214/sec over 300 secs
func (p *parser) resource() {
	e, l := &p.r.Exception, &p.limit
	if e.Type != "EXC_RESOURCE" || l.mentioned {
		return
	}
	for _, known := range resources {
		if strings.HasPrefix(e.Subtype, known.subtype) {
			p.r.Kind = known.kind
		}
	}
	_, message, ok := strings.Cut(e.Message, "(Limit ")
	limit, observed, closed := strings.Cut(message, ")")
	if !ok || !closed || amount(limit) == 0 {
		return
	}
	l.mentioned = true
	l.allowed = amount(limit)
	if p.r.Kind == Memory && strings.HasSuffix(limit, " MB") {
		l.allowed *= 1.048576 // the kernel counts 2^20 bytes
	}
	_, observed, _ = strings.Cut(observed, "Observed ")
	if per := periodOf(observed); per > 0 {
		l.value, l.over, l.per = amount(observed)*per.Seconds(), per, per
		l.allowed *= per.Seconds()
	}
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
	f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(number, "/sec"), "s"), 64)
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
