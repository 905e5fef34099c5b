package report

import (
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Crash is an unclean end.
type Crash struct {
	// Last is the last sample before it, Up the time when the machine, or the recorder, was up
	// again.
	Last, Up int64
	Text     string
}

// LastCrash returns the last crash of a host's machine: a panic, or a start without a previous
// shutdown. If there is none, it returns the last unclean end of the recorder alone, which shows
// in the recorder's next start during the same boot.
func LastCrash(a query.Archive, host string) (Crash, bool) {
	w := query.Window{Hosts: []string{host}}
	from, _, list := query.Covered(a, w)
	if len(list) == 0 {
		return Crash{}, false
	}
	var machine, recorder Crash
	clean := true // what was before the recording is unknown
	running := "" // the boot in which the recorder runs, as far as is known
	var panicked int64
	for e := range query.SortedEvents(a, w, metric.EventBoot, metric.EventShutdown, metric.EventPanic, metric.EventStart, metric.EventStop) {
		switch e.Kind {
		case metric.EventStart:
			if running == e.Archive.BootID && running != "" {
				if last := query.LastBefore(a, host, e.At.Wall-1); last >= from {
					recorder = Crash{Last: last, Up: e.At.Wall, Text: "no crash of the machine was recorded, the recorder was killed or crashed"}
				}
			}
			clean, running = false, e.Archive.BootID
		case metric.EventStop, metric.EventShutdown:
			clean, running = true, ""
		case metric.EventPanic, metric.EventBoot:
			panic := e.Kind == metric.EventPanic
			last := query.LastBefore(a, host, e.At.Wall)
			if last >= from && (panic || !clean && last > panicked) {
				text := "the last crash, an end without a shutdown"
				if panic {
					text, panicked = "the last crash, a panic", e.At.Wall
				}
				machine = Crash{Last: last, Up: e.At.Wall, Text: text}
			}
			if running = ""; !panic {
				clean = false
			}
		}
	}
	if machine.Last != 0 {
		return machine, true
	}
	return recorder, recorder.Last != 0
}
