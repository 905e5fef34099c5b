package main

import (
	"fmt"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// The values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// checkColor refuses any other value.
func (p *page) checkColor() error {
	switch p.colorFlag {
	case colorAuto, colorAlways, colorNever:
		return nil
	}
	return fmt.Errorf("--color %s: use auto, always or never", p.colorFlag)
}

// limits are the values from which gauges are out of the ordinary: own is the value itself, part
// is a share of the gauge's total.
var limits = map[string]struct{ own, part float64 }{
	"cpu.wait":         {own: 0.5},
	"memory":           {part: 0.95},
	"memory.pressure":  {own: 0.1},
	"memory.level":     {own: 2}, // 1 is normal, 2 a warning, 4 critical
	"swap":             {part: 0.9},
	"disk.busy":        {own: 0.95},
	"filesys":          {own: 0.9},
	"thermal":          {own: 95},
	"thermal.pressure": {own: 1}, // 0 is nominal
}

// alarming reports whether a gauge's value is out of the ordinary.
func alarming(g *query.Gauge, value float64) bool {
	limit, known := limits[g.Name]
	if !known {
		return false
	}
	if limit.part > 0 {
		return value >= float64(limit.part*g.Of)
	}
	return value >= limit.own
}

// alarmingState reports whether a process hangs in the kernel, or has ended and its parent has
// not yet collected its status.
func alarmingState(state string) bool {
	return strings.HasPrefix(state, "D") || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "U")
}

// alarmingEvents are the kinds of events that a healthy machine does not have.
var alarmingEvents = map[metric.EventKind]bool{
	metric.EventPanic: true, metric.EventErrorBegin: true, metric.EventThrottle: true, metric.EventMemory: true, metric.EventGap: true,
	metric.EventDistrustBegin: true, metric.EventCrash: true, metric.EventKill: true, metric.EventHang: true, metric.EventReset: true,
	metric.EventKernel: true, metric.EventService: true,
}

// alarmingEvent reports whether an event is out of the ordinary.
func alarmingEvent(e *store.Event) bool {
	return alarmingEvents[e.Kind] || e.Kind == metric.EventProcessExit && bySignal(e.Label("how"))
}

// bySignal reports whether a signal other than SIGTERM ended a process.
func bySignal(how string) bool {
	return strings.Contains(how, "signal") && !strings.Contains(how, "TERM") && !strings.HasSuffix(how, "signal 15")
}
