package proc

import "tachograph/sample"

var controlNames = []string{"proc.control.all.threads", "proc.control.perclient.threads"}

// fillControl answers the metrics that PCP's agent offers as settings. Threads are read only
// for the selected processes, never for all.
func fillControl(f *sample.Frame, opt *Options) {
	row := f.Row(nil)
	all := uint64(0)
	if opt.ThreadPattern == "*" {
		all = 1
	}
	f.SetUint(row, 0, all)
	f.SetUint(row, 1, 0)
}
