package systemd

import (
	"strconv"
	"strings"
	"tachograph/sample/proc/cmdline"
	"time"
)

// Kind is what an entry is about.
type Kind uint8

const (
	Plain           Kind = iota
	UnitStarted          // a start job is done
	UnitStartFailed      // a start job has failed
	UnitStopped          // a stop job is done
	UnitFailed           // a unit has entered the failed state
	UnitRestart          // a restart is scheduled
	UnitOOM              // the kernel killed a process of a unit for want of memory
	UnitOOMD             // systemd-oomd killed a unit
	UnitResources        // what a unit has used from its start to its end
	ProcessExited        // the main or a control process of a unit
	Coredump
	SessionStarted
	SessionEnded
	SleepStarted
	SleepEnded
	Shutdown
	ClockChanged
	ZoneChanged
	LinesDropped // somebody logs so much that journald drops lines
	LinesMissed  // journald has not read the kernel's lines in time
)

var kinds = map[string]Kind{
	"39f53479d3a045ac8e11786248231fbf": UnitStarted,
	"be02cf6855d2428ba40df7e9d022f03d": UnitStartFailed,
	"9d1aaa27d60140bd96365438aad20286": UnitStopped,
	"d9b373ed55a64feb8242e02dbe79a49c": UnitFailed,
	"5eb03494b6584870a536b337290809b3": UnitRestart,
	"fe6faa94e7774663a0da52717891d8ef": UnitOOM,
	"d989611b15e44c9dbf31e3c81256e4ed": UnitOOMD,
	"ae8f7b866b0347b9af31fe1c80b127c0": UnitResources,
	"98e322203f7a4ed290d09fe03c09fe15": ProcessExited,
	"fc2e22bc6ee647b6b90729ab34a250b1": Coredump,
	"8d45620c1a4348dbb17410da57c60c66": SessionStarted,
	"3354939424b4456d9802ca8333ed424a": SessionEnded,
	"6bbd95ee977941e497c48be27c254128": SleepStarted,
	"8811e6df2a8e40f58a94cea26f8ebf14": SleepEnded,
	"98268866d1d54a499c4e98921d93bc40": Shutdown,
	"c7a787079b354eaaa9e77b371893cd27": ClockChanged,
	"45f82f4aef7a4bbf942ce861d1f20990": ZoneChanged,
	"a596d6fe7bfa4994828e72309e95d61e": LinesDropped,
	"e9bf28e6e834481bb6f48f548ad13606": LinesMissed,
}

// Facts are what an entry of a kind says. What it does not say is "" or Unknown.
type Facts struct {
	Unit     string
	UserUnit bool   // the unit is one of a user's own manager
	Result   string // of a job or of a unit: done, timeout, exit-code, signal, core-dump, oom-kill…

	Restarts int    // how often the unit was restarted before
	Code     string // how a process ended: exited, killed, dumped
	Status   int    // its exit status or signal
	Command  string // which one it was of its unit, as ExecStart=
	Killed   int    // processes
	Dropped  int    // lines
	Session  string
	User     string
	Leader   int    // process of the session
	Way      string // of sleeping or shutting down: suspend, hibernate, reboot, poweroff…
	Zone     string
	Clock    time.Time // what it was set to, where that is said
	Crash    *Crash
	Used     *Used
}

// Unknown is a number that an entry does not have.
const Unknown = -1

// Crash is a process that dumped core. Neither its command line nor its environment are kept.
type Crash struct {
	PID, UID, Signal      int
	SignalName, Comm, Exe string
	At                    time.Time
	File                  string   // the core, if one was kept
	Package, Version      string   // that the executable is of
	Stack                 []string // the innermost functions of the thread that crashed, "function (module + offset)"
	// Text is the whole message with all stacks, as it is. It may be cut if it has the length MaxField.
	Text string `json:"-"`
}

// Used is the total of a unit's run.
type Used struct {
	CPU                      int64 // nanoseconds
	MemoryPeak, SwapPeak     int64 // bytes
	ReadBytes, WrittenBytes  int64
	Reads, Writes            int64
	ReceivedBytes, SentBytes int64
}

// maxFrames is how many functions of a stack are kept.
const maxFrames = 12

// classify returns the kind of an entry and its facts. An entry that an ordinary user has written
// in the system's name is a plain one.
func classify(fields map[string]string) (Kind, *Facts) {
	kind := kinds[fields["MESSAGE_ID"]]
	if kind == Plain || !believed(kind, fields) {
		return Plain, nil
	}
	facts := &Facts{
		Unit: cutName(fields["UNIT"]), Result: cutName(fields["JOB_RESULT"]),
		Restarts: number(fields["N_RESTARTS"]), Code: cutName(fields["EXIT_CODE"]), Status: number(fields["EXIT_STATUS"]),
		Command: cutName(fields["COMMAND"]), Killed: number(fields["N_PROCESSES"]), Dropped: number(fields["N_DROPPED"]),
		Session: cutName(fields["SESSION_ID"]), User: cutName(fields["USER_ID"]), Leader: number(fields["LEADER"]), Zone: cutName(fields["TIMEZONE"]),
	}
	if facts.Unit == "" && fields["USER_UNIT"] != "" {
		facts.Unit, facts.UserUnit = cutName(fields["USER_UNIT"]), true
	}
	switch kind {
	case UnitFailed:
		facts.Result = cutName(fields["UNIT_RESULT"])
	case SleepStarted, SleepEnded:
		facts.Way = cutName(fields["SLEEP"])
	case Shutdown:
		facts.Way = cutName(fields["SHUTDOWN"])
	case ClockChanged:
		facts.Clock = micros(fields["REALTIME"])
	case UnitResources:
		facts.Used = used(fields)
	case Coredump:
		facts.Unit, facts.UserUnit = cutName(fields["COREDUMP_UNIT"]), false
		if user := fields["COREDUMP_USER_UNIT"]; user != "" {
			facts.Unit, facts.UserUnit = cutName(user), true
		}
		facts.Crash = crash(fields)
	}
	return kind, facts
}

// believed says whether an entry is of the part of systemd that writes entries of its kind, as far
// as the fields can say that journald itself sets.
func believed(kind Kind, fields map[string]string) bool {
	switch kind {
	case Coredump:
		// It has given up its rights by the time it writes.
		return fields["_UID"] == "0" || strings.HasPrefix(fields["_SYSTEMD_UNIT"], "systemd-coredump@")
	case LinesDropped, LinesMissed:
		return fields["_TRANSPORT"] == "driver"
	case UnitStarted, UnitStartFailed, UnitStopped, UnitFailed, UnitRestart, UnitOOM, UnitOOMD, UnitResources, ProcessExited:
		if fields["UNIT"] != "" {
			return fields["_PID"] == "1" && fields["_UID"] == "0"
		}
		return fields["USER_UNIT"] != "" // a user's manager has the rights of the user whose unit it is
	}
	return fields["_UID"] == "0"
}

func crash(fields map[string]string) *Crash {
	return &Crash{
		PID: number(fields["COREDUMP_PID"]), UID: number(fields["COREDUMP_UID"]), Signal: number(fields["COREDUMP_SIGNAL"]),
		SignalName: cutName(fields["COREDUMP_SIGNAL_NAME"]), Comm: cutName(fields["COREDUMP_COMM"]), Exe: text(fields["COREDUMP_EXE"]),
		At: micros(fields["COREDUMP_TIMESTAMP"]), File: text(fields["COREDUMP_FILENAME"]),
		Package: cutName(fields["COREDUMP_PACKAGE_NAME"]), Version: cutName(fields["COREDUMP_PACKAGE_VERSION"]), Stack: frames(fields["MESSAGE"]), Text: fields["MESSAGE"],
	}
}

// frames returns the innermost functions of the first stack in the message of a core dump, which is
// that of the thread that crashed.
func frames(message string) (stack []string) {
	_, rest, found := strings.Cut(message, "Stack trace of thread ")
	if !found {
		return nil
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if line == "" || len(stack) == maxFrames {
			break // the next thread's stack follows an empty line
		}
		// "#0  0x00007f1c2a0a164c __pthread_kill_implementation (libc.so.6 + 0x8864c)"
		words := strings.SplitN(strings.Join(strings.Fields(line), " "), " ", 3)
		if !strings.HasPrefix(words[0], "#") || len(words) < 3 {
			continue
		}
		stack = append(stack, cmdline.Bounded(words[2], maxFieldText))
	}
	return stack
}

func used(fields map[string]string) *Used {
	return &Used{
		CPU: long(fields["CPU_USAGE_NSEC"]), MemoryPeak: long(fields["MEMORY_PEAK"]), SwapPeak: long(fields["MEMORY_SWAP_PEAK"]),
		ReadBytes: long(fields["IO_METRIC_READ_BYTES"]), WrittenBytes: long(fields["IO_METRIC_WRITE_BYTES"]),
		Reads: long(fields["IO_METRIC_READ_OPERATIONS"]), Writes: long(fields["IO_METRIC_WRITE_OPERATIONS"]),
		ReceivedBytes: long(fields["IP_METRIC_INGRESS_BYTES"]), SentBytes: long(fields["IP_METRIC_EGRESS_BYTES"]),
	}
}

// long reads a number, which is Unknown where there is none, or one that is too large to be true.
func long(s string) int64 {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return Unknown
	}
	return int64(n)
}

func number(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return Unknown
	}
	return int(n)
}

// micros reads a time in microseconds since 1970; the zero time where there is none.
func micros(s string) time.Time {
	n := long(s)
	if n < 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
