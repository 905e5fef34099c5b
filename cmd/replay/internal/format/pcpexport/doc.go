// Package pcpexport writes recordings as archives of Performance Co-Pilot, so that
// its tools answer from them what replay does.
//
// Metrics keep PCP's numbers where they have some, and get one from their name where
// they have none. What was read at one time is one record; a mark stands wherever no
// rate may be taken across. Instances of processes are called as PCP calls them and
// have their pid for a number; a pid that is used again gets another number.
//
// What PCP has no place for travels in metrics of ours below tachograph: when on the
// clocks that sleep does and does not stop a record was read, what happened, and what
// an instance's key and labels are. Whoever imports such an archive has what was
// exported.
package pcpexport

import (
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// The metrics of ours.
const (
	TickClass    = "tachograph.tick.class"
	TickAwake    = "tachograph.tick.awake"
	TickCont     = "tachograph.tick.continuous"
	EventKind    = "tachograph.event.kind"
	EventText    = "tachograph.event.text"
	EventAbout   = "tachograph.event.about"
	AboutPrefix  = "tachograph.about."
	aboutCluster = pcp.Reserved - 1
)

func reserved(item uint32) metric.PMID {
	return metric.NewPMID(metric.OwnDomain, pcp.Reserved, item)
}

var (
	tickClass = metric.Desc{Name: TickClass, PMID: reserved(0), Type: metric.String, Sem: metric.Discrete,
		Help:     "How often what this record holds is read",
		LongHelp: "The class of the metrics that were read at this time: fast, process, polled and so on."}
	tickAwake = metric.Desc{Name: TickAwake, PMID: reserved(1), Type: metric.I64, Sem: metric.Instant, Units: metric.Nanoseconds,
		Help: "Time since boot without sleep, when this record was read"}
	tickCont = metric.Desc{Name: TickCont, PMID: reserved(2), Type: metric.I64, Sem: metric.Instant, Units: metric.Nanoseconds,
		Help: "Time since boot with sleep, when this record was read"}
	eventKind = metric.Desc{Name: EventKind, PMID: reserved(3), Type: metric.String, Sem: metric.Discrete,
		Help: "What kind of thing happened: boot, sleep, process exit and so on"}
	eventText = metric.Desc{Name: EventText, PMID: reserved(4), Type: metric.String, Sem: metric.Discrete,
		Help: "What happened, in a sentence"}
	eventAbout = metric.Desc{Name: EventAbout, PMID: reserved(5), Type: metric.String, Sem: metric.Discrete,
		Help: "What else is known of what happened, as JSON: exactly when, to what, labels"}
)

// aboutDesc is the metric that says who the instances of a domain are.
func aboutDesc(indom string) *metric.Desc {
	_, _, item := pcp.NumberOf(indom).Parts()
	return &metric.Desc{
		Name: AboutPrefix + indom, PMID: metric.NewPMID(metric.OwnDomain, aboutCluster, item), Type: metric.String, Sem: metric.Discrete, Indom: indom,
		Help:     "What is known of an instance: its key, name and labels, as JSON",
		LongHelp: "It is there where the instance is first seen, and where this changes.",
	}
}
