package metric

import (
	"strings"
	"time"
)

// Tally says how a metric is kept in the totals of many instances that come and go. A question
// such as "which program used most" spans hours and tens of thousands of processes, too many to
// answer from their every value.
type Tally uint8

const (
	NoTally Tally = iota
	// TallyGain metrics are counters; their gain matters.
	TallyGain
	// TallyLevel metrics go up and down; their mean and their peak matter.
	TallyLevel
	// TallyPeak metrics are levels' peaks as the kernel remembers them.
	TallyPeak
)

var tallies = map[string]Tally{
	"proc.psinfo.utime": TallyGain, "proc.psinfo.stime": TallyGain,
	"proc.io.read_bytes": TallyGain, "proc.io.write_bytes": TallyGain,
	"proc.energy.cpu": TallyGain, "proc.energy.billed": TallyGain,
	"proc.wakeups.interrupt": TallyGain, "proc.wakeups.idle": TallyGain,
	"proc.net.in_bytes": TallyGain, "proc.net.out_bytes": TallyGain, "proc.net.retrans_bytes": TallyGain,
	"proc.net.opened": TallyGain, "proc.net.accepted": TallyGain, "proc.net.refused": TallyGain, "proc.net.failed": TallyGain,
	"proc.psinfo.faults": TallyGain, "proc.psinfo.minflt": TallyGain,
	"proc.psinfo.maj_flt": TallyGain, "proc.psinfo.majflt": TallyGain,
	"proc.memory.footprint": TallyLevel, "proc.memory.rss": TallyLevel,
	"proc.memory.footprint_max": TallyPeak, "proc.memory.vmhwm": TallyPeak,
}

// Tally returns how d is kept in totals.
func (d *Desc) Tally() Tally {
	t := tallies[d.Name]
	if t == NoTally || !PerBoot(d.Indom) || d.Type == String || d.Type.Float() || d.Formula != "" || (t == TallyGain) != (d.Sem == Counter) {
		return NoTally
	}
	return t
}

// Title is the name of an instance without its number. Processes of one program share it.
func (in *Instance) Title() string {
	if number, name, ok := strings.Cut(in.Name, " "); ok && number != "" && strings.Trim(number, "0123456789/") == "" {
		return name
	}
	return in.Name
}

// Began is when an instance began, from its label "start"; 0 without one.
func (in *Instance) Began() int64 {
	text := in.Label("start")
	if text == "" {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return t.UnixNano()
}

// UserID is the user ID of an instance's user, from its label "uid".
func (in *Instance) UserID() string { return in.Label("uid") }
