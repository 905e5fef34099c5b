package simulation

import (
	"fmt"
	"strings"
	"time"
)

// A plan is a stretch of simulated life.
type plan struct {
	name string
	// awake is how long the machine is awake in all.
	awake time.Duration
	speed int
	// day is how long the machine is awake before it sleeps for night.
	day, night time.Duration
	// ends are how the boots end, spread evenly; after the last one the
	// simulation is over.
	ends []string
	// classes is the table of intervals; others is what a reload changes it
	// to, and back.
	classes, others string
	// fast is the interval of the class fast.
	fast time.Duration
	sync string
	seal string
}

// scenario writes the statements for the simulated Mac.
func (p *plan) scenario(shipped string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "include %q\nhost { root yes }\n", shipped+"/macbook-m.scn")
	// The clocks are put forward in the night to the 29th.
	b.WriteString("clock wall 2026-03-25T08:00:00\n")
	if p.day > 0 {
		for at := p.day; at < p.awake; at += p.day {
			fmt.Fprintf(&b, "sleep at %d for %d\n", int(at.Seconds()), int(p.night.Seconds()))
		}
	}
	fmt.Fprintf(&b, "clock step at %d by -100\n", int(p.awake.Seconds()*0.21))
	fmt.Fprintf(&b, "clock step at %d by 7200\n", int(p.awake.Seconds()*0.65))
	fmt.Fprintf(&b, "clock step at %d by -7100\n", int(p.awake.Seconds()*0.9))
	// A source that fails for a while.
	fmt.Fprintf(&b, "fail host_statistics64 5 from %d until %d\n", int(p.awake.Seconds()*0.7), int(p.awake.Seconds()*0.8))
	for i, end := range p.ends {
		at := int(p.awake.Seconds() * float64(i+1) / float64(len(p.ends)))
		if end == "reboot" {
			// The program gets as long as the machine is down to end.
			fmt.Fprintf(&b, "reboot at %d down 7200 grace 7200\n", at)
		} else {
			fmt.Fprintf(&b, "%s at %d down 60\n", end, at)
		}
	}
	return b.String()
}

// config writes the recorder's configuration; changed is the one that a reload
// goes over to.
func (p *plan) config(dir, ship string, changed bool) string {
	classes := p.classes
	if changed {
		classes = p.others
	}
	return fmt.Sprintf(`[archive]
dir = %q
keep_for = "5d"
sync = %q
sync_on_battery = %q
seal = %q
on_finish = [%q]
on_finish_limit = "7d"
[classes]
%s`, dir, p.sync, p.sync, p.seal, ship, classes)
}
