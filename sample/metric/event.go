package metric

// EventKind names what happened. Kinds are stored as text, so that a reader
// shows even those it does not know.
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
	EventProcessExits  EventKind = "process exits" // of many, told together
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
)

// Event is something that happened at an instant. Where it ended a period
// that has a beginning (a gap, a sleep), the label "from" holds that
// beginning's wall clock in RFC 3339 and "seconds" its length.
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
func (e *Event) Label(name string) string {
	for _, l := range e.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Breaks reports whether a rate must not be taken across e.
func (e *Event) Breaks() bool {
	switch e.Kind {
	case EventBoot, EventShutdown, EventPanic, EventStart, EventStop, EventSleep, EventWake, EventGap:
		return true
	}
	return false
}
