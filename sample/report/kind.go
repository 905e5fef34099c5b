package report

import "strings"

// Kind is what a report is about.
type Kind string

const (
	Unknown       Kind = ""
	Crash         Kind = "crash"
	Fault         Kind = "fault"    // reported like a crash, but the process lives on
	Resource      Kind = "resource" // an exception for exceeding a limit of whatever resource
	Killing       Kind = "jetsam"   // processes killed for lack of memory
	KernelPanic   Kind = "panic"
	Watchdog      Kind = "watchdog" // a part of the system did not answer its watchdog
	Stackshot     Kind = "stackshot"
	GPU           Kind = "gpu"
	CPU           Kind = "cpu"
	Wakeups       Kind = "wakeups"
	DiskWrites    Kind = "disk writes"
	Memory        Kind = "memory"
	Threads       Kind = "threads"
	Hang          Kind = "hang"
	Spin          Kind = "spin"
	Samples       Kind = "samples" // microstackshots that say nothing about a limit
	ShutdownStall Kind = "shutdown stall"
	Reset         Kind = "reset"
	SleepWake     Kind = "sleep or wake failure"
	Sandbox       Kind = "sandbox"
	Deadlock      Kind = "deadlock"
	Workflow      Kind = "workflow"  // a slow launch or another slow step, as the system sees it
	Telemetry     Kind = "telemetry" // analytics, which say nothing about a fault
	Other         Kind = "other"     // a kind whose number is not known
)

// kinds are the kinds by Apple's numbers for them.
var kinds = map[string]Kind{
	"309": Crash, "109": Crash, "308": Fault, "385": Resource, "185": Resource,
	"298": Killing, "98": Killing, "210": KernelPanic, "10": KernelPanic,
	"288": Stackshot, "409": Watchdog, "509": Watchdog, "28": Watchdog, "29": Watchdog,
	"284": GPU, "184": GPU, "21": GPU,
	"202": CPU, "206": CPU, "22": CPU, "142": Wakeups, "145": DiskWrites, "30": Memory, "227": Threads, "327": Threads,
	"157": Samples, "144": Samples, "44": Samples, "23": Samples,
	"222": Hang, "223": Hang, "310": Hang, "228": Hang, "328": Hang, "12": Hang, "11": Spin,
	"17": ShutdownStall, "115": Reset, "151": Reset, "24": SleepWake, "187": Sandbox, "242": Deadlock, "238": Workflow, "239": Workflow,
	"211": Telemetry, "226": Telemetry, "313": Telemetry,
}

// fatal are the numbers of reports of which the system ended the process.
var fatal = map[string]bool{"309": true, "109": true, "385": true, "206": true, "327": true, "328": true}

// kindOfEvent returns the kind that the line "Event:" of a text names.
func kindOfEvent(event string) Kind {
	switch event = strings.ToLower(event); {
	case event == "cpu usage":
		return CPU
	case event == "wakeups":
		return Wakeups
	case event == "disk writes":
		return DiskWrites
	case strings.Contains(event, "shutdown"):
		return ShutdownStall
	case strings.Contains(event, "hang"):
		return Hang
	case strings.Contains(event, "spin"), strings.Contains(event, "force quit"):
		return Spin
	case strings.Contains(event, "memory"):
		return Memory
	case strings.Contains(event, "sleep"), strings.Contains(event, "wake"):
		return SleepWake
	}
	return Unknown
}

// hints are ends and beginnings of file names, for texts that do not say what they are.
var hints = []struct {
	end, start string
	kind       Kind
}{
	{".crash", "", Crash}, {".panic", "", KernelPanic}, {".ips", "panic-", KernelPanic},
	{".cpu_resource.diag", "", CPU}, {".wakeups_resource.diag", "", Wakeups}, {".diskwrites_resource.diag", "", DiskWrites}, {".memory_resource.diag", "", Memory},
	{".hang", "", Hang}, {".spin", "", Spin}, {".shutdownStall", "", ShutdownStall}, {".diag", "ResetCounter-", Reset},
	{".diag", "SleepWakeFailure", SleepWake}, {".diag", "Sleep Wake Failure", SleepWake}, {".diag", "", Samples},
}

// kindOfName returns the kind that a file's name suggests.
func kindOfName(name string) Kind {
	for _, h := range hints {
		if strings.HasSuffix(name, h.end) && strings.HasPrefix(name, h.start) {
			return h.kind
		}
	}
	return Unknown
}
