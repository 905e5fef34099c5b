// Package pcpexport writes recordings as archives of Performance Co-Pilot, so that PCP's tools
// give the same answers from them as replay.
//
// Metrics keep their PCP numbers if they have some, and get one from their name otherwise. What
// was read at one time is one record; a mark is written wherever no rate may be computed across.
// Instances of processes have the names that PCP gives them and their PID as number; a PID that
// is used again gets another number.
//
// What PCP has no place for is written in metrics of ours below tachograph: when a record was
// read on the clocks that do and do not count sleep, events, and the keys and labels of
// instances. An import of such an archive restores what was exported.
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

// aboutDesc returns the metric that describes the instances of a domain.
func aboutDesc(indom string) *metric.Desc {
	_, _, item := pcp.NumberOf(indom).Parts()
	return &metric.Desc{
		Name: AboutPrefix + indom, PMID: metric.NewPMID(metric.OwnDomain, aboutCluster, item), Type: metric.String, Sem: metric.Discrete, Indom: indom,
		Help:     "What is known of an instance: its key, name and labels, as JSON",
		LongHelp: "It is there where the instance is first seen, and where this changes.",
	}
}
