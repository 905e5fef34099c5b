package proc

import (
	"fmt"
	"strconv"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// indom is the instance domain of processes.
const indom = "process"

func startEvent(p *metric.Instance, name string, at metric.Stamp) metric.Event {
	labels := []metric.Label{{Name: "pid", Value: p.Label("pid")}, {Name: "name", Value: name}}
	for _, l := range []string{"parent", "uid", "exe"} {
		if v := p.Label(l); v != "" {
			labels = append(labels, metric.Label{Name: l, Value: v})
		}
	}
	return metric.Event{
		At: at, Kind: metric.EventProcessStart, Indom: indom, Key: p.Key, Labels: labels,
		Text: p.Name + " started",
	}
}

func execEvent(p *metric.Instance, was, name string, at metric.Stamp) metric.Event {
	labels := []metric.Label{{Name: "pid", Value: p.Label("pid")}, {Name: "name", Value: name}, {Name: "was", Value: was}}
	if exe := p.Label("exe"); exe != "" {
		labels = append(labels, metric.Label{Name: "exe", Value: exe})
	}
	return metric.Event{
		At: at, Kind: metric.EventProcessExec, Indom: indom, Key: p.Key, Labels: labels,
		Text: p.Name + " replaced " + was + " (exec)",
	}
}

// ending says when and how a process ended.
type ending struct {
	at     metric.Stamp
	exact  bool // at is when it ended, not when the recorder noticed
	status int  // wait status
	known  bool // whether status means anything
	idle   bool // the kernel ended it because it was idle
	cause  string
	// more labels: final values by the names of their metrics, or what identifies the process.
	more []metric.Label
}

func exitEvent(p *metric.Instance, name string, lastSeen metric.Stamp, e ending) metric.Event {
	labels := []metric.Label{{Name: "pid", Value: p.Label("pid")}, {Name: "name", Value: name}}
	text := p.Name + " ended"
	if !e.exact {
		labels = append(labels, metric.Label{Name: "last_seen", Value: wallText(lastSeen.Wall)})
	}
	if e.known {
		how := waitText(e.status)
		if e.idle {
			how = metric.HowIdle
		}
		labels = append(labels,
			metric.Label{Name: "status", Value: strconv.Itoa(e.status)}, metric.Label{Name: "how", Value: how})
		text += ": " + how
	}
	if e.cause != "" {
		labels = append(labels, metric.Label{Name: "cause", Value: e.cause})
		text += ", ended by the kernel: " + e.cause
	}
	return metric.Event{
		At: e.at, Kind: metric.EventProcessExit, Indom: indom, Key: p.Key,
		Labels: append(labels, e.more...), Text: text,
	}
}

// waitText describes a wait status, which both kernels lay out alike.
func waitText(status int) string {
	switch sig := status & 0x7f; {
	case sig == 0:
		return "exit " + strconv.Itoa(status>>8&0xff)
	case status&0x80 != 0:
		return fmt.Sprintf("signal %d core", sig)
	default:
		return fmt.Sprintf("signal %d", sig)
	}
}

// sinceBoot turns an instant on the continuous clock into a stamp, given a stamp taken shortly
// after it. If the machine slept in between, the result's awake clock is too small: the time of
// the sleep is not known.
func sinceBoot(cont int64, now metric.Stamp) metric.Stamp {
	ago := now.Cont - cont
	if ago < 0 || cont <= 0 {
		return now
	}
	return metric.Stamp{Wall: now.Wall - ago, Awake: max(0, now.Awake-ago), Cont: cont}
}

// emit passes events on if the engine wants them.
func emit(c *sample.Context, e metric.Event) {
	if c.Emit != nil {
		c.Emit(e)
	}
}
