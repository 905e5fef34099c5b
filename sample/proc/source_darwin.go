package proc

import (
	"os"

	"tachograph/sample"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/proc/libproc"
)

// Sources opens the sources of this package: "proc" and "threads".
func Sources(opt Options) ([]sample.Source, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	m := newMacKernel(opt, newDarwinCalls(), watchExits(), kernelTicks())
	m.refused.privileged = os.Geteuid() == 0
	s, threads := macSources(m)
	return []sample.Source{s, threads}, nil
}

// kernelTicks returns the unit in which the kernel counts CPU times.
func kernelTicks() libproc.Ticks {
	hz, err := sys.SysctlUint("hw.tbfrequency")
	if err != nil {
		hz = 0
	}
	translated, err := sys.SysctlUint("sysctl.proc_translated")
	numer, denom := sys.Timebase()
	return libproc.KernelTicks(hz, err == nil && translated == 1, numer, denom)
}
