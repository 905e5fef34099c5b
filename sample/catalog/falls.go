package catalog

import (
	"strings"

	"tachograph/sample/metric"
)

// neverRestart are the counters that begin and end with what they count, so that a fall is never
// a reset: the times of processors and of processes, and all that coalitions count. All others may restart: an interface, a
// disk or a module comes back at zero, a thread's number is reused, and a privileged user can
// zero the statistics of a protocol. A name that ends in a dot matches all names that begin with
// it.
var neverRestart = []string{
	"kernel.all.cpu.", "kernel.percpu.cpu.", "kernel.all.idletime",
	"proc.psinfo.utime", "proc.psinfo.stime", "coalition.",
}

func fallsOf(d *metric.Desc) metric.Falls {
	if d.Sem != metric.Counter {
		return metric.MayRestart
	}
	for _, name := range neverRestart {
		if d.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(d.Name, name) {
			return metric.NeverRestarts
		}
	}
	return metric.MayRestart
}
