package report

import "time"

// Report holds the facts of one diagnostic report. What a report does not say is zero.
type Report struct {
	Kind    Kind
	BugType string `json:",omitempty"` // Apple's number of the kind, if the report states one
	// At is when it happened: the moment of the crash or panic, or the start of a hang or of what
	// exceeded a limit. Of kinds that do not say it is when the report was written.
	At       time.Time `json:",omitzero"`
	Incident string    `json:",omitempty"` // the same in a copy of the report in another folder
	OS       string    `json:",omitempty"` // "macOS 26.2"
	Build    string    `json:",omitempty"` // "25C56"
	Boot     string    `json:",omitempty"` // identifier of the boot

	Process     Process     `json:",omitzero"`
	Exception   Exception   `json:",omitzero"`
	Termination Termination `json:",omitzero"`
	// Frames are the first frames of the program's own images, innermost first: of the exception
	// that nobody caught, else of the thread that crashed, else of the heaviest stack.
	Frames []Frame `json:",omitempty"`

	// Fatal is set if the kind of report says that the system ended the process.
	Fatal    bool          `json:",omitempty"`
	Limit    *Limit        `json:",omitempty"`
	Duration time.Duration `json:",omitempty"` // of a hang or a stall
	Jetsam   *Jetsam       `json:",omitempty"`
	Panic    *Panic        `json:",omitempty"`
	// Faults are the causes that the hardware states for a reset, BootFailures is how many boots failed.
	Faults       []string `json:",omitempty"`
	BootFailures int      `json:",omitempty"`

	// Incomplete is set if the file ended too early or was too large: more facts may exist.
	Incomplete bool `json:",omitempty"`
}

// Process is the process that a report is about. Paths are as the report states them: macOS
// replaces names of users and volumes by "USER" and "VOLUME", and parts of the path by "*".
type Process struct {
	PID                   int32  `json:",omitempty"`
	Name                  string `json:",omitempty"`
	Path                  string `json:",omitempty"`
	Bundle                string `json:",omitempty"`
	Version, BuildVersion string `json:",omitempty"`
	// StartTicks and ExitTicks are Mach time. With the pid, StartTicks identify a process of one boot:
	// rusage shows the same number.
	StartTicks, ExitTicks uint64        `json:",omitempty"`
	Started               time.Time     `json:",omitzero"`
	Age                   time.Duration `json:",omitempty"` // at the time of the report
	Coalition             uint64        `json:",omitempty"`
	CoalitionName         string        `json:",omitempty"`
	ParentPID             int32         `json:",omitempty"`
	Parent                string        `json:",omitempty"`
	ResponsiblePID        int32         `json:",omitempty"`
	Responsible           string        `json:",omitempty"`
}

// Exception is what the processor or the kernel objected to.
type Exception struct {
	Type    string `json:",omitempty"` // "EXC_BAD_ACCESS"
	Signal  string `json:",omitempty"` // "SIGSEGV"
	Subtype string `json:",omitempty"` // "KERN_INVALID_ADDRESS at 0x0"
	Message string `json:",omitempty"`
}

// Termination is why a process was ended, and by whom.
type Termination struct {
	Namespace string `json:",omitempty"` // one of the names of ExitNamespace
	Code      uint64 `json:",omitempty"`
	Indicator string `json:",omitempty"` // the code in Apple's words
	Reason    string `json:",omitempty"` // what the one who ended it said, its first line
	By        string `json:",omitempty"`
	ByPID     int32  `json:",omitempty"`
}

// Frame is a call. Offset is counted from the symbol, or from the image where there is no symbol.
type Frame struct {
	Image  string
	Symbol string `json:",omitempty"`
	Offset uint64
}

// Limit is a limit that a process exceeded: it used Value within Over, and Allowed within Per is
// allowed. The unit depends on the kind: seconds of CPU time, wakeups, bytes written, bytes of memory,
// threads. Value is 0 if the report says only what the limit is.
type Limit struct {
	Value   float64
	Over    time.Duration
	Allowed float64
	Per     time.Duration
	Action  string `json:",omitempty"` // "none", "Process killed"
}

// Jetsam is the state of memory when the kernel killed processes for lack of it.
type Jetsam struct {
	PageSize uint64
	Pages    Pages
	// Compressor is the memory that the compressor takes, Uncompressed what it holds, in pages.
	Compressor, Uncompressed     uint64
	Compressions, Decompressions uint64
	Processes                    int // how many processes the list has
	Killed                       []Killed
	KilledCount                  int // may be more than Killed has
	Largest                      string
	Top                          []Resident // the largest of the list
}

// Pages are the system's pages by their use.
type Pages struct {
	Active, Inactive, Speculative, Throttled, Free, Wired, Purgeable, Anonymous, FileBacked uint64
}

// Killed is a process that the kernel killed.
type Killed struct {
	Resident
	Reason string
	// Housekeeping is set if the process was idle and the kernel needed no memory urgently.
	Housekeeping bool `json:",omitempty"`
}

// Resident is a process in a jetsam list.
type Resident struct {
	PID       int32
	Name      string
	Bytes     uint64
	MaxBytes  uint64        // the most that it ever had
	Coalition uint64        `json:",omitempty"`
	CPU       time.Duration `json:",omitempty"`
	Age       time.Duration `json:",omitempty"`
}

// Urgent reports whether a process was killed that was not idle.
func (j *Jetsam) Urgent() bool {
	for i := range j.Killed {
		if !j.Killed[i].Housekeeping {
			return true
		}
	}
	return false
}

// Panic is a panic of the kernel. The process that ran at the time need not be its cause.
type Panic struct {
	Text    string    // the first line of the message
	Booted  time.Time `json:",omitzero"`
	PID     int32
	Task    string `json:",omitempty"`
	Pages   uint64 `json:",omitempty"`
	Threads uint64 `json:",omitempty"`
}
