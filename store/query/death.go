package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A Death is a process that did not end by itself and well, with all that was recorded about it.
type Death struct {
	Archive *store.ArchiveInfo
	At      int64
	// Instance is the process; where no reading met it, it has the labels of the events.
	Instance *metric.Instance
	// Exit is the event of its end, if that was seen. Said are the events in which the system itself
	// said something about it, the most telling first.
	Exit *store.Event
	Said []*store.Event
	// Loop are the runs of a crash loop, of which this is the last; nil if it is none.
	Loop *Runs
}

// The kinds of deaths.
const (
	DeathLoop    = "crash loop"
	DeathKill    = "kill"    // for want of memory, or at a limit
	DeathCrash   = "crash"   // of a fault of its own
	DeathSignal  = "signal"  // somebody sent one
	DeathExit    = "exit"    // with an error
	DeathFailure = "failure" // of a service; no process was seen
)

// Kind returns the kind of a death.
func (d *Death) Kind() string {
	how := d.how()
	switch first := d.first(); {
	case d.Loop != nil:
		return DeathLoop
	case first != nil && (first.Kind == metric.EventKill || first.Kind == metric.EventMemory) || d.label("cause") != "":
		return DeathKill
	case first != nil && first.Kind == metric.EventCrash || Crashed(how):
		return DeathCrash
	case strings.HasPrefix(how, "signal"):
		return DeathSignal
	case d.Exit == nil:
		return DeathFailure
	}
	return DeathExit
}

// first returns the most telling event of the system, nil if there is none.
func (d *Death) first() *store.Event {
	if len(d.Said) == 0 {
		return nil
	}
	return d.Said[0]
}

// label returns a label of the most telling event that has it.
func (d *Death) label(name string) string {
	for _, e := range d.Said {
		if v := e.Label(name); v != "" {
			return v
		}
	}
	if d.Exit != nil {
		return d.Exit.Label(name)
	}
	return ""
}

func (d *Death) how() string {
	if d.Exit == nil {
		return ""
	}
	return d.Exit.Label("how")
}

// Name returns the name of the process; where only its service is known, of that.
func (d *Death) Name() string {
	if d.Loop != nil {
		return d.Loop.Name
	}
	return cmp.Or(d.label("name"), ProcessName(d.Instance), d.label("unit"))
}

// PID returns the number of the process, 0 if it is not known.
func (d *Death) PID() int {
	if pid, err := strconv.Atoi(d.label("pid")); err == nil && pid > 0 {
		return pid
	}
	return ProcessID(d.Instance)
}

// Whose returns whose the process was.
func (d *Death) Whose() Whose {
	whose := WhoseIs(d.Instance)
	for _, e := range d.Said {
		if whose == (Whose{}) {
			whose = WhoseIs(&metric.Instance{Labels: e.Labels})
		}
	}
	return whose
}

// Version returns the version of the program that was reported.
func (d *Death) Version() string { return d.label("version") }

// Signal and Exception return what the program was ended by, as the system called it.
func (d *Death) Signal() string    { return d.label("signal") }
func (d *Death) Exception() string { return d.label("exception") }

// Lived returns how long the process lived, 0 if that is not known.
func (d *Death) Lived() time.Duration {
	began := d.Instance.Began()
	if at, err := time.Parse(time.RFC3339Nano, d.label("start")); began == 0 && err == nil {
		began = at.UnixNano()
	}
	if began == 0 || began > d.At {
		return 0
	}
	return time.Duration(max(d.At-began, 0))
}

// Frames are the functions in which it crashed, the innermost first.
func (d *Death) Frames() []string { return framesOf(d.label("frames")) }

func framesOf(label string) (list []string) {
	for f := range strings.SplitSeq(label, ";") {
		if f = strings.TrimSpace(f); f != "" {
			list = append(list, f)
		}
	}
	return list
}

// Sources names what a death is known from.
func (d *Death) Sources() []string {
	var list []string
	for _, e := range d.Said {
		if s := sourceOf(e); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	if d.Exit != nil || d.Loop != nil {
		list = append(list, "exit")
	}
	return list
}

func sourceOf(e *store.Event) string {
	if e.Kind == metric.EventMemory {
		return "kernel's count"
	}
	return cmp.Or(e.Label("source"), string(e.Kind))
}

// mostCallers is the most functions that a sentence about a crash names.
const mostCallers = 3

// What says of what the process died. bytes writes an amount of memory.
func (d *Death) What(bytes func(float64) string) string {
	if d.Loop != nil {
		text := d.Loop.String()
		if len(d.Said) > 0 {
			last := *d
			last.Loop = nil
			text += "; the last: " + last.What(bytes)
		}
		return text
	}
	text := ""
	switch e := d.first(); {
	case e == nil:
	case e.Kind == metric.EventKill:
		text = d.killed(bytes)
	case e.Kind == metric.EventMemory:
		text = "killed by the kernel for want of memory"
	case e.Kind == metric.EventCrash:
		text = d.crash()
	}
	if text == "" && d.label("cause") != "" {
		text = "ended by the kernel: " + d.label("cause")
	}
	if text == "" {
		text = d.how()
	}
	if unit := d.label("unit"); d.Exit == nil && unit != "" && text == "" {
		text = unit + " failed"
	}
	if result := d.label("result"); result != "" && !repeats(text, result) {
		text = with(text, result)
	}
	if n := d.label("restarts"); n != "" && n != "0" {
		text = with(text, "restarted "+n+" times before")
	}
	return cmp.Or(text, "how is not known")
}

// repeats reports whether the result of a service says no more than the way in which its process
// ended.
func repeats(text, result string) bool {
	switch result {
	case "exit-code", "exit code":
		return strings.Contains(text, "exit ")
	case "signal", "core-dump", "core dump":
		return text != "" && !strings.Contains(text, "exit ")
	case "oom-kill":
		return strings.Contains(text, "memory")
	}
	return strings.Contains(text, result)
}

func with(text, more string) string {
	if text == "" {
		return more
	}
	return text + ", " + more
}

// crash says what the program did that was refused, and where.
func (d *Death) crash() string {
	signal, exception := d.label("signal"), d.label("exception")
	text := signal
	switch {
	case signal == "":
		text = cmp.Or(exception, d.how(), "crash")
	case exception != "" && exception != signal:
		text = signal + " (" + exception + ")"
	}
	if frames := d.Frames(); len(frames) > 0 {
		text += " in " + strings.Join(frames[:min(len(frames), mostCallers)], ", called by ")
	}
	if why := d.label("reason"); why != "" && !strings.Contains(text, why) {
		text += ": " + why
	}
	return text
}

// killed says who killed a process, why, and what memory was at stake.
func (d *Death) killed(bytes func(float64) string) string {
	text := "killed"
	if by := d.label("by"); by != "" {
		text += " by " + by
	}
	if why := d.label("reason"); why != "" {
		text += " (" + why + ")"
	} else {
		text += " for want of memory"
	}
	if group := d.label("group"); group != "" {
		text += " in " + group
	}
	amount := func(name string) string {
		x, err := strconv.ParseFloat(d.label(name), 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return ""
		}
		return bytes(x)
	}
	if held := amount("bytes"); held != "" {
		text += ", held " + held
	}
	if limit := amount("limit"); limit != "" {
		text += ", limit " + limit
	}
	return text
}

// Telling ranks events about one death: the higher, the more it says.
func Telling(e *store.Event) int {
	score := map[metric.EventKind]int{metric.EventKill: 30, metric.EventCrash: 20, metric.EventMemory: 10}[e.Kind]
	for _, l := range []string{"exception", "reason", "bytes"} {
		if e.Label(l) != "" {
			score++
		}
	}
	// The kernel names the place where it was, a core dump also who called that.
	return score + min(len(framesOf(e.Label("frames"))), 5)
}

// String describes a death in a line, for sentences about others.
func (d *Death) String() string {
	text := d.Name()
	if pid := d.PID(); pid != 0 {
		text += fmt.Sprintf(" (pid %d)", pid)
	}
	return text + d.Whose().Beside(d.Name())
}
