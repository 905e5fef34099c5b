package said

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/klog"
	"tachograph/sample/metric"
)

// kindOf are the kinds of events of the topics of kernel lines; the other topics are errors of the
// kernel or of a device.
var kindOf = map[klog.Topic]metric.EventKind{
	klog.OutOfMemory: metric.EventKill,
	klog.Crash:       metric.EventCrash,
	klog.Hang:        metric.EventHang,
}

// line makes a fact of what a line of the kernel says.
func line(source string, found klog.Finding, at time.Time) Fact {
	kind, ok := kindOf[found.Topic]
	if !ok {
		kind = metric.EventKernel
	}
	f := Fact{Kind: kind, At: at, PID: found.PID}
	f.add("source", source)
	f.add("rule", found.Rule)
	if kind == metric.EventKernel {
		f.add("topic", string(found.Topic))
	}
	f.add("name", found.Process)
	f.add("group", found.Group)
	f.add("device", found.Device)
	f.add("by", found.Owner)
	if found.Bytes != 0 {
		f.add("bytes", strconv.FormatUint(found.Bytes, 10))
	}
	if found.Seconds != 0 {
		f.add("seconds", strconv.FormatFloat(found.Seconds, 'f', -1, 64))
	}
	if found.Good {
		f.add("result", "good")
	}
	place := ""
	if found.File != "" {
		place = fmt.Sprintf("%s+0x%x", found.File, found.Offset)
		f.add("frames", place)
	}
	f.Text = sentence(found, place)
	return f
}

// sentence says what a line says, in words that need no knowledge of the kernel where that is
// possible, and in the kernel's own words otherwise.
func sentence(found klog.Finding, place string) string {
	who := found.Process
	if who != "" && found.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", found.PID)
	}
	var b strings.Builder
	switch {
	case found.Topic == klog.OutOfMemory:
		fmt.Fprintf(&b, "the kernel ended %s for want of memory", who)
		if found.Group != "" {
			fmt.Fprintf(&b, " in %s, whose limit was reached", found.Group)
		}
	case found.Topic == klog.Crash:
		fmt.Fprintf(&b, "%s crashed: %s", who, found.Rule)
		if place != "" {
			fmt.Fprintf(&b, " in %s", place)
		}
		if found.Address != 0 {
			fmt.Fprintf(&b, " at address 0x%x", found.Address)
		}
	case found.Topic == klog.Hang && who != "" && found.Seconds != 0:
		fmt.Fprintf(&b, "%s did not go on for %g s", who, found.Seconds)
		if found.Owner != "" {
			fmt.Fprintf(&b, ", and waited for a lock of %s", found.Owner)
		}
		if found.Device != "" {
			fmt.Fprintf(&b, ", on %s", found.Device)
		}
	default:
		return found.Text
	}
	return b.String()
}
