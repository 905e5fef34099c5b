package metric

import (
	"strings"
	"time"
)

// Tally says how much of a metric is kept in the totals of many instances that
// come and go: who used most is asked over hours, of tens of thousands of
// processes, and is not found out from their every value.
type Tally uint8

const (
	NoTally Tally = iota
	// TallyGain metrics are counters, of which it matters what they gained.
	TallyGain
	// TallyLevel metrics go up and down; their mean and their peak matter.
	TallyLevel
	// TallyPeak metrics are what the kernel remembers as the peak of a level.
	TallyPeak
)

var tallies = map[string]Tally{
	"proc.psinfo.utime": TallyGain, "proc.psinfo.stime": TallyGain,
	"proc.io.read_bytes": TallyGain, "proc.io.write_bytes": TallyGain,
	"proc.energy.cpu": TallyGain, "proc.energy.billed": TallyGain,
	"proc.wakeups.interrupt": TallyGain, "proc.wakeups.idle": TallyGain,
	"proc.psinfo.faults": TallyGain, "proc.psinfo.minflt": TallyGain,
	"proc.psinfo.maj_flt": TallyGain, "proc.psinfo.majflt": TallyGain,
	"proc.memory.footprint": TallyLevel, "proc.memory.rss": TallyLevel,
	"proc.memory.footprint_max": TallyPeak, "proc.memory.vmhwm": TallyPeak,
}

// Tally is how d is kept in totals.
func (d *Desc) Tally() Tally {
	t := tallies[d.Name]
	if t == NoTally || !PerBoot(d.Indom) || d.Type == String || d.Type.Float() || d.Formula != "" || (t == TallyGain) != (d.Sem == Counter) {
		return NoTally
	}
	return t
}

// Title is the name of an instance without its number: what processes of one
// program have in common.
func (in *Instance) Title() string {
	if number, name, ok := strings.Cut(in.Name, " "); ok && number != "" && strings.Trim(number, "0123456789/") == "" {
		return name
	}
	return in.Name
}

// Began is when an instance began, as its label tells; 0 if none does.
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

// Owner is whose an instance is, as its label tells.
func (in *Instance) Owner() string { return in.Label("uid") }
