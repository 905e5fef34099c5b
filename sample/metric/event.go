package metric

import (
	"strconv"
	"time"
)

// EventKind names what happened. Kinds are stored as text, so that a reader can show even kinds
// it does not know.
type EventKind string

const (
	EventBoot          EventKind = "boot"
	EventShutdown      EventKind = "shutdown"
	EventPanic         EventKind = "panic"
	EventStart         EventKind = "recorder start"
	EventStop          EventKind = "recorder stop"
	EventSleep         EventKind = "sleep"
	EventWake          EventKind = "wake"
	EventClockStep     EventKind = "clock step"
	EventTimeZone      EventKind = "time zone"
	EventGap           EventKind = "gap"
	EventConfig        EventKind = "configuration"
	EventProcessStart  EventKind = "process start"
	EventProcessExit   EventKind = "process exit"
	EventProcessExec   EventKind = "process exec"
	EventProcessExits  EventKind = "process exits" // many exits in one event
	EventErrorBegin    EventKind = "error begin"
	EventErrorEnd      EventKind = "error end"
	EventOverrun       EventKind = "overrun"
	EventBudget        EventKind = "budget"
	EventRotate        EventKind = "rotate"
	EventShip          EventKind = "ship"
	EventRemoved       EventKind = "archive removed"
	EventTCPGate       EventKind = "tcp statistics gate"
	EventTunableChange EventKind = "tunable change"
	EventPower         EventKind = "power source"
	EventThrottle      EventKind = "throttling"
	EventMemory        EventKind = "memory pressure"
	EventUpdate        EventKind = "system update"
	EventMount         EventKind = "mount"
	EventDevice        EventKind = "device"
	EventStacks        EventKind = "stacks" // were sampled
	EventTrigger       EventKind = "trigger"
	EventOwner         EventKind = "owner"          // the label "what" says what happened to a service, container, app or session
	EventDistrustBegin EventKind = "distrust begin" // of metrics that their witness contradicts
	EventDistrustEnd   EventKind = "distrust end"
)

// Kinds of events that the system itself wrote down: in reports, in its log, in the logs of what
// installs software. The label "source" says where, "rule" which kind of text it was.
const (
	EventCrash    EventKind = "crash"           // a program did what the processor or the system refuses
	EventHang     EventKind = "hang"            // a program, a task or a processor did not go on
	EventKill     EventKind = "kill"            // the system ended a process, for want of memory or at a limit
	EventLimit    EventKind = "limit"           // a program used more than the system thinks right
	EventReset    EventKind = "forced reset"    // the machine was reset, or lost power
	EventKernel   EventKind = "kernel"          // the kernel reported an error of its own or of a device
	EventService  EventKind = "service failure" // a service failed, or was started again after it had
	EventSoftware EventKind = "software"        // something was installed, removed or changed to another version
)

// SaidKinds are all kinds of events that the system itself wrote down, besides panics.
var SaidKinds = []EventKind{
	EventCrash, EventHang, EventKill, EventLimit, EventReset, EventKernel, EventService, EventSoftware,
}

// HowIdle is the label "how" of the end of a process that the kernel ended because it was idle: a
// Mac's housekeeping, not a failure.
const HowIdle = "idle exit"

// The texts of the reports that such events are of, where they are kept: instances of a domain, with a
// text and its length. The label of an event has the key of the instance.
const (
	DomainReport    = "report"
	ReportText      = "system.report.text"
	ReportSize      = "system.report.size"
	LabelReportText = "text"
)

// Event is something that happened at an instant. Where it ended a period (a gap, a sleep), the
// label "from" holds the wall clock of the period's beginning in RFC 3339 and "seconds" its
// length: see Period.
type Event struct {
	At   Stamp
	Kind EventKind
	// Text is a sentence for people.
	Text string
	// Indom and Key name the instance it happened to, if any.
	Indom, Key string
	Labels     []Label
}

// Label returns the value of the label called name, or "".
func (e *Event) Label(name string) string { return labelled(e.Labels, name) }

// Period makes the labels of an event that ends a period.
func Period(from time.Time, length time.Duration) []Label {
	return []Label{
		{Name: "from", Value: from.UTC().Format(time.RFC3339Nano)},
		{Name: "seconds", Value: strconv.FormatFloat(length.Seconds(), 'f', 3, 64)},
	}
}

// Ended makes the event, stamped at, for a period that has ended: a gap, a sleep, an error.
func Ended(at Stamp, kind EventKind, from time.Time, length time.Duration, text string) Event {
	return Event{At: at, Kind: kind, Text: text, Labels: Period(from, length)}
}

// Breaks reports whether rates must not be computed across e.
func (e *Event) Breaks() bool {
	switch e.Kind {
	case EventBoot, EventShutdown, EventPanic, EventStart, EventStop, EventSleep, EventWake, EventGap:
		return true
	}
	return false
}
